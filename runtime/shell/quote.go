// Package shell treats shell text as text: it quotes, splits and says whether a line is whole. It runs and forbids nothing.
package shell

import "strings"

// Quote returns s as one word that sh, bash, zsh, ksh and fish read alike. Every word is quoted, plain ones too: a
// quoted word is never a keyword, an alias or an assignment. Backslashes stand in double quotes, since fish takes
// one inside single quotes as an escape.
func Quote(s string) string {
	if !strings.ContainsAny(s, `'\`) {
		return "'" + s + "'"
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	open := false
	toggle := func(want bool) {
		if open != want {
			b.WriteByte('\'')
			open = want
		}
	}
	for i := range len(s) {
		switch c := s[i]; c {
		case '\'':
			toggle(false)
			b.WriteString(`"'"`)
		case '\\':
			toggle(false)
			b.WriteString(`"\\"`)
		default:
			toggle(true)
			b.WriteByte(c)
		}
	}
	toggle(false)
	return b.String()
}

// QuoteAll returns argv as shell text that runs it.
func QuoteAll(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = Quote(a)
	}
	return strings.Join(words, " ")
}
