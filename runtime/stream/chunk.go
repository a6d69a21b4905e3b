package stream

import (
	"bytes"
	"sync"

	"cmd-exec-mcp/runtime/job"
)

// chunkSizes are small first, since most logs are: an idle session costs 4 KiB.
var chunkSizes = [...]int{4 << 10, 64 << 10, 256 << 10}

// chunkPools hand used memory on: the first touch of a fresh page costs more than copying into it.
var chunkPools [len(chunkSizes)]sync.Pool

// maxSegs bounds what tags may cost where two streams alternate byte by byte.
const maxSegs = 4096

// seg is a run of bytes of one stream: its end in the chunk and the stream, packed.
type seg uint32

func makeSeg(end int, s job.Stream) seg { return seg(end)<<2 | seg(s&3) }
func (g seg) end() int                  { return int(g >> 2) }
func (g seg) stream() job.Stream        { return job.Stream(g & 3) }

// chunk is a part of a log. Characters and escape sequences lie wholly within one of its segs.
type chunk struct {
	pos    int64 // of its first byte
	n      int   // its length, also when the bytes are in the spill file
	buf    []byte
	segs   []seg
	class  int
	lines  [2]int // newlines per view, once sealed
	sealed bool
	slot   int // in the spill file, when buf is nil
}

func newChunk(class int, pos int64) *chunk {
	c, _ := chunkPools[class].Get().(*chunk)
	if c == nil {
		c = &chunk{buf: make([]byte, 0, chunkSizes[class])}
	}
	*c = chunk{pos: pos, class: class, buf: c.buf[:0], segs: c.segs[:0]}
	return c
}

func (c *chunk) end() int64 { return c.pos + int64(c.n) }

// memory is what the chunk's bytes cost.
func (c *chunk) memory() int64 { return int64(cap(c.buf)) }

func (c *chunk) open() bool { return !c.sealed && c.n < cap(c.buf) && len(c.segs) < maxSegs }

func (c *chunk) add(s job.Stream, p []byte) {
	c.buf = append(c.buf, p...)
	c.n = len(c.buf)
	if n := len(c.segs); n > 0 && c.segs[n-1].stream() == s {
		c.segs[n-1] = makeSeg(c.n, s)
		return
	}
	c.segs = append(c.segs, makeSeg(c.n, s))
}

// next is the class of the chunk that follows: a larger one once this one was filled, a small one where tags fill it.
func (c *chunk) next() int {
	switch {
	case c.n >= cap(c.buf)-cap(c.buf)/4:
		return min(c.class+1, len(chunkSizes)-1)
	case c.n <= chunkSizes[0]:
		return 0
	}
	return c.class
}

// count returns the newlines per view in p, which is the chunk's content from its index at on.
func (c *chunk) count(p []byte, at int) (lines [2]int) {
	end := at + len(p)
	begin := at
	for _, g := range c.segs {
		stop := min(g.end(), end)
		if stop > begin {
			lines[viewOf(g.stream())] += bytes.Count(p[begin-at:stop-at], newline)
			begin = stop
		}
	}
	return lines
}

func (c *chunk) seal() {
	c.sealed = true
	c.lines = c.count(c.buf, 0)
}

var newline = []byte{'\n'}

// release gives the chunk back. Nobody may use it then.
func (c *chunk) release() {
	if c.buf != nil {
		chunkPools[c.class].Put(c)
	}
}
