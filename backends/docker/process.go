package docker

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
	"github.com/docker/docker/api/types"
)

// process is a started command: the first process of a container, or one beside it.
type process struct {
	backend *Backend
	id      string // the container
	at      place
	stream  types.HijackedResponse
	stdin   *stdin // nil unless the command reads a pipe
	tty     bool
	exec    string // id of an exec; "" for a container's own process
	pid     atomic.Int64
	owns    bool // its container does not remove itself
	watched bool // a watcher listens on the attached stdin
	outer   *outer
	killed  atomic.Bool
	typing  sync.Mutex // one signal at a time on the attached stdin

	done chan struct{}
	once sync.Once
	exit job.Exit // set before done is closed
	err  error
}

func (b *Backend) newProcess(id string, at place, stream types.HijackedResponse) *process {
	return &process{backend: b, id: id, at: at, stream: stream, done: make(chan struct{})}
}

// vanishTime is how long a container that removes itself may take for it.
const vanishTime = 2 * time.Second

// finish publishes the end, once, and cleans up behind it.
func (p *process) finish(exit job.Exit, err error) {
	p.once.Do(func() {
		if err == nil && p.killed.Load() && exit.Cause == job.Signaled {
			exit.Cause = job.Killed
		}
		p.exit, p.err = exit, err
		p.backend.leave(p)
		if p.stream.Conn != nil {
			p.stream.Close()
		}
		switch {
		case p.owns:
			p.backend.cleaner.remove(p.id)
		case p.exec == "":
			// It removes itself. But a command can read the outer shell's memory, and say with its word that it ended
			// while it goes on.
			time.AfterFunc(vanishTime, func() { p.backend.cleaner.remove(p.id) })
		}
		close(p.done)
	})
}

// Stdin implements backends.Process.
func (p *process) Stdin() io.WriteCloser {
	if p.stdin == nil {
		return nil
	}
	return p.stdin
}

// Wait implements backends.Process.
func (p *process) Wait() (job.Exit, error) {
	<-p.done
	return p.exit, p.err
}

func (p *process) over() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Kill implements backends.Process: for a container's own process the whole container ends, so nothing of its tree
// survives. A command beside a session's process loses its process group.
func (p *process) Kill(ctx context.Context) error {
	if p.over() {
		return nil
	}
	p.killed.Store(true)
	err := p.kill(ctx)
	if err == nil {
		select {
		case <-p.done:
			return nil
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if p.exec == "" && !p.owns {
		p.backend.cleaner.remove(p.id) // goes on trying
	}
	p.finish(job.Exit{}, job.Errorf(job.Lost, "the command was killed but Docker at %s did not confirm it", p.backend.where()).
		WithHint("it may still run; its container is removed as soon as the engine answers"))
	return p.backend.fail("the container could not be killed", err)
}

func (p *process) kill(ctx context.Context) error {
	if p.exec != "" {
		return p.signalGroup(ctx, "KILL")
	}
	b := p.backend
	b.mu.Lock()
	api := b.api // also after Close has begun
	b.mu.Unlock()
	err := api.ContainerKill(ctx, p.id, "KILL")
	if isGone(err) {
		return nil
	}
	return err
}

// endOfFile is what ends the input of a terminal, at the beginning of a line.
var endOfFile = []byte{4}

// stdin is the command's end of a pipe. The engine closes the command's stdin when our side is closed for writing.
type stdin struct {
	process *process
	mu      sync.Mutex
	closed  bool
}

var errEnded = errors.New("the process has ended")

func (s *stdin) Write(data []byte) (int, error) {
	if s.process.over() {
		return 0, errEnded
	}
	n, err := s.process.stream.Conn.Write(data)
	if err != nil && s.process.over() {
		err = errEnded
	}
	return n, err
}

func (s *stdin) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.process.over() {
		return nil
	}
	s.closed = true
	if s.process.tty {
		_, err := s.process.stream.Conn.Write(endOfFile)
		return err
	}
	return s.process.stream.CloseWrite()
}

// Resize implements backends.Process.
func (p *process) Resize(size job.Size) error {
	if !p.tty {
		return job.Errorf(job.Unsupported, "the command has no terminal").WithHint("start it with tty=true")
	}
	if p.over() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), resizeTimeout)
	defer cancel()
	return p.resize(ctx, size)
}

var (
	_ backends.Process = (*process)(nil)
	_ backends.Runner  = (*process)(nil)
	_ backends.Filer   = (*process)(nil)
)
