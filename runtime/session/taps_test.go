package session

import (
	"bytes"
	"context"
	"io"
	"sync"
	"testing"
	"time"

	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/runtime/job"
)

// A hook has one buffer for both streams: what came out of it must have gone its way before the other stream uses it.
func TestStreamsShareAHooksBuffer(t *testing.T) {
	carry := &hooks.Carry{Filter: func(_ context.Context, _ job.Stream, in []byte, _ hooks.Flags) ([]byte, int, error) {
		return in, 0, nil
	}}
	j, p := startScripted(t, NewTable(testLimits, nil), Spec{Taps: []Tap{{Name: "h", Tap: carryTap{carry}}}})
	var both sync.WaitGroup
	for _, w := range []struct {
		io.Writer
		text string
	}{{p.io.Stdout, "o"}, {p.io.Stderr, "e"}} {
		both.Go(func() {
			for range 2000 {
				io.WriteString(w, w.text+w.text+w.text)
			}
		})
	}
	both.Wait()
	p.end(job.Exit{})
	j.Attach(context.Background(), Waiter{}, time.Minute)
	r, err := j.Result()
	if err != nil || !bytes.Equal(r.Stdout.Data, bytes.Repeat([]byte("o"), 6000)) || !bytes.Equal(r.Stderr.Data, bytes.Repeat([]byte("e"), 6000)) {
		t.Errorf("the streams were mixed: %v, %d and %d bytes", err, len(r.Stdout.Data), len(r.Stderr.Data))
	}
}

type carryTap struct{ *hooks.Carry }

func (carryTap) End(_ context.Context, exit job.Exit) (job.Exit, error) { return exit, nil }
