package session

import (
	"bytes"
	"context"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
	"cmd-exec-mcp/runtime/stream"
)

// scripted is a process that does what a test says. It stands in for faults and orders that a real process will not
// produce on demand: one that cannot be killed, one that prints at an exact moment.
type scripted struct {
	io      backends.IO
	in      *input
	ended   chan struct{}
	once    sync.Once
	exit    job.Exit
	deaf    atomic.Bool // ignores every signal and kill
	signals chan job.Signal
}

type input struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (i *input) Write(p []byte) (int, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.buf.Write(p)
}

func (i *input) Close() error { return nil }

func (i *input) String() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.buf.String()
}

func (s *scripted) Stdin() io.WriteCloser { return s.in }
func (s *scripted) Resize(job.Size) error { return nil }

func (s *scripted) Signal(_ context.Context, sig job.Signal) error {
	s.signals <- sig
	if !s.deaf.Load() {
		s.end(job.Exit{Code: 130, Signal: "INT", Cause: job.Signaled})
	}
	return nil
}

func (s *scripted) Kill(ctx context.Context) error {
	if s.deaf.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	s.end(job.Exit{Code: 137, Signal: "KILL", Cause: job.Signaled})
	return nil
}

func (s *scripted) Wait() (job.Exit, error) {
	<-s.ended
	return s.exit, nil
}

func (s *scripted) end(exit job.Exit) {
	s.once.Do(func() {
		s.exit = exit
		close(s.ended)
	})
}

func (s *scripted) print(text string) { io.WriteString(s.io.Stdout, text) }

var testLimits = Limits{
	Attached: 2, Sessions: 2, Output: stream.Limits{Bytes: 1 << 20}, Session: stream.Limits{Bytes: 1 << 20, Lines: 10000},
	Inline: 16000, Preview: 8000, Alive: time.Hour, Queue: 50 * time.Millisecond, Keep: time.Hour, Kept: 2,
}

// startScripted starts a job whose process the test plays.
func startScripted(t *testing.T, table *Table, spec Spec) (*Job, *scripted) {
	t.Helper()
	p := &scripted{in: &input{}, ended: make(chan struct{}), signals: make(chan job.Signal, 16)}
	rules, err := stream.Compile(nil)
	if err != nil {
		t.Fatal(err)
	}
	spec.Rules = rules
	spec.Request.Tool = "execute_test"
	spec.Start = func(_ context.Context, io backends.IO) (backends.Process, error) {
		p.io = io
		return p, nil
	}
	j, err := table.Start(context.Background(), spec, job.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.end(job.Exit{}) })
	return j, p
}

func detached() Spec { return Spec{Request: job.Request{Detach: true}} }
