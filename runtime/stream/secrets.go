package stream

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// forms returns the spellings in which the secrets may appear, each once.
func forms(secrets []string) []string {
	var all []string
	for _, s := range secrets {
		s = strings.TrimSpace(s)
		if len(s) < minSecret {
			continue
		}
		quoted := strconv.Quote(s)
		all = append(all, s,
			strings.ReplaceAll(s, "\n", "\r\n"), // as a terminal prints it
			url.QueryEscape(s), url.PathEscape(s), quoted[1:len(quoted)-1],
			base64Core(base64.RawStdEncoding, s), base64Core(base64.RawURLEncoding, s))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// base64Core encodes the whole groups of three bytes: what comes after them depends on whether a newline was encoded
// with the secret, as in `echo $SECRET | base64`.
func base64Core(enc *base64.Encoding, s string) string {
	return enc.EncodeToString([]byte(s[:len(s)/3*3]))
}
