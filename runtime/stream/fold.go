package stream

import (
	"bytes"
	"unicode/utf8"
)

// Fold turns what was meant for a terminal into plain text: of a line that carriage returns wrote over and over, the
// last state stays; backspaces take back; escape sequences (colours, cursor movements, titles, links) and the control
// characters that make no text go. A sequence that p's end cuts off goes too.
//
// Newlines are never touched and no state outlives one, so lines keep their numbers, and text folded in pieces that
// end with a newline is the text folded at once. The result may be p itself; it is never longer.
func Fold(p []byte) []byte {
	if !needsFold(p) {
		return p
	}
	out := make([]byte, 0, len(p))
	for len(p) > 0 {
		line := p
		if i := bytes.IndexByte(p, '\n'); i >= 0 {
			line = p[:i+1]
		}
		p = p[len(line):]
		if needsFold(line) {
			out = foldLine(out, line)
		} else {
			out = append(out, line...)
		}
	}
	return out
}

// noise are the control characters that Fold acts on. The separators 0x1c to 0x1f stay: programs print them as data.
var noise = [256]bool{0x00: true, 0x07: true, 0x08: true, '\r': true, 0x0e: true, 0x0f: true, 0x1b: true, 0x7f: true}

func needsFold(p []byte) bool {
	if len(p) < 64 {
		for _, c := range p {
			if noise[c] {
				return true
			}
		}
		return false
	}
	for len(p) > 0 { // in blocks that stay in the nearest cache, since each control character is a pass of its own
		block := p[:min(len(p), 16<<10)]
		p = p[len(block):]
		for c, is := range noise[:0x80] {
			if is && bytes.IndexByte(block, byte(c)) >= 0 {
				return true
			}
		}
	}
	return false
}

// foldLine appends one line, folded.
func foldLine(out, line []byte) []byte {
	start := len(out)
	returned := false // a carriage return came, and nothing since: what was written stays until something replaces it
	for i := 0; i < len(line); {
		c := line[i]
		if !noise[c] {
			n := i + 1
			for n < len(line) && !noise[line[n]] {
				n++
			}
			if returned && c != '\n' {
				out = out[:start]
				returned = false
			}
			out = append(out, line[i:n]...)
			i = n
			continue
		}
		size := 1
		switch c {
		case '\r':
			returned = true
		case 0x08:
			if !returned {
				_, last := utf8.DecodeLastRune(out[start:])
				out = out[:len(out)-last]
			}
		case 0x1b:
			size, _ = escape(line[i:])
			switch erase(line[i : i+size]) {
			case erasesLine:
				out = out[:start]
			case erasesRest:
				if returned {
					out = out[:start]
				}
			case homes:
				returned = true
			}
		}
		i += size
	}
	return out
}

const (
	erasesNothing = iota
	erasesRest
	erasesLine
	homes
)

// erase says what a sequence does to the line that it stands in.
func erase(seq []byte) int {
	switch string(seq) {
	case "\x1b[K", "\x1b[0K":
		return erasesRest
	case "\x1b[2K":
		return erasesLine
	case "\x1b[G", "\x1b[0G", "\x1b[1G":
		return homes
	}
	return erasesNothing
}

// binarySample is how much of a text is looked at to count invalid characters.
const binarySample = 8 << 10

// IsBinary reports whether p is no text: it has a NUL byte, or a third of its beginning is invalid UTF-8.
func IsBinary(p []byte) bool {
	if bytes.IndexByte(p, 0) >= 0 {
		return true
	}
	p = p[:min(len(p), binarySample)]
	if utf8.Valid(p) {
		return false
	}
	bad, all := 0, 0
	for i := 0; i < len(p); {
		r, size := utf8.DecodeRune(p[i:])
		if r == utf8.RuneError && size == 1 && (utf8.FullRune(p[i:]) || len(p) < binarySample) {
			bad++
		}
		all++
		i += size
	}
	return bad > 8 && bad*3 > all
}

// Repair replaces each byte that is not part of a UTF-8 character by U+FFFD. The result may be p itself.
func Repair(p []byte) []byte {
	if utf8.Valid(p) {
		return p
	}
	out := make([]byte, 0, len(p)+16)
	for len(p) > 0 {
		_, size := utf8.DecodeRune(p)
		if size == 1 && p[0] >= utf8.RuneSelf {
			out = utf8.AppendRune(out, utf8.RuneError)
		} else {
			out = append(out, p[:size]...)
		}
		p = p[size:]
	}
	return out
}
