package policy

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// normalise returns the text in the form that is both checked and run, or why there is none (R1).
func normalise(text string) (string, *Issue) {
	refuse := func(at int, message string) (string, *Issue) {
		return text, &Issue{Rule: "R1", At: at, Message: message}
	}
	if len(text) > maxText {
		return refuse(0, fmt.Sprintf("the text has %d bytes; no shell argument may be longer than %d", len(text), maxText))
	}
	if !utf8.ValidString(text) {
		return refuse(invalidAt(text), "the text is not valid UTF-8")
	}
	if strings.IndexByte(text, '\r') >= 0 {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	plain := true
	for i := range len(text) {
		c := text[i]
		if c < ' ' && c != '\t' && c != '\n' || c == 0x7f {
			return refuse(i, fmt.Sprintf("the text holds the control character 0x%02x", c))
		}
		plain = plain && c < 0x80
	}
	if plain {
		return text, nil
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return r >= 0x80 && r < 0xa0 }); i >= 0 {
		return refuse(i, "the text holds a control character")
	}
	return text, nil
}

func invalidAt(text string) int {
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD") {
			return i
		}
	}
	return 0
}
