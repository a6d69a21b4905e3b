package stream

import (
	"bytes"
	"unicode/utf8"
)

// maxAtom is how long an escape sequence may get and still be kept in one piece. Longer ones (images, clipboard data)
// are treated as ordinary bytes.
const maxAtom = 256

// wholeEnd returns the length of p without an incomplete character or escape sequence at its end.
func wholeEnd(p []byte) int {
	n := len(p)
	if n == 0 || p[n-1] == '\n' {
		return n
	}
	return atomStart(p, n)
}

// atomStart returns the greatest cut at or before n that is not inside a character or an escape sequence. What is
// incomplete at p's end counts as going on there.
func atomStart(p []byte, n int) int {
	if n == len(p) || !utf8.RuneStart(p[n]) {
		n = charStart(p, n)
	}
	for { // more than once, since the two bytes that end a title look like a sequence of their own
		low := max(0, n-maxAtom)
		esc := bytes.LastIndexByte(p[low:n], 0x1b)
		if esc < 0 {
			return n
		}
		esc += low
		size, whole := escape(p[esc:min(len(p), esc+maxAtom)])
		end := esc + size
		if !whole && end < len(p) || end < n || end == n && (whole || n < len(p)) {
			return n
		}
		n = esc
	}
}

// charStart moves a cut back to the start of the character that it would split.
func charStart(p []byte, n int) int {
	for i := n - 1; i >= max(0, n-utf8.UTFMax+1); i-- {
		if utf8.RuneStart(p[i]) {
			if p[i] >= utf8.RuneSelf && !utf8.FullRune(p[i:n]) {
				if n == len(p) {
					return i
				}
				if _, size := utf8.DecodeRune(p[i:]); size > n-i {
					return i
				}
			}
			return n
		}
	}
	return n
}

// escape returns the length of the escape sequence that p begins with, and whether it is complete. A byte that cannot
// belong to it ends it: it counts as complete there, without that byte. A newline always does, so that nothing
// swallows more than a line.
func escape(p []byte) (int, bool) {
	if len(p) < 2 {
		return len(p), false
	}
	switch c := p[1]; {
	case c == '[':
		return csi(p)
	case c == ']' || c == 'P' || c == '_' || c == '^' || c == 'X':
		return controlString(p)
	case c >= 0x20 && c <= 0x2f: // such as the choice of a character set: intermediates, then one final byte
		for i := 2; i < len(p); i++ {
			if p[i] >= 0x30 && p[i] <= 0x7e {
				return i + 1, true
			} else if p[i] < 0x20 || p[i] > 0x7e {
				return i, true
			}
		}
		return len(p), false
	case c >= 0x30 && c <= 0x7e:
		return 2, true
	}
	return 1, true
}

func csi(p []byte) (int, bool) {
	for i := 2; i < len(p); i++ {
		switch c := p[i]; {
		case c >= 0x40 && c <= 0x7e:
			return i + 1, true
		case c < 0x20 || c > 0x7e:
			return i, true
		}
	}
	return len(p), false
}

// controlString reads OSC, DCS and their like: to BEL or ST.
func controlString(p []byte) (int, bool) {
	for i := 2; i < len(p); i++ {
		switch p[i] {
		case 0x07:
			return i + 1, true
		case 0x1b:
			if i+1 == len(p) {
				return len(p), false
			}
			if p[i+1] == '\\' {
				return i + 2, true
			}
			return i, true
		case '\n', 0x18, 0x1a:
			return i, true
		}
	}
	return len(p), false
}
