package session

import (
	"context"
	"errors"
	"testing"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
	"cmd-exec-mcp/runtime/stream"
)

// TestCloseDuringStart: a job that is being started is nobody's business yet, and Close ends it as soon as it has started.
func TestCloseDuringStart(t *testing.T) {
	rules, err := stream.Compile(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, fails := range []bool{false, true} {
		table := NewTable(testLimits, nil)
		p := &scripted{in: &input{}, ended: make(chan struct{}), signals: make(chan job.Signal, 16)}
		starting, release := make(chan struct{}), make(chan struct{})
		spec := Spec{Request: job.Request{Tool: "execute_test", Detach: true}, Rules: rules}
		spec.Start = func(_ context.Context, io backends.IO) (backends.Process, error) {
			close(starting)
			<-release
			if fails {
				return nil, errors.New("no such program")
			}
			p.io = io
			return p, nil
		}
		started := make(chan error, 1)
		go func() {
			_, err := table.Start(context.Background(), spec, job.Discard)
			started <- err
		}()
		<-starting
		if list := table.List("execute_test"); len(list) != 0 {
			t.Errorf("the list has a job that has not started: %v", list)
		}
		closed := make(chan struct{})
		go func() {
			table.Close(context.Background())
			close(closed)
		}()
		time.Sleep(20 * time.Millisecond) // most likely Close has seen the job by now
		close(release)
		if err := <-started; (err != nil) != fails {
			t.Errorf("fails=%v: got %v", fails, err)
		}
		<-closed
		if !fails {
			<-p.ended
		}
	}
}
