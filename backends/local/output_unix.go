//go:build unix

package local

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// When the leader has ended, a background process may hold the output for ever. What follows within silence is still
// taken for its output (`> >(tee)` ends later than the shell); lingering is the most it may take altogether.
const (
	silence   = 25 * time.Millisecond
	lingering = 250 * time.Millisecond
)

// reader delivers one stream. It lives in one goroutine.
type reader struct {
	backend *backend
	file    *os.File
	raw     syscall.RawConn
	attempt func(fd uintptr) bool // try, made once
	to      io.Writer
	ended   *atomic.Int64   // when the leader ended, 0 while it runs
	over    <-chan struct{} // closed then
	tree    *tree
	tty     bool
	tail    []byte // the last bytes delivered, for the hint of a command that was not found
	grown   bool
	into    *[readSize]byte // held only while there is something to read
	room    int             // of into, for the read under way
	got     int             // what it returned
	failed  error
	held    bool // set before delivery is announced: a background process holds the stream
}

func (p *process) newReader(f *os.File, to io.Writer) *reader {
	raw, _ := f.SyscallConn() // fails only for a nil file
	r := &reader{backend: p.backend, file: f, raw: raw, to: to, ended: &p.ended, over: p.over, tree: p.tree, tty: f == p.tty}
	r.attempt = r.try
	return r
}

// deliver returns at the stream's end, or when the leader has ended and the stream fell silent; held says which.
func (r *reader) deliver() (held bool) {
	for {
		_, err := r.pass(readSize)
		silent := errors.Is(err, os.ErrDeadlineExceeded)
		ended := r.ended.Load()
		switch {
		case err == nil && ended == 0:
			continue
		case err != nil && !silent && ended == 0 && r.tty:
			// A terminal that nobody has open right now may be opened again, and closing it would hang up on the leader.
			select {
			case <-r.over:
			case <-time.After(20 * time.Millisecond):
			}
			continue
		case err != nil && !silent:
			return false
		}
		// On a busy host what is silent may only be waiting for its turn.
		now, last := time.Now(), time.Unix(0, ended).Add(lingering)
		if now.After(last) || silent && !r.tree.busy() {
			return r.rest()
		}
		r.file.SetReadDeadline(earlier(now.Add(silence), last))
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// rest delivers what is in the pipe when time is up. A slow reader of ours must not cost the command its output.
func (r *reader) rest() (held bool) {
	r.file.SetReadDeadline(time.Time{})
	owed := 0
	r.raw.Control(func(fd uintptr) { owed, _ = unix.IoctlGetInt(int(fd), fionread) })
	for owed > 0 {
		n, err := r.pass(min(owed, readSize))
		if err != nil && !r.late(err) {
			return false
		}
		owed -= n
	}
	return !r.hungUp()
}

// hungUp says whether the pipe is empty and nobody can write to it any more.
func (r *reader) hungUp() (hung bool) {
	r.raw.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(p, 0)
		hung = err == nil && n == 1 && p[0].Revents&(unix.POLLHUP|unix.POLLIN) == unix.POLLHUP
	})
	return hung
}

// discard keeps the pipe flowing: closing it would kill the background process at its next write.
func (r *reader) discard() {
	r.to = io.Discard
	for {
		if _, err := r.pass(readSize); err != nil && !r.late(err) {
			return
		}
	}
}

// late recognises a deadline that was set after it had lost its meaning, and takes it away.
func (r *reader) late(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) && r.file.SetReadDeadline(time.Time{}) == nil
}

// pass reads once and delivers it. The buffer is taken when there is something to read, so waiting holds no memory.
func (r *reader) pass(limit int) (int, error) {
	r.room = limit
	waited := r.raw.Read(r.attempt)
	buf, n, err := r.into, r.got, r.failed
	r.into = nil
	if buf != nil {
		defer r.backend.free(buf)
	}
	if waited != nil {
		return 0, waited
	}
	if err != nil {
		return 0, err // EIO from a terminal whose last user has gone is its end
	}
	if n == 0 {
		return 0, io.EOF
	}
	if n >= pipeSize && !r.grown {
		r.grown = true
		growPipe(r.raw)
	}
	r.to.Write(buf[:n])
	r.tail = lastBytes(r.tail, buf[:n])
	return n, nil
}

// try reads into the buffer; false is to be called again when there is something to read. What it finds stands in r, as a
// function that captured it would be made anew for each of the many reads of a long output.
func (r *reader) try(fd uintptr) bool {
	if r.into == nil {
		r.into = r.backend.buffer()
	}
	r.got, r.failed = syscall.Read(int(fd), r.into[:r.room])
	for r.failed == syscall.EINTR {
		r.got, r.failed = syscall.Read(int(fd), r.into[:r.room])
	}
	if r.failed != syscall.EAGAIN {
		return true
	}
	r.backend.free(r.into)
	r.into = nil
	return false
}

const tailSize = 256

// lastBytes appends p to tail, in place, and drops what is too old.
func lastBytes(tail, p []byte) []byte {
	p = p[max(len(p)-tailSize, 0):]
	if over := len(tail) + len(p) - tailSize; over > 0 {
		tail = tail[:copy(tail, tail[over:])]
	}
	return append(tail, p...)
}

// pipeSize is what a pipe holds unless it was grown.
const pipeSize = 64 << 10
