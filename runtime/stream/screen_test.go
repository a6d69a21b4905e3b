package stream

import (
	"strings"
	"testing"
	"unicode/utf8"
)

const takeOver = "\x1b[?1049h\x1b[H"

func TestScreen(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"lines", "one\r\ntwo", "one\ntwo\n"},
		{"addressed", "\x1b[2;3Hb\x1b[1;1Ha", "a\n  b\n"},
		{"written over", "old text\rnew", "new text\n"},
		{"erased to the end", "old text\rnew\x1b[K", "new\n"},
		{"erased before", "abcdef\x1b[4G\x1b[1K", "    ef\n"},
		{"erased below", "1\r\n2\r\n3\x1b[2;1H\x1b[J", "1\n"},
		{"cleared", "1\r\n2\r\n3\x1b[2J\x1b[Hx", "x\n"},
		{"scrolled", "1\r\n2\r\n3\r\n4\r\n5", "2\n3\n4\n5\n"},
		{"scrolled back", "1\r\n2\x1b[H\x1bMtop", "top\n1\n2\n"},
		{"a region", "1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[3;1H\nnew", "1\n3\nnew\n4\n"},
		{"a line inserted", "1\r\n2\x1b[1;1H\x1b[L0", "0\n1\n2\n"},
		{"a line deleted", "1\r\n2\r\n3\x1b[1;1H\x1b[M", "2\n3\n"},
		{"characters inserted and deleted", "abcd\x1b[2G\x1b[2@xy\x1b[P", "axycd\n"},
		{"characters erased", "abcd\x1b[2G\x1b[2X", "a  d\n"},
		{"repeated", "-\x1b[4b", "-----\n"},
		{"wrapped", "1234567890ab", "1234567890\nab\n"},
		{"the last column waits", "1234567890\r\nab", "1234567890\nab\n"},
		{"tabs and backspaces", "a\tb\b\bc", "a      cb\n"},
		{"wide characters", "日本\x1b[5Gx\x1b[2Gy", " y本x\n"},
		{"combining characters", "e\u0301x", "ex\n"},
		{"boxes", "\x1b(0lqk\x1b(B q", "┌─┐ q\n"},
		{"colours", "\x1b[1;31mred\x1b[0m", "red\n"},
		{"saved place", "\x1b[2;2H\x1b7\x1b[1;1Ha\x1b8b", "a\n b\n"},
		{"beyond the edges", "\x1b[99;99Hx\x1b[99A\x1b[99Dy", "y\n\n\n         x\n"},
		{"reports and modes", "\x1b[?25l\x1b[>c\x1b]0;title\x07x", "x\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := NewScreen(10, 4)
			s.Write([]byte("before " + takeOver + c.in))
			got, _, _, ok := s.Text()
			if string(got) != c.want || !ok {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestScreenComesAndGoes(t *testing.T) {
	s := NewScreen(20, 3)
	s.Write([]byte("a shell's output\x1b[5;5H"))
	if _, _, _, ok := s.Text(); ok {
		t.Error("nothing has taken the terminal over")
	}
	s.Write([]byte("\x1b[?1049h\x1b[Hmenu\x1b[2;4H"))
	text, row, col, ok := s.Text()
	if string(text) != "menu\n" || row != 2 || col != 4 || !ok {
		t.Errorf("got %q at %d,%d, %v", text, row, col, ok)
	}
	s.Resize(4, 2)
	s.Write([]byte("abc"))
	if text, _, _, _ = s.Text(); string(text) != "   a\nbc\n" {
		t.Errorf("after a resize: %q", text)
	}
	s.Write([]byte("\x1b[?1049l$ "))
	if _, _, _, ok := s.Text(); ok {
		t.Error("the program has given the terminal back")
	}
	large := NewScreen(maxCells, 2)
	large.Write([]byte(takeOver + "x"))
	if _, _, _, ok := large.Text(); ok {
		t.Error("a screen of any size is kept")
	}
}

// FuzzScreen: no output breaks a screen, and how it was cut makes no difference.
func FuzzScreen(f *testing.F) {
	f.Add([]byte("a\x1b[2;2Hb\x1b[1;1r\x1b[L\x1b[5@\x1b[9P日本\x1b(0q\x1b[3b"), uint8(10), uint8(4), uint8(7))
	f.Add([]byte("\x1b[?1049l\x1b[?47h\x1b[99;99H\x1b[S\x1b[T\x1bM\n\n\n\t\b"), uint8(1), uint8(1), uint8(2))
	f.Fuzz(func(t *testing.T, p []byte, cols, rows, cut uint8) {
		c, r := int(cols)%100+1, int(rows)%50+1
		whole, parts := NewScreen(c, r), NewScreen(c, r)
		p = append([]byte(takeOver), p...)
		whole.Write(p)
		for i := 0; i < len(p); i += int(cut) + 1 {
			parts.Write(p[i:min(len(p), i+int(cut)+1)])
		}
		text, row, col, ok := whole.Text()
		text2, row2, col2, ok2 := parts.Text()
		if string(text) != string(text2) || row != row2 || col != col2 || ok != ok2 {
			t.Errorf("at once %q %d,%d %v, in parts %q %d,%d %v", text, row, col, ok, text2, row2, col2, ok2)
		}
		if ok && (row > r || col > c || !utf8.Valid(text) || strings.Count(string(text), "\n") > r) {
			t.Errorf("%q at %d,%d does not fit in %d by %d", text, row, col, c, r)
		}
		whole.Resize(r, c)
	})
}
