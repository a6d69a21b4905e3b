package stream

import (
	"bytes"

	"cmd-exec-mcp/runtime/job"
)

// View is a copy of a part of a log. Its slices may share memory with one another and belong to the caller, read-only.
type View struct {
	From, Next int64 // the part; Next is where the next one begins
	Dropped    int64 // bytes in [From,Next) that are no longer kept

	Stdout, Stderr []byte
	Merged         []byte // both in the order they came; terminal output, which is Merged, counts as Stdout too

	Matches []int64 // of Grep: where the lines begin

	end bool // the end of it is what matters, if it is too long to be shown
}

// View copies up to limit bytes of what is kept from position from on; with a limit of 0 or less, all. What was
// dropped does not count towards the limit. A cut never splits a character or an escape sequence, nor does from: it
// moves back to the start of one.
func (l *Log) View(from int64, limit int) View {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.view(from, limit)
}

func (l *Log) view(from int64, limit int) View {
	var v View
	var mixed [2]bool
	var segs []seg
	v.From, v.Next, v.Dropped = l.pieces(from, limit, func(_ int64, s job.Stream, p []byte) {
		v.Merged = append(v.Merged, p...)
		segs = append(segs, makeSeg(len(p), s))
		mixed[viewOf(s)] = true
	})
	switch {
	case !mixed[1]:
		v.Stdout = v.Merged
	case !mixed[0]:
		v.Stderr = v.Merged
	default:
		at := 0
		for _, g := range segs {
			p := v.Merged[at : at+g.end()]
			at += g.end()
			if viewOf(g.stream()) == 1 {
				v.Stderr = append(v.Stderr, p...)
			} else {
				v.Stdout = append(v.Stdout, p...)
			}
		}
	}
	return v
}

// visitor gets a run of bytes of one stream and the position of the first. The bytes are valid during the call only.
type visitor func(pos int64, s job.Stream, p []byte)

// pieces calls fn with what is kept from position from on, at most limit bytes if it is over 0. It returns the borders
// that it kept to and how much between them is missing.
func (l *Log) pieces(from int64, limit int, fn visitor) (first, next, dropped int64) {
	from = max(0, min(from, l.end))
	first, next = from, from
	left := int64(limit)
	tail := l.tailStart()
	began := false
	for i, c := range l.chunks {
		if c.end() <= next || c.n == 0 {
			continue
		}
		if limit > 0 && left <= 0 {
			break
		}
		begin := max(c.pos, next)
		if i >= l.heads {
			begin = max(begin, tail)
		}
		if begin >= c.end() {
			continue
		}
		p := l.bytes(c)
		if p == nil { // unreadable: the disk
			continue
		}
		at := int(begin - c.pos)
		if !began && at > 0 && begin == from {
			at = c.atomStart(p, at)
			first, next, begin = c.pos+int64(at), c.pos+int64(at), c.pos+int64(at)
		}
		stop := c.n
		if limit > 0 && int64(stop-at) > left {
			if stop = c.atomStart(p, at+int(left)); stop <= at {
				if began {
					return first, next, dropped
				}
				stop = c.atomEnd(p, at)
			}
		}
		began = true
		dropped += begin - next
		c.pieces(p, at, stop, fn)
		next = c.pos + int64(stop)
		left -= int64(stop - at)
		if stop < c.n {
			return first, next, dropped
		}
	}
	if limit <= 0 || left > 0 {
		dropped += l.end - next
		next = l.end
	}
	return first, next, dropped
}

// bytes returns a chunk's content, nil if it cannot be read. It is valid until the next call.
func (l *Log) bytes(c *chunk) []byte {
	if c.buf != nil {
		return c.buf
	}
	p := make([]byte, c.n)
	if l.file.read(c.slot, p) != nil {
		return nil
	}
	return p
}

// tailStart is the position of the first byte after the beginning that is kept.
func (l *Log) tailStart() int64 {
	if l.heads >= len(l.chunks) {
		return l.end
	}
	start := l.chunks[l.heads].pos
	low := max(start, l.end-l.tailBytes())
	if l.limits.Lines > 0 {
		low = max(low, l.lineStart(int64(l.limits.Lines), l.heads))
	}
	for _, c := range l.chunks[l.heads:] {
		if low < c.end() {
			if p := l.bytes(c); p != nil && low > c.pos {
				return c.pos + int64(c.atomCeil(p, int(low-c.pos)))
			}
			return low
		}
	}
	return low
}

// lineStart is the position from which n lines follow to the end, an unfinished one included, or where the chunk with
// the given index begins.
func (l *Log) lineStart(n int64, low int) int64 {
	if n <= 0 {
		return l.end
	}
	for i := len(l.chunks) - 1; i >= low; i-- {
		c := l.chunks[i]
		p := l.bytes(c)
		if p == nil {
			return c.end()
		}
		if c.end() == l.end && c.n > 0 && p[c.n-1] == '\n' {
			n++ // the newline at the very end begins no line
		}
		if c.sealed && int64(c.lines[0]+c.lines[1]) < n {
			n -= int64(c.lines[0] + c.lines[1])
			continue
		}
		for at := len(p); ; n-- {
			if at = bytes.LastIndexByte(p[:at], '\n'); at < 0 {
				break
			}
			if n == 1 {
				return c.pos + int64(at) + 1
			}
		}
	}
	if low < len(l.chunks) {
		return l.chunks[low].pos
	}
	return l.end
}

// pieces calls fn for each run of one stream in p[at:stop], p being the chunk's content.
func (c *chunk) pieces(p []byte, at, stop int, fn visitor) {
	for _, g := range c.segs {
		if end := min(g.end(), stop); end > at {
			fn(c.pos+int64(at), g.stream(), p[at:end])
			at = end
		}
	}
}

// seg returns the borders of the segment that holds index i.
func (c *chunk) seg(i int) (begin, end int) {
	for _, g := range c.segs {
		if end = g.end(); i < end {
			return begin, end
		}
		begin = end
	}
	return begin, c.n
}

func (c *chunk) atomStart(p []byte, i int) int {
	begin, end := c.seg(i)
	if i >= end {
		return i
	}
	return begin + atomStart(p[begin:end], i-begin)
}

// atomCeil is i, or the end of the character or sequence that i is inside of.
func (c *chunk) atomCeil(p []byte, i int) int {
	if c.atomStart(p, i) == i {
		return i
	}
	return c.atomEnd(p, i)
}

// atomEnd returns the first cut after i.
func (c *chunk) atomEnd(p []byte, i int) int {
	for i++; i < c.n; i++ {
		if c.atomStart(p, i) == i {
			return i
		}
	}
	return c.n
}
