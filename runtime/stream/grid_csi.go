package stream

// csi acts on a control sequence: movements, then what erases, inserts and deletes.
func (g *grid) csi(final byte, n []int) {
	count := max(n[0], 1)
	second := 1
	if len(n) > 1 {
		second = max(n[1], 1)
	}
	switch final {
	case 'A':
		g.move(g.row-count, g.col)
	case 'B', 'e':
		g.move(g.row+count, g.col)
	case 'C', 'a':
		g.move(g.row, g.col+count)
	case 'D':
		g.move(g.row, g.col-count)
	case 'E':
		g.move(g.row+count, 0)
	case 'F':
		g.move(g.row-count, 0)
	case 'G', '`':
		g.move(g.row, count-1)
	case 'd':
		g.move(count-1, g.col)
	case 'H', 'f':
		g.move(count-1, second-1)
	case 's':
		g.saved = [2]int{g.row, g.col}
	case 'u':
		g.move(g.saved[0], g.saved[1])
	case 'r':
		g.region(count-1, n)
	default:
		g.edit(final, n[0], count)
	}
}

// region sets which lines scroll.
func (g *grid) region(top int, n []int) {
	bottom := len(g.lines) - 1
	if len(n) > 1 && n[1] > 0 {
		bottom = min(n[1]-1, bottom)
	}
	if top < bottom {
		g.top, g.bottom = top, bottom
		g.move(0, 0)
	}
}

func (g *grid) edit(final byte, mode, count int) {
	line := g.lines[g.row]
	rest := line[g.col:]
	switch final {
	case 'J':
		g.erase(mode)
	case 'K':
		eraseLine(line, g.col, mode)
	case 'X':
		wipe(rest[:min(count, len(rest))])
	case 'P':
		count = min(count, len(rest))
		copy(rest, rest[count:])
		wipe(rest[len(rest)-count:])
	case '@':
		count = min(count, len(rest))
		copy(rest[count:], rest)
		wipe(rest[:count])
	case 'L', 'M':
		if g.row < g.top || g.row > g.bottom {
			return
		}
		if final == 'L' {
			count = -count
		}
		g.scroll(g.row, g.bottom, count)
	case 'S':
		g.scroll(g.top, g.bottom, count)
	case 'T':
		g.scroll(g.top, g.bottom, -count)
	case 'b':
		for range min(count, len(line)) {
			if g.last != 0 {
				g.put(g.last)
			}
		}
	}
}

// erase clears what follows the cursor, what precedes it, or everything.
func (g *grid) erase(mode int) {
	eraseLine(g.lines[g.row], g.col, mode)
	for i, line := range g.lines {
		if mode >= 2 || mode == 0 && i > g.row || mode == 1 && i < g.row {
			wipe(line)
		}
	}
}

func eraseLine(line []rune, col, mode int) {
	switch mode {
	case 0:
		line = line[col:]
	case 1:
		line = line[:col+1]
	}
	wipe(line)
}

func wipe(cells []rune) {
	for i := range cells {
		cells[i] = ' '
	}
}
