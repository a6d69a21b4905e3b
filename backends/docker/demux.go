package docker

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
)

// readSize lets one read take several of the engine's 32 KiB frames.
const readSize = 128 << 10

// demux reads the engine's framed stream and hands each piece to the writer of its stream, until the stream ends or
// until says that enough came.
func demux(r io.Reader, out, err func([]byte), enough func() bool) error {
	br := bufio.NewReaderSize(r, readSize)
	for !enough() {
		header, e := br.Peek(8)
		if e != nil {
			return e
		}
		to, left := out, int(binary.BigEndian.Uint32(header[4:]))
		if header[0] == 2 {
			to = err
		}
		_, _ = br.Discard(8)
		for left > 0 {
			if br.Buffered() == 0 {
				if _, e := br.Peek(1); e != nil {
					return e
				}
			}
			piece, _ := br.Peek(min(left, br.Buffered()))
			to(piece)
			left -= len(piece)
			_, _ = br.Discard(len(piece))
		}
	}
	return nil
}

// scanner takes one stream of an outer shell apart: what comes before the first message is dropped, what the command
// prints goes to out, and messages go to said.
type scanner struct {
	mark []byte // nil: there are no messages
	out  io.Writer
	said func(kind byte, body string)

	began bool
	ended bool
	held  []byte // the beginning of what may be a message
}

// maxMessage bounds a message's body; the shell's own are far shorter.
const maxMessage = 64 << 10

func (s *scanner) write(p []byte) {
	if s.ended {
		return
	}
	if s.mark == nil {
		s.pass(p)
		return
	}
	if len(s.held) > 0 {
		p = append(s.held, p...)
		s.held = nil
	}
	for len(p) > 0 && !s.ended {
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
	if s.began && len(p) > 0 && s.out != nil {
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
	if !s.ended {
		s.pass(s.held)
	}
	s.held = nil
}
