package stream

import (
	"slices"
	"unicode"

	"golang.org/x/text/width"
)

// covered is the cell to the right of a character that is two cells wide.
const covered = -1

// grid is the cells of a screen and where writing goes on. Lines and columns are counted from 0.
type grid struct {
	lines       [][]rune
	row, col    int
	full        bool // the last cell of the line was written: the next character begins a new line
	top, bottom int  // the lines that scroll
	saved       [2]int
	last        rune
	drawing     bool // letters stand for lines and corners
}

func makeGrid(cols, rows int) grid {
	g := grid{lines: make([][]rune, rows), bottom: rows - 1}
	for i := range g.lines {
		g.lines[i] = blank(cols)
	}
	return g
}

func blank(n int) []rune { return slices.Repeat([]rune{' '}, n) }

func (g *grid) cols() int { return len(g.lines[0]) }

// move puts the cursor somewhere, within the screen.
func (g *grid) move(row, col int) {
	g.row, g.col, g.full = min(max(row, 0), len(g.lines)-1), min(max(col, 0), g.cols()-1), false
}

// drawn are the characters that the letters from j on stand for in the line drawing set.
var drawn = []rune("┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│")

func (g *grid) put(r rune) {
	if g.drawing && r >= 'j' && r <= 'x' {
		r = drawn[r-'j']
	}
	n := cellsOf(r)
	if n == 0 {
		return
	}
	if g.full || g.col+n > g.cols() {
		g.move(g.row, 0)
		g.feed()
	}
	if n > g.cols() {
		return
	}
	line := g.lines[g.row]
	if line[g.col] == covered && g.col > 0 { // its left half goes too
		line[g.col-1] = ' '
	}
	g.last, line[g.col] = r, r
	if n == 2 {
		line[g.col+1] = covered
	}
	if after := g.col + n; after < len(line) {
		if line[after] == covered { // its left half was written over
			line[after] = ' '
		}
		g.col = after
		return
	}
	g.col, g.full = len(line)-1, true
}

func cellsOf(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
		return 2
	}
	return 1
}

func (g *grid) control(c byte) {
	switch c {
	case '\r':
		g.move(g.row, 0)
	case '\n', '\v', '\f':
		g.feed()
	case '\b':
		g.move(g.row, g.col-1)
	case '\t':
		g.move(g.row, g.col/8*8+8)
	}
}

// feed goes to the next line; at the last one the others scroll.
func (g *grid) feed() {
	g.full = false
	if g.row == g.bottom {
		g.scroll(g.top, g.bottom, 1)
	} else {
		g.move(g.row+1, g.col)
	}
}

// scroll moves the lines from top to bottom up by n, or down if n is negative.
func (g *grid) scroll(top, bottom, n int) {
	part := g.lines[top : bottom+1]
	n = min(max(n, -len(part)), len(part))
	if n >= 0 {
		copy(part, part[n:])
		part = part[len(part)-n:]
	} else {
		copy(part[-n:], part)
		part = part[:-n]
	}
	for i := range part {
		part[i] = blank(g.cols())
	}
}

// short acts on a sequence that is not CSI.
func (g *grid) short(seq string) {
	switch seq {
	case "7":
		g.saved = [2]int{g.row, g.col}
	case "8":
		g.move(g.saved[0], g.saved[1])
	case "D":
		g.feed()
	case "E":
		g.move(g.row, 0)
		g.feed()
	case "M":
		if g.row == g.top {
			g.scroll(g.top, g.bottom, -1)
		} else {
			g.move(g.row-1, g.col)
		}
	case "(0":
		g.drawing = true
	case "(B":
		g.drawing = false
	case "c":
		*g = makeGrid(g.cols(), len(g.lines))
	}
}
