package stream

import (
	"bytes"
	"regexp"

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

// Grep returns the lines that match re, of what is kept from position from on. Lines are matched and shown folded, long
// ones cut around the match. It stops before the line that would bring the result over limit bytes, if limit is over 0;
// Next is where to go on. With last over 0 it goes to the end and returns no more than the last matches. An unfinished last
// line counts.
func (l *Log) Grep(re *regexp.Regexp, from int64, limit, last int) View {
	g := grep{re: re, limit: limit, last: last}
	from = max(0, min(from, l.End()))
	g.v.From, g.v.Next, g.v.end = from, from, last > 0
	expected := int64(-1)
	for !g.full {
		block, next, dropped := l.block(g.v.Next)
		g.v.Dropped += dropped
		if len(block.spans) == 0 {
			g.v.Next = max(g.v.Next, next)
			break
		}
		g.v.Next = next
		for i, p := range block.spans {
			if p.pos != expected {
				g.flush()
			}
			end := len(block.data)
			if i+1 < len(block.spans) {
				end = block.spans[i+1].at
			}
			g.feed(p.stream, p.pos, block.data[p.at:end])
			expected = p.pos + int64(end-p.at)
		}
	}
	g.flush()
	return g.view()
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

// block copies what follows from.
func (l *Log) block(from int64) (b block, next, dropped int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, next, dropped = l.pieces(from, grepBlock, func(pos int64, s job.Stream, p []byte) {
		b.spans = append(b.spans, piece{span{len(b.data), pos}, s})
		b.data = append(b.data, p...)
	})
	return b, next, dropped
}

// grep assembles the lines of both streams.
type grep struct {
	re          *regexp.Regexp
	limit, last int
	v           View
	carry       [2][]byte // lines that did not end yet
	began       [2]int64  // and where they began
	found       []hit
	size        int  // of what was found
	full        bool // one more did not fit; v.Next is where it begins
}

type hit struct {
	view int
	at   int64
	line []byte
}

// feed takes bytes of one stream, until the result is full.
func (g *grep) feed(s job.Stream, pos int64, p []byte) {
	view := viewOf(s)
	for len(p) > 0 && !g.full {
		if len(g.carry[view]) == 0 {
			g.began[view] = pos
		}
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			g.carry[view] = append(g.carry[view], p...)
			return
		}
		line := p[:i]
		if len(g.carry[view]) > 0 {
			line = append(g.carry[view], line...)
			g.carry[view] = line[:0]
		}
		g.line(view, line)
		p, pos = p[i+1:], pos+int64(i)+1
	}
}

// flush treats what is carried as lines: at the end, and where something is missing.
func (g *grep) flush() {
	for view, line := range g.carry {
		if len(line) > 0 && !g.full {
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
	m := hit{view, g.began[view], around(line, at[0])}
	if g.limit > 0 && g.last <= 0 && g.size > 0 && g.size+len(m.line) > g.limit {
		g.full, g.v.Next = true, m.at
		return
	}
	g.found, g.size = append(g.found, m), g.size+len(m.line)
	for g.last > 0 && (len(g.found) > g.last || g.limit > 0 && g.size > g.limit && len(g.found) > 1) {
		g.size -= len(g.found[0].line)
		g.found = g.found[1:]
	}
}

// around copies a line, of a long one what is around position at.
func around(line []byte, at int) []byte {
	if len(line) <= grepLine {
		return append(bytes.Clone(line), '\n')
	}
	begin := max(0, min(at-grepLine/4, len(line)-grepLine))
	begin, end := charStart(line, begin), charStart(line, begin+grepLine)
	var out []byte
	if begin > 0 {
		out = append(out, "..."...)
	}
	out = append(out, line[begin:end]...)
	if end < len(line) {
		out = append(out, "..."...)
	}
	return append(out, '\n')
}

func (g *grep) view() View {
	for _, m := range g.found {
		g.v.Merged = append(g.v.Merged, m.line...)
		if m.view == 0 {
			g.v.Stdout = append(g.v.Stdout, m.line...)
		} else {
			g.v.Stderr = append(g.v.Stderr, m.line...)
		}
		g.v.Matches = append(g.v.Matches, m.at)
	}
	return g.v
}
