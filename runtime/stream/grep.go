package stream

import (
	"bytes"
	"regexp"
	"strconv"

	"cmd-exec-mcp/runtime/job"
)

// Tail copies the last n lines, an unfinished one included, as far as they are kept without a gap.
func (l *Log) Tail(n int) View {
	l.mu.Lock()
	defer l.mu.Unlock()
	low, start := 0, int64(0)
	if l.heads < len(l.chunks) {
		if tail := l.tailStart(); tail > l.headEnd() {
			low, start = l.heads, tail
		}
	}
	v := l.view(max(l.lineStart(int64(n), low), start), 0)
	v.end = true
	return v
}

const (
	// grepBlock is how much is copied at a time: appends do not wait for the matching.
	grepBlock = 128 << 10
	// grepLine is how much of a matching line is shown.
	grepLine = 2000
)

// Grep returns the lines that match re, of what is kept from position from on, each as "NUMBER:LINE" with its number
// in its own stream. Lines are matched and shown folded. It stops after limit bytes of result, if limit is over 0;
// Next is where to go on. An unfinished last line counts.
func (l *Log) Grep(re *regexp.Regexp, from int64, limit int) View {
	g := grep{re: re, limit: limit}
	from = max(0, min(from, l.End()))
	g.v.From, g.v.Next = from, from
	expected := int64(-1)
	for !g.full() {
		block, lines, next, dropped := l.block(g.v.Next)
		if len(block.spans) == 0 {
			g.v.Next = max(g.v.Next, next)
			g.v.Dropped += dropped
			break
		}
		for i, p := range block.spans {
			if p.pos != expected {
				g.flush()
				if i == 0 {
					g.lines = lines
				} else {
					l.mu.Lock()
					g.lines = l.linesBefore(p.pos)
					l.mu.Unlock()
				}
			}
			end := len(block.data)
			if i+1 < len(block.spans) {
				end = block.spans[i+1].at
			}
			used := g.feed(p.stream, block.data[p.at:end])
			expected = p.pos + int64(used)
			if g.full() {
				break
			}
		}
		g.v.Dropped += dropped
		if g.v.Next = next; g.full() {
			g.v.Next = expected
		}
	}
	if !g.full() {
		g.flush()
	}
	return g.v
}

// block is a copied part of a log, in the order it came.
type block struct {
	data  []byte
	spans []piece
}

type piece struct {
	span
	stream job.Stream
}

// block copies what follows from, and counts the lines before the first byte of it.
func (l *Log) block(from int64) (b block, lines [2]int64, next, dropped int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, next, dropped = l.pieces(from, grepBlock, func(pos int64, s job.Stream, p []byte) {
		b.spans = append(b.spans, piece{span{len(b.data), pos}, s})
		b.data = append(b.data, p...)
	})
	if len(b.spans) > 0 {
		lines = l.linesBefore(b.spans[0].pos)
	}
	return b, lines, next, dropped
}

// grep assembles the lines of both streams.
type grep struct {
	re    *regexp.Regexp
	limit int
	v     View
	lines [2]int64  // ended so far
	carry [2][]byte // lines that did not end yet
}

func (g *grep) full() bool { return g.limit > 0 && len(g.v.Merged) >= g.limit }

// feed takes bytes of one stream and returns how many it used before the result was full.
func (g *grep) feed(s job.Stream, p []byte) int {
	view := viewOf(s)
	used := 0
	for used < len(p) && !g.full() {
		i := bytes.IndexByte(p[used:], '\n')
		if i < 0 {
			g.carry[view] = append(g.carry[view], p[used:]...)
			return len(p)
		}
		line := p[used : used+i]
		used += i + 1
		if len(g.carry[view]) > 0 {
			line = append(g.carry[view], line...)
			g.carry[view] = line[:0]
		}
		g.line(view, line)
		g.lines[view]++
	}
	return used
}

// flush treats what is carried as lines: at the end, and where something is missing.
func (g *grep) flush() {
	for view, line := range g.carry {
		if len(line) > 0 {
			g.line(view, line)
		}
		g.carry[view] = line[:0]
	}
}

func (g *grep) line(view int, line []byte) {
	line = Fold(line)
	at := g.re.FindIndex(line)
	if at == nil {
		return
	}
	out := strconv.AppendInt(nil, g.lines[view]+1, 10)
	out = append(out, ':')
	if len(line) > grepLine {
		begin := max(0, min(at[0]-grepLine/4, len(line)-grepLine))
		end := begin + grepLine
		begin, end = charStart(line, begin), charStart(line, end)
		if begin > 0 {
			out = append(out, "..."...)
		}
		out = append(out, line[begin:end]...)
		if end < len(line) {
			out = append(out, "..."...)
		}
	} else {
		out = append(out, line...)
	}
	out = append(out, '\n')
	g.v.Merged = append(g.v.Merged, out...)
	if view == 0 {
		g.v.Stdout = append(g.v.Stdout, out...)
	} else {
		g.v.Stderr = append(g.v.Stderr, out...)
	}
}
