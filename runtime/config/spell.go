package config

import (
	"fmt"
	"strings"
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

// nearest returns the known word that begins with word or takes the fewest edits, "" if that would be more than about a
// third of it.
func nearest(word string, known []string) string {
	best, limit := "", max(1, len(word)/3)+1
	for _, k := range known {
		if len(k) >= len(word) && len(word) >= 3 && strings.EqualFold(k[:len(word)], word) {
			return k
		}
		if d := distance(word, k, limit); d < limit {
			best, limit = k, d
		}
	}
	return best
}

// distance is the number of edits between a and b, a swap of two neighbours counting as one; at most limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit || len(a) > 64 {
		return limit
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+btoi(a[i-1] != b[j-1]))
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(limit, last[len(b)])
}
