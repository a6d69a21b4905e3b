package stream

import (
	"os"
	"sync/atomic"
)

const (
	// DefaultBudget is the memory that all logs of a Spill may use before they go to their files.
	DefaultBudget = 64 << 20
	// spillFinished is the size from which a finished log leaves the memory.
	spillFinished = 1 << 20
)

// Spill is a folder where logs go when they take too much memory together. Its methods are those of Log.
type Spill struct {
	dir    string
	budget int64
	used   atomic.Int64
}

// NewSpill uses dir, which is made when it is first needed, for files of mode 0600. Budget is in bytes, DefaultBudget
// if 0.
func NewSpill(dir string, budget int64) *Spill {
	if budget <= 0 {
		budget = DefaultBudget
	}
	return &Spill{dir: dir, budget: budget}
}

// spillFile holds chunks of one log in slots of equal size; a slot whose chunk was dropped is used again.
type spillFile struct {
	f       *os.File
	slots   int
	unused  []int
	removed bool
}

var slotSize = int64(chunkSizes[len(chunkSizes)-1])

func openSpill(dir string) (*spillFile, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, "log-*")
	if err != nil {
		return nil, err
	}
	// Where the system allows it the name goes at once, so that a crash leaves nothing behind.
	return &spillFile{f: f, removed: os.Remove(f.Name()) == nil}, nil
}

func (s *spillFile) write(p []byte) (slot int, err error) {
	if n := len(s.unused); n > 0 {
		slot = s.unused[n-1]
		s.unused = s.unused[:n-1]
	} else {
		slot = s.slots
		s.slots++
	}
	if _, err = s.f.WriteAt(p, int64(slot)*slotSize); err != nil {
		s.unused = append(s.unused, slot)
	}
	return slot, err
}

func (s *spillFile) read(slot int, p []byte) error {
	_, err := s.f.ReadAt(p, int64(slot)*slotSize)
	return err
}

func (s *spillFile) remove() {
	s.f.Close()
	if !s.removed {
		os.Remove(s.f.Name())
	}
}

// account notes that the log's memory changed.
func (l *Log) account(bytes int64) {
	if l.spill != nil {
		l.spill.used.Add(bytes)
	}
}

// free gives up a chunk.
func (l *Log) free(c *chunk) {
	if c.buf == nil {
		l.file.unused = append(l.file.unused, c.slot)
		return
	}
	l.account(-c.memory())
	c.release()
}

// relieve writes this log's sealed chunks to its file while all logs together are over the budget. Where the file
// cannot be written, a full disk for one, the oldest chunk after the beginning is dropped instead.
func (l *Log) relieve() {
	if l.spill == nil || l.spill.used.Load() <= l.spill.budget {
		return
	}
	for _, c := range l.chunks {
		if c.sealed && c.buf != nil && l.moveChunk(c) != nil {
			if l.heads < len(l.chunks)-1 {
				l.dropOldest()
			}
			return
		}
	}
}

func (l *Log) moveChunk(c *chunk) error {
	if l.file == nil {
		file, err := openSpill(l.spill.dir)
		if err != nil {
			return err
		}
		l.file = file
	}
	slot, err := l.file.write(c.buf)
	if err != nil {
		return err
	}
	l.account(-c.memory())
	// The tags stay, so the pool gets the bytes only.
	chunkPools[c.class].Put(&chunk{buf: c.buf})
	c.buf, c.slot = nil, slot
	return nil
}

// moveOut writes a finished log to its file, a chunk at a time so that readers need not wait.
func (l *Log) moveOut() {
	for i := 0; ; i++ {
		l.mu.Lock()
		done := l.closed || i >= len(l.chunks)
		if !done && l.chunks[i].buf != nil {
			done = l.moveChunk(l.chunks[i]) != nil
		}
		l.mu.Unlock()
		if done {
			return
		}
	}
}
