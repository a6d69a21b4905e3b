package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
)

// process is one command and what it started.
type process struct {
	backend *backend
	started *os.Process
	tree    *tree
	stdin   io.WriteCloser
	input   *os.File
	readers []*reader

	done    chan struct{}
	killing sync.Mutex
	killed  bool
	exit    job.Exit
	err     error
}

func (p *process) begin(cmd job.Command, w *wires, io backends.IO) {
	p.input = w.in
	switch {
	case cmd.Stdin == job.StdinBytes:
		go func() {
			w.in.Write(cmd.Input) // a command that reads only a part of it is no error
			w.in.Close()
		}()
	case cmd.Stdin == job.StdinPipe:
		p.stdin = &stdin{w.in}
	}
	p.backend.enter(p)
	p.readers = []*reader{newReader(w.out, io.Stdout)}
	if w.err != nil {
		p.readers = append(p.readers, newReader(w.err, io.Stderr))
	}
	for _, r := range p.readers {
		go r.run(p.backend)
	}
	go p.follow()
}

// Stdin implements backends.Process.
func (p *process) Stdin() io.WriteCloser { return p.stdin }

// Resize implements backends.Process.
func (p *process) Resize(job.Size) error {
	return job.Errorf(job.Unsupported, "this command has no terminal").WithHint("there are none on Windows here")
}

// Signal implements backends.Process. A process without a console can be sent nothing but its end.
func (p *process) Signal(ctx context.Context, s job.Signal) error {
	if s == job.Interrupt {
		return nil
	}
	return p.Kill(ctx)
}

// Kill implements backends.Process.
func (p *process) Kill(context.Context) error {
	p.killing.Lock()
	defer p.killing.Unlock()
	select {
	case <-p.done:
	default:
		p.killed = true
	}
	if err := p.tree.kill(); err != nil {
		p.exit.Survivors = p.tree.pids()
		return &job.Error{Op: "local.Kill", Kind: job.Lost, Err: err, Hint: "end it in the task manager"}
	}
	p.exit.Notes = nil
	return nil
}

// Wait implements backends.Process.
func (p *process) Wait() (job.Exit, error) {
	<-p.done
	p.killing.Lock()
	defer p.killing.Unlock()
	return p.exit, p.err
}

func (p *process) follow() {
	defer p.backend.running.Done()
	state, err := p.started.Wait()
	if p.input != nil {
		p.input.Close()
	}
	held := false
	for _, r := range p.readers {
		held = r.settle() || held
	}
	p.killing.Lock()
	if err != nil {
		p.err = &job.Error{Op: "local.Wait", Kind: job.Lost, Err: err, Hint: "the command may still run"}
	} else {
		p.exit.Code = int(uint32(state.ExitCode())) // as Windows writes it: 0xC0000005, not a negative number
		if p.exit.Code > 1<<16 {
			p.exit.Notes = append(p.exit.Notes, fmt.Sprintf("the exit code is 0x%X", p.exit.Code))
		}
		if p.killed && p.exit.Code == killedCode {
			p.exit.Cause, p.exit.Signal = job.Killed, "KILL"
		}
		if pids := p.tree.pids(); len(pids) > 0 && !p.killed {
			p.exit.Notes = append(p.exit.Notes, fmt.Sprintf("background processes %v are still running; they end with the server, or with taskkill /pid", pids))
		}
	}
	p.killing.Unlock()
	p.backend.forest.clear()
	if !held {
		p.backend.leave(p)
	}
	close(p.done)
}

func (p *process) letGo() {
	for _, r := range p.readers {
		r.file.Close()
	}
}

// stdin is the write end of a pipe to a session's program.
type stdin struct{ f *os.File }

func (s *stdin) Write(data []byte) (int, error) {
	n, err := s.f.Write(data)
	if err != nil {
		err = job.Errorf(job.Invalid, "the program does not take input any more").WithHint("it has ended, or its input was closed; read the session")
	}
	return n, err
}

func (s *stdin) Close() error {
	s.f.Close()
	return nil
}

// wires are the pipes between us and one process.
type wires struct {
	theirs       [3]*os.File
	borrowed     []*os.File
	in, out, err *os.File // err is nil where both streams are one
}

func (b *backend) connect(cmd job.Command, merged bool) (*wires, error) {
	w := &wires{theirs: [3]*os.File{b.null}}
	var errs [3]error
	w.out, w.theirs[1], errs[1] = os.Pipe()
	w.borrowed = append(w.borrowed, w.theirs[1])
	if merged {
		w.theirs[2] = w.theirs[1]
	} else {
		w.err, w.theirs[2], errs[2] = os.Pipe()
		w.borrowed = append(w.borrowed, w.theirs[2])
	}
	if cmd.Stdin != job.StdinNull {
		w.theirs[0], w.in, errs[0] = os.Pipe()
		w.borrowed = append(w.borrowed, w.theirs[0])
	}
	if err := errors.Join(errs[:]...); err != nil {
		w.closeTheirs()
		w.closeOurs()
		return nil, err
	}
	return w, nil
}

func (w *wires) closeTheirs() { closeAll(w.borrowed...) }
func (w *wires) closeOurs()   { closeAll(w.in, w.out, w.err) }

func closeAll(list ...*os.File) {
	for _, f := range list {
		if f != nil {
			f.Close()
		}
	}
}

// When the leader has ended, a background process may hold the output for ever: what follows within silence is still
// taken for its output, lingering is the most it may take altogether.
const (
	silence   = 25 * time.Millisecond
	lingering = 250 * time.Millisecond
)

// reader delivers one stream. Pipes have no deadlines here, so a gate decides what still passes.
type reader struct {
	file *os.File
	eof  chan struct{}

	mu   sync.Mutex // held while a chunk is delivered
	to   io.Writer
	last time.Time
}

func newReader(f *os.File, to io.Writer) *reader {
	return &reader{file: f, eof: make(chan struct{}), to: to}
}

func (r *reader) run(b *backend) {
	defer close(r.eof)
	defer r.file.Close()
	buf := b.buffer()
	defer b.free(buf)
	for {
		n, err := r.file.Read(buf[:])
		if n > 0 {
			r.mu.Lock()
			r.to.Write(buf[:n])
			r.last = time.Now()
			r.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

// settle waits for the stream's end or its silence, and shuts the gate. It reports whether the stream is still held.
func (r *reader) settle() (held bool) {
	limit := time.After(lingering)
	for {
		select {
		case <-r.eof:
			return false
		case <-limit:
			r.shut()
			return true
		case <-time.After(silence):
			r.mu.Lock()
			quiet := time.Since(r.last) >= silence
			r.mu.Unlock()
			if quiet {
				r.shut()
				return true
			}
		}
	}
}

func (r *reader) shut() {
	r.mu.Lock()
	r.to = io.Discard
	r.mu.Unlock()
}
