package stream

import (
	"bytes"

	"cmd-exec-mcp/runtime/job"
)

// viewSize is how much of a chunk is seen in a view.
func (c *chunk) viewSize(view int) (n int64) {
	begin := 0
	for _, g := range c.segs {
		if shows(view, g.stream()) {
			n += int64(g.end() - begin)
		}
		begin = g.end()
	}
	return n
}

// bothViews stands for all output in the order it came.
const bothViews = 2

func shows(view int, s job.Stream) bool { return view == bothViews || view == viewOf(s) }

func pick(view int, lines [2]int64) int64 {
	if view == bothViews {
		return lines[0] + lines[1]
	}
	return lines[view]
}

// allLines counts the newlines that were ever added, per view.
func (l *Log) allLines() [2]int64 {
	lines := l.lines
	if n := len(l.chunks); n > 0 && !l.chunks[n-1].sealed {
		c := l.chunks[n-1]
		more := c.count(c.buf, 0)
		lines[0] += int64(more[0])
		lines[1] += int64(more[1])
	}
	return lines
}

// window is a copy of a part of one view, which remembers the positions of its bytes.
type window struct {
	data  []byte
	spans []span
}

// span says that the bytes from index at on, up to the next span, have positions from pos on.
type span struct {
	at  int
	pos int64
}

func (w *window) add(pos int64, p []byte) {
	if n := len(w.spans); n == 0 || w.spans[n-1].pos+int64(len(w.data)-w.spans[n-1].at) != pos {
		w.spans = append(w.spans, span{len(w.data), pos})
	}
	w.data = append(w.data, p...)
}

// pos is the position of the byte at index i; at the end it is the one after the last byte.
func (w *window) pos(i int) int64 {
	var pos int64
	for _, s := range w.spans {
		if s.at > i || (s.at == i && i == len(w.data)) {
			break
		}
		pos = s.pos + int64(i-s.at)
	}
	return pos
}

// from is the window without its first n bytes.
func (w *window) from(n int) window {
	rest := window{data: w.data[n:]}
	for i, s := range w.spans {
		end := len(w.data)
		if i+1 < len(w.spans) {
			end = w.spans[i+1].at
		}
		if end > n {
			at := max(s.at, n)
			rest.spans = append(rest.spans, span{at - n, s.pos + int64(at-s.at)})
		}
	}
	return rest
}

// column is what of one view may be shown: its beginning and, unless that is all, its end.
type column struct {
	total      int64 // bytes that it produced
	lines      int64 // newlines among them
	head, tail window
	whole      bool // head is everything
}

// column copies up to size bytes of the beginning and of the end, or all of it where that is no more.
func (l *Log) column(view, size int) column {
	c := column{lines: pick(view, l.allLines()), total: pick(view, l.totals)}
	var kept, waiting int64
	for _, chunk := range l.chunks {
		kept += chunk.viewSize(view)
	}
	for s, p := range l.held {
		if shows(view, job.Stream(s)) {
			waiting += int64(len(p))
		}
	}
	if kept <= int64(2*size) && kept+waiting == c.total { // nothing of this view is missing, whatever lies between
		c.head = l.lastOf(view, int(kept), 0)
		if c.whole = len(c.head.data) == int(kept); c.whole {
			return c
		}
	}
	var after int64
	c.head, after = l.firstOf(view, size)
	c.tail = l.lastOf(view, size, after)
	return c
}

// firstOf copies the beginning of a view, as far as nothing of the log is missing, and says where the copy ends.
func (l *Log) firstOf(view, size int) (w window, end int64) {
	var limit, found int64
	for _, chunk := range l.chunks {
		if found >= int64(size) || chunk.pos != limit {
			break
		}
		found += chunk.viewSize(view)
		limit = chunk.end()
	}
	if limit == 0 {
		return w, 0
	}
	var next int64
	l.pieces(0, int(limit), func(pos int64, s job.Stream, p []byte) {
		if pos != next || len(w.data) >= size {
			return
		}
		if shows(view, s) {
			if len(w.data)+len(p) > size {
				p = p[:atomStart(p, size-len(w.data))]
			}
			w.add(pos, p)
			end = pos + int64(len(p))
		}
		next = pos + int64(len(p))
	})
	return w, end
}

// lastOf copies the end of a view after a position, from the beginning of a line on where it can.
func (l *Log) lastOf(view, size int, after int64) (w window) {
	from := after
	var found int64
	for i := len(l.chunks) - 1; i >= 0; i-- {
		if found += l.chunks[i].viewSize(view); found >= int64(size) {
			from = max(after, l.chunks[i].pos)
			break
		}
	}
	l.pieces(from, 0, func(pos int64, s job.Stream, p []byte) {
		if shows(view, s) && pos >= after {
			w.add(pos, p)
		}
	})
	extra := len(w.data) - size
	if extra <= 0 {
		return w
	}
	if i := bytes.IndexByte(w.data[extra:], '\n'); i >= 0 && i < size/2 {
		return w.from(extra + i + 1)
	}
	for extra < len(w.data) && atomStart(w.data, extra) != extra {
		extra++
	}
	return w.from(extra)
}
