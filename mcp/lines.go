package mcp

import (
	"bytes"
	"errors"
	"io"
)

const (
	maxLine   = 16 << 20
	firstRead = 64 << 10
	keepRead  = 1 << 20 // a buffer that grew beyond this is given back
)

// errLong is what next returns for a line beyond its limit. The line is skipped; the next call goes on after it.
var errLong = errors.New("message longer than 16 MiB")

// lines reads messages, one per line. It is for one goroutine.
type lines struct {
	in         io.Reader
	max        int // bytes of the longest line
	buf        []byte
	start, end int
	err        error // of the reader, once everything before it was delivered
}

// next returns a line without its newline, valid until the following call. The last line needs no newline. After the
// last one it returns the reader's error, io.EOF at its end.
func (l *lines) next() ([]byte, error) {
	searched := 0
	long := false
	for {
		if i := bytes.IndexByte(l.buf[l.start+searched:l.end], '\n'); i >= 0 {
			line := l.buf[l.start : l.start+searched+i]
			l.start += searched + i + 1
			if long || len(line) > l.max {
				return nil, errLong
			}
			return line, nil
		}
		searched = l.end - l.start
		if l.err != nil {
			return l.last(long)
		}
		if searched > l.max {
			long = true
			l.start, l.end, searched = 0, 0, 0
		}
		l.fill()
	}
}

func (l *lines) last(long bool) ([]byte, error) {
	line := l.buf[l.start:l.end]
	l.start = l.end
	switch {
	case long || len(line) > l.max:
		return nil, errLong
	case len(line) > 0:
		return line, nil
	}
	return nil, l.err
}

// ready tells whether next would return without reading.
func (l *lines) ready() bool {
	return bytes.IndexByte(l.buf[l.start:l.end], '\n') >= 0 || l.err != nil && l.end > l.start
}

// fill reads once more, after making room.
func (l *lines) fill() {
	waiting := l.buf[l.start:l.end]
	switch {
	case len(waiting) == 0 && (len(l.buf) > keepRead || len(l.buf) == 0):
		l.buf = make([]byte, firstRead)
	case len(waiting) == len(l.buf):
		bigger := make([]byte, 2*len(l.buf))
		copy(bigger, waiting)
		l.buf = bigger
	case l.start > 0:
		copy(l.buf, waiting)
	}
	l.start, l.end = 0, len(waiting)
	n, err := l.in.Read(l.buf[l.end:])
	l.end += n
	l.err = err
}
