package ssh

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// scanner takes one stream of an outer shell apart: what comes before the first message is dropped, what the command
// prints goes to out, and messages go to said. It may be written and shut concurrently.
type scanner struct {
	mark []byte // begins a message
	said func(kind byte, body string)

	mu    sync.Mutex
	out   io.Writer
	began bool
	plain bool // there are no more messages: everything is output
	ended bool
	held  []byte    // the beginning of what may be a message
	first []byte    // what was dropped before the first message, to explain a failure
	heard time.Time // when the last bytes came
}

const (
	maxMessage = 64 << 10 // bounds a message's body; the shell's own are far shorter
	maxFirst   = 2 << 10
)

// pump reads r to its end.
func (s *scanner) pump(r io.Reader) {
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			s.write(buf[:n])
		}
		if err != nil {
			s.flush()
			return
		}
	}
}

func (s *scanner) write(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = time.Now()
	if len(s.held) > 0 {
		p = append(s.held, p...)
		s.held = nil
	}
	for len(p) > 0 && !s.ended {
		if s.plain {
			s.pass(p)
			return
		}
		at := s.find(p)
		s.pass(p[:at])
		p = p[at:]
		if len(p) == 0 {
			return
		}
		end := -1
		if len(p) > len(s.mark) {
			end = bytes.IndexByte(p[len(s.mark):], '\x1e')
		}
		if end < 0 {
			if len(p) > maxMessage { // no message of ours
				s.pass(p)
				return
			}
			s.held = bytes.Clone(p)
			return
		}
		s.message(p[len(s.mark) : len(s.mark)+end])
		p = p[len(s.mark)+end+1:]
	}
}

// find returns where the mark begins, or may begin at p's end; len(p) if nowhere.
func (s *scanner) find(p []byte) int {
	for from := 0; ; {
		i := bytes.IndexByte(p[from:], s.mark[0])
		if i < 0 {
			return len(p)
		}
		from += i
		n := min(len(s.mark), len(p)-from)
		if bytes.Equal(p[from:from+n], s.mark[:n]) {
			return from
		}
		from++
	}
}

func (s *scanner) pass(p []byte) {
	switch {
	case !s.began:
		s.first = append(s.first, p[:min(len(p), maxFirst-len(s.first))]...)
	case len(p) > 0 && s.out != nil:
		_, _ = s.out.Write(p)
	}
}

func (s *scanner) message(m []byte) {
	if len(m) == 0 {
		return
	}
	kind := m[0]
	s.began = s.began || kind == clean
	s.ended = kind == ends || kind == refuses
	s.said(kind, string(m[1:]))
}

// flush passes on what was held when the stream broke off.
func (s *scanner) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.pass(s.held)
	}
	s.held = nil
}

// direct says where output goes from now on.
func (s *scanner) direct(out io.Writer) {
	s.mu.Lock()
	s.out = out
	s.mu.Unlock()
}

// shut drops whatever still comes: nothing is written after it has returned.
func (s *scanner) shut() {
	s.mu.Lock()
	s.ended, s.held = true, nil
	s.mu.Unlock()
}

// silence is how long nothing came, at most since the given time.
func (s *scanner) silence(since time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.heard.After(since) {
		since = s.heard
	}
	return time.Since(since)
}

// preface is what came before the first message.
func (s *scanner) preface() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.first)
}
