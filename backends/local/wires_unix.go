//go:build unix

package local

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"

	"cmd-exec-mcp/runtime/job"
	"github.com/creack/pty"
)

// wires are the pipes, or the terminal, between us and one process.
type wires struct {
	theirs   []uintptr // the child's 0, 1 and 2
	borrowed []int     // those of theirs to close once the child has them
	in       *os.File  // we write
	out, err *os.File  // we read; err is nil with a terminal, and where both streams are one
	tty      *os.File  // the terminal's near end; nil without one, else the same as out
}

func (b *backend) connect(cmd job.Command, merged bool) (*wires, error) {
	w := &wires{theirs: []uintptr{b.null.Fd(), 0, 0}}
	err := w.open(cmd, merged)
	if err != nil {
		w.closeTheirs()
		w.closeOurs()
		return nil, err
	}
	return w, nil
}

func (w *wires) open(cmd job.Command, merged bool) (err error) {
	if cmd.TTY != nil {
		if err := w.openTTY(cmd); err != nil {
			return err
		}
	} else {
		if w.out, err = w.pipe(1, "stdout"); err != nil {
			return err
		}
		if merged {
			w.theirs[2] = w.theirs[1]
		} else if w.err, err = w.pipe(2, "stderr"); err != nil {
			return err
		}
	}
	if cmd.Stdin == job.StdinBytes || cmd.Stdin == job.StdinPipe && cmd.TTY == nil {
		w.in, err = w.pipe(0, "stdin")
	}
	return err
}

// pipe makes a pipe whose far end is the child's descriptor fd. Our end goes to the poller, so nothing of ours blocks a
// thread; the child's end blocks as programs expect.
func (w *wires) pipe(fd int, name string) (*os.File, error) {
	r, wr, err := pipe()
	if err != nil {
		return nil, err
	}
	ours, theirs := r, wr
	if fd == 0 {
		ours, theirs = wr, r
	}
	w.theirs[fd] = uintptr(theirs)
	w.borrowed = append(w.borrowed, theirs)
	if err := syscall.SetNonblock(ours, true); err != nil {
		syscall.Close(ours)
		return nil, err
	}
	return os.NewFile(uintptr(ours), name), nil
}

func (w *wires) openTTY(cmd job.Command) error {
	near, far, err := pty.Open()
	if err != nil {
		return err
	}
	w.tty, w.out = near, near
	defer far.Close()
	size := *cmd.TTY
	if size.Cols <= 0 || size.Rows <= 0 {
		size = job.Size{Cols: 80, Rows: 24}
	}
	if err := setSize(near, size); err != nil {
		return err
	}
	// The child needs a descriptor that outlives far, so that closing is done in one place.
	fd, err := syscall.Dup(int(far.Fd()))
	if err != nil {
		return err
	}
	syscall.CloseOnExec(fd)
	w.borrowed = append(w.borrowed, fd)
	w.theirs[1], w.theirs[2] = uintptr(fd), uintptr(fd)
	if cmd.Stdin == job.StdinPipe {
		w.theirs[0] = uintptr(fd)
	}
	return nil
}

func setSize(tty *os.File, size job.Size) error {
	return pty.Setsize(tty, &pty.Winsize{Cols: uint16(size.Cols), Rows: uint16(size.Rows)})
}

func (w *wires) closeTheirs() {
	for _, fd := range w.borrowed {
		syscall.Close(fd)
	}
	w.borrowed = nil
}

func (w *wires) closeOurs() {
	for _, f := range []*os.File{w.in, w.out, w.err} {
		if f != nil {
			f.Close()
		}
	}
}

// stdin gives the process its input: all of it now where it is known, else a writer for the session.
func (w *wires) stdin(cmd job.Command, p *process) io.WriteCloser {
	switch {
	case cmd.Stdin == job.StdinBytes:
		p.input = w.in
		feed(w.in, cmd.Input)
	case cmd.Stdin == job.StdinPipe && w.tty != nil:
		return &keyboard{tty: w.tty, p: p}
	case cmd.Stdin == job.StdinPipe:
		p.input = w.in
		return &stdin{f: w.in, p: p}
	}
	return nil
}

// feed writes the input and closes the pipe. What fits into the empty pipe needs no goroutine.
func feed(f *os.File, input []byte) {
	sent := 0
	if raw, err := f.SyscallConn(); err == nil {
		raw.Write(func(fd uintptr) bool {
			sent, err = syscall.Write(int(fd), input)
			return true
		})
		sent = max(sent, 0)
	}
	if sent == len(input) {
		f.Close()
		return
	}
	go func() {
		f.Write(input[sent:]) // a command that ends or closes its input before it has read all is no error
		f.Close()
	}()
}

// stdin is the write end of a pipe to a session's program.
type stdin struct {
	f *os.File
	p *process
}

func (s *stdin) Write(data []byte) (int, error) {
	n, err := s.f.Write(data)
	return n, inputError(err, s.p)
}

func (s *stdin) Close() error {
	s.f.Close()
	return nil
}

func inputError(err error, p *process) error {
	switch {
	case err == nil:
		return nil
	case p.ended.Load() != 0:
		return endedError()
	case errors.Is(err, syscall.EPIPE):
		return job.Errorf(job.Invalid, "the program has closed its input").WithHint("read the session to see what it is doing")
	case errors.Is(err, os.ErrClosed):
		return job.Errorf(job.Invalid, "the end of the input was already sent").WithHint("start a new session to send more")
	}
	return &job.Error{Op: "local.stdin", Kind: job.Lost, Err: err}
}

func endedError() error {
	return job.Errorf(job.Invalid, "the program has ended").WithHint("read the session for its last output and exit code")
}

// keyboard types into a terminal. Closing it types the end-of-file character: the terminal itself stays, since a shell
// in it may go on after the program that read the end.
type keyboard struct {
	tty *os.File
	p   *process

	mu      sync.Mutex
	partial bool // the last line typed has no end: one end-of-file only hands it over
}

func (k *keyboard) Write(data []byte) (int, error) {
	if k.p.ended.Load() != 0 {
		return 0, endedError()
	}
	n, err := k.tty.Write(data)
	if n > 0 {
		k.mu.Lock()
		last := data[n-1]
		k.partial = last != '\n' && last != '\r' && last != eof
		k.mu.Unlock()
	}
	return n, inputError(err, k.p)
}

const eof = 4 // ctrl-d

func (k *keyboard) Close() error {
	k.mu.Lock()
	typed := []byte{eof}
	if k.partial {
		typed = []byte{eof, eof}
	}
	k.partial = false
	k.mu.Unlock()
	_, err := k.Write(typed)
	return err
}

// endedStdin is the input of a process that never ran.
type endedStdin struct{}

func (endedStdin) Write([]byte) (int, error) { return 0, endedError() }
func (endedStdin) Close() error              { return nil }
