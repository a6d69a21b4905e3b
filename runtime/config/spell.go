package config

import (
	"fmt"
	"strings"

	"cmd-exec-mcp/runtime/job"
)

// didYouMean names the nearest of the known words, or all of them when none is near.
func didYouMean(word string, known []string) string {
	if near := nearest(word, known); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	if len(known) == 0 {
		return ""
	}
	return "known are " + strings.Join(known, ", ")
}

// maxWord bounds what is compared: no name of ours comes near it.
const maxWord = 64

// nearest returns the known word that begins with word or takes the fewest edits, "" if that would be more than about a
// third of it.
func nearest(word string, known []string) string {
	best, limit := "", max(1, len(word)/3)+1
	for _, k := range known {
		if len(k) >= len(word) && len(word) >= 3 && strings.EqualFold(k[:len(word)], word) {
			return k
		}
		if len(word) > maxWord || len(word)-len(k) >= limit || len(k)-len(word) >= limit {
			continue
		}
		if d := job.Edits(word, k); d < limit {
			best, limit = k, d
		}
	}
	return best
}
