// Package stream holds the writers that a command's output passes through: decoding, redaction, the log that keeps
// it, and the rendering of what was kept. Bytes in, bytes out; nothing here knows what ran.
package stream

import (
	"bytes"
	"slices"
	"sync"

	"cmd-exec-mcp/runtime/job"
)

// DefaultBytes is what a Log keeps when Limits.Bytes is 0.
const DefaultBytes = 10 << 20

// Limits says how much of its output a Log keeps.
type Limits struct {
	Bytes int64 // kept in all, DefaultBytes if 0: half of it the beginning, half the end
	Lines int   // kept at most, the newest ones; 0 means no limit. With one no beginning is kept
}

// Log keeps the output of one job: bytes tagged with their stream, at absolute positions that never move, whatever is
// dropped later. What does not fit the limits is dropped from the middle (from the beginning, if lines are limited)
// and counted. Its methods may be called from several goroutines.
//
// A UTF-8 character or an escape sequence that is still incomplete at the end of an Append enters the log with the
// bytes that complete it, or at Finish. So each lies in one piece, also where the other stream writes in between.
type Log struct {
	mu       sync.Mutex
	limits   Limits
	spill    *Spill
	file     *spillFile
	chunks   []*chunk // in order; the first heads of them are the beginning, a hole may follow them
	heads    int
	headFull bool
	size     int64 // bytes in the tail, chunks[heads:]
	tailNL   int64 // newlines in the sealed chunks of the tail
	end      int64
	totals   [2]int64  // per view, what the streams produced
	lines    [2]int64  // per view, newlines of all sealed chunks, dropped ones included
	held     [4][]byte // per stream, the incomplete end
	changed  chan struct{}
	finished bool
	closed   bool
}

// NewLog returns an empty log. Without a spill it lives in memory only.
func NewLog(l Limits, spill *Spill) *Log {
	log := &Log{spill: spill}
	log.setLimits(l)
	return log
}

func (l *Log) setLimits(limits Limits) {
	if limits.Bytes <= 0 {
		limits.Bytes = DefaultBytes
	}
	l.limits = limits
	if limits.Lines > 0 {
		l.headFull = true
	}
}

// Limit changes the limits from now on. With a limit of lines the beginning is given up if there is a hole after it.
func (l *Log) Limit(limits Limits) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.setLimits(limits)
	if limits.Lines > 0 && l.heads > 0 {
		l.joinHead()
	}
	l.evict()
}

// joinHead makes the beginning part of the tail, or drops it where they do not touch.
func (l *Log) joinHead() {
	if l.heads < len(l.chunks) && l.chunks[l.heads].pos != l.chunks[l.heads-1].end() {
		for _, c := range l.chunks[:l.heads] {
			l.free(c)
		}
		l.chunks = slices.Delete(l.chunks, 0, l.heads)
	} else {
		for _, c := range l.chunks[:l.heads] {
			l.size += int64(c.n)
			l.tailNL += int64(c.lines[0] + c.lines[1])
		}
	}
	l.heads = 0
}

// Append adds output of one stream. It copies p and never fails: what the limits do not allow is dropped.
// After Finish it does nothing.
func (l *Log) Append(s job.Stream, p []byte) {
	if len(p) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.finished || int(s) >= len(l.held) {
		return
	}
	l.totals[viewOf(s)] += int64(len(p))
	if held := l.held[s]; len(held) > 0 {
		p = append(held, p...)
		l.held[s] = nil
	}
	whole := wholeEnd(p)
	if whole < len(p) {
		l.held[s] = bytes.Clone(p[whole:])
	}
	if whole > 0 {
		l.add(s, p[:whole])
		l.notify()
	}
}

// add stores p, which ends with a whole character.
func (l *Log) add(s job.Stream, p []byte) {
	for len(p) > 0 {
		c := l.last()
		room := cap(c.buf) - c.n
		head := !l.headFull
		if head {
			room = int(min(int64(room), l.limits.Bytes/2-l.end))
		}
		n := len(p)
		if n > room {
			n = atomStart(p, max(0, room))
		}
		if n > 0 {
			c.add(s, p[:n])
			l.end += int64(n)
			p = p[n:]
			if !head {
				l.size += int64(n)
			}
		}
		if len(p) > 0 {
			l.full(c)
		}
	}
	l.evict()
}

// full ends a chunk that the next character does not fit in, and the beginning if it is as large as it may get.
func (l *Log) full(c *chunk) {
	if !l.headFull && l.limits.Bytes/2-l.end < int64(cap(c.buf)-c.n) {
		l.headFull = true
		if c.n == 0 {
			l.heads--
			return
		}
	}
	l.seal()
}

// last returns the chunk to write to.
func (l *Log) last() *chunk {
	class := 0
	if n := len(l.chunks); n > 0 {
		if l.chunks[n-1].open() {
			return l.chunks[n-1]
		}
		class = l.chunks[n-1].next()
		l.seal()
	}
	c := newChunk(class, l.end)
	l.chunks = append(l.chunks, c)
	if !l.headFull {
		l.heads++
	}
	l.account(c.memory())
	return c
}

// seal ends the last chunk: its lines are counted, and it may go to the spill file.
func (l *Log) seal() {
	n := len(l.chunks)
	if n == 0 || l.chunks[n-1].sealed {
		return
	}
	c := l.chunks[n-1]
	c.seal()
	l.lines[0] += int64(c.lines[0])
	l.lines[1] += int64(c.lines[1])
	if n > l.heads {
		l.tailNL += int64(c.lines[0] + c.lines[1])
	}
	l.relieve()
}

// headEnd is the position after the beginning that is kept.
func (l *Log) headEnd() int64 {
	if l.heads == 0 {
		return 0
	}
	return l.chunks[l.heads-1].end()
}

// tailBytes is how much of the end is kept, beside the beginning.
func (l *Log) tailBytes() int64 { return l.limits.Bytes - l.headEnd() }

// evict drops whole chunks that the limits do not ask for any more; tailStart says where in the oldest one the rest
// begins.
func (l *Log) evict() {
	for l.heads < len(l.chunks)-1 {
		c := l.chunks[l.heads]
		few := l.limits.Lines == 0 || l.tailNL-int64(c.lines[0]+c.lines[1]) < int64(l.limits.Lines)
		if few && l.size-int64(c.n) < l.tailBytes() {
			return
		}
		l.dropOldest()
	}
}

func (l *Log) dropOldest() {
	c := l.chunks[l.heads]
	l.size -= int64(c.n)
	l.tailNL -= int64(c.lines[0] + c.lines[1])
	l.free(c)
	l.chunks = slices.Delete(l.chunks, l.heads, l.heads+1)
}

func (l *Log) notify() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// End returns the position after the last byte. An incomplete character is not counted yet.
func (l *Log) End() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// Total returns how many bytes the stream produced, kept or not. Merged output counts as Stdout's.
func (l *Log) Total(s job.Stream) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.totals[viewOf(s)]
}

// Changed returns a channel that is closed when something is added, or at Finish. To miss nothing, take it before
// looking at the log. Of a finished log it is closed at once.
func (l *Log) Changed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
		if l.finished {
			close(l.changed)
		}
	}
	return l.changed
}

// Finish says that nothing follows. A large log moves to its spill file in the background.
func (l *Log) Finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.finished {
		return
	}
	for s, p := range l.held {
		if len(p) > 0 {
			l.add(job.Stream(s), p)
			l.held[s] = nil
		}
	}
	l.finished = true
	l.seal()
	if l.changed != nil {
		close(l.changed)
	}
	if l.spill != nil && l.end > spillFinished {
		go l.moveOut()
	}
}

// Close frees the memory and removes the spill file. The log is empty then; its totals remain.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	if !l.finished {
		l.notify()
	}
	l.closed, l.finished = true, true
	for _, c := range l.chunks {
		l.free(c)
	}
	l.chunks, l.heads, l.size, l.tailNL = nil, 0, 0, 0
	if l.file != nil {
		l.file.remove()
		l.file = nil
	}
}

// viewOf says in which of the two views a stream is seen: 0 stdout, 1 stderr.
func viewOf(s job.Stream) int {
	if s == job.Stderr {
		return 1
	}
	return 0
}
