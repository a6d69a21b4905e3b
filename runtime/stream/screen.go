package stream

import (
	"bytes"
	"strconv"
	"sync"
	"unicode/utf8"
)

// maxCells is how large a screen may be to be kept: a program that fills a larger one is shown as a stream.
const maxCells = 1 << 16

// Screen is what a terminal shows while a program has taken it over, as editors, pagers and menus do with the alternate
// screen. Of such a program the bytes since the last look make no sense: it writes only what has changed. Its methods may
// be called concurrently.
type Screen struct {
	mu         sync.Mutex
	cols, rows int
	carry      []byte // a character or sequence that is not complete yet
	grid              // what is shown; without lines, nothing has taken the terminal over
}

// NewScreen makes the screen of a terminal.
func NewScreen(cols, rows int) *Screen { return &Screen{cols: cols, rows: rows} }

// Size is how many columns and rows there are.
func (s *Screen) Size() (cols, rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cols, s.rows
}

// Resize gives the screen another size; the program draws it anew.
func (s *Screen) Resize(cols, rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cols, s.rows = cols, rows
	if s.lines == nil {
		return
	}
	old := s.grid
	if s.enter(); s.lines == nil {
		return
	}
	for i := range min(len(old.lines), rows) {
		copy(s.lines[i], old.lines[i])
	}
	s.move(old.row, old.col)
}

// Text is what is shown, its lines without the spaces at their ends, and where the cursor is, counted from 1. It returns
// false while no program has the terminal to itself.
func (s *Screen) Text() (text []byte, row, col int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lines == nil {
		return nil, 0, 0, false
	}
	for _, line := range s.lines {
		for _, r := range line {
			if r != covered {
				text = utf8.AppendRune(text, r)
			}
		}
		text = append(bytes.TrimRight(text, " "), '\n')
	}
	return append(bytes.TrimRight(text, "\n"), '\n'), s.row + 1, s.col + 1, true
}

// Write takes the program's output.
func (s *Screen) Write(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.carry) > 0 {
		p = append(s.carry, p...)
		s.carry = nil
	}
	for len(p) > 0 {
		if s.lines == nil { // nothing but the sequence that begins it matters
			if p = p[max(0, bytes.IndexByte(p, 0x1b)):]; p[0] != 0x1b {
				return
			}
		}
		size := s.atom(p)
		if size == 0 {
			s.carry = append([]byte(nil), p...)
			return
		}
		p = p[size:]
	}
}

// atom acts on what p begins with and returns its length, 0 if it is not complete.
func (s *Screen) atom(p []byte) int {
	switch c := p[0]; {
	case c == 0x1b:
		size, whole := escape(p[:min(len(p), maxAtom)])
		if !whole && len(p) < maxAtom {
			return 0
		}
		s.sequence(p[1:size])
		return size
	case c < 0x20 || c == 0x7f:
		s.control(c)
		return 1
	case c < utf8.RuneSelf:
		s.put(rune(c))
		return 1
	case !utf8.FullRune(p):
		return 0
	}
	r, size := utf8.DecodeRune(p)
	s.put(r)
	return size
}

// enter gives the terminal to a program: an empty screen.
func (s *Screen) enter() {
	if s.grid = (grid{}); s.cols < 1 || s.rows < 1 || s.cols*s.rows > maxCells {
		return
	}
	s.grid = makeGrid(s.cols, s.rows)
}

// sequence acts on an escape sequence, without its first byte.
func (s *Screen) sequence(seq []byte) {
	if len(seq) < 2 || seq[0] != '[' {
		if s.lines != nil {
			s.short(string(seq))
		}
		return
	}
	final, body := seq[len(seq)-1], seq[1:len(seq)-1]
	if body, private := bytes.CutPrefix(body, []byte("?")); private {
		for _, mode := range numbers(body) {
			switch {
			case mode != 1049 && mode != 1047 && mode != 47:
			case final == 'h':
				s.enter()
			case final == 'l':
				s.grid = grid{}
			}
		}
		return
	}
	if s.lines != nil && (len(body) == 0 || body[0] < '<') {
		s.csi(final, numbers(body))
	}
}

// numbers are a sequence's parameters; one that is missing is 0.
func numbers(body []byte) (list []int) {
	for _, field := range bytes.Split(body, []byte(";")) {
		n, _ := strconv.Atoi(string(field))
		list = append(list, min(max(n, 0), maxCells))
	}
	return list
}
