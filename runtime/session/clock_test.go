package session

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
	"cmd-exec-mcp/runtime/stream"
)

// starter is a backend whose start takes as long as a test says, with progress every second if wanted.
func starter(takes time.Duration, talks bool) func(context.Context, backends.IO) (backends.Process, error) {
	return func(ctx context.Context, io backends.IO) (backends.Process, error) {
		for began := time.Now(); time.Since(began) < takes; {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(time.Second):
			}
			if talks {
				io.Progress(job.Progress{Message: "pulling"})
			}
		}
		p := &scripted{in: &input{}, ended: make(chan struct{}), signals: make(chan job.Signal, 16), io: io}
		return p, nil
	}
}

func TestTimeToStart(t *testing.T) {
	for _, c := range []struct {
		name          string
		takes         time.Duration
		talks         bool
		timeout, wait time.Duration
		want          string
		after         time.Duration
	}{
		{"in time", 3 * time.Second, false, 5 * time.Second, 0, "", 3 * time.Second},
		{"too slow", 10 * time.Second, false, 5 * time.Second, 0, "timeout", 5 * time.Second},
		{"a pull does not count", 30 * time.Second, true, 5 * time.Second, 0, "", 30 * time.Second},
		{"but the call waits only so long", 100 * time.Second, true, 5 * time.Second, 50 * time.Second, "timeout", 50 * time.Second},
		{"no limit", 300 * time.Second, false, job.Unlimited, job.Unlimited, "", 300 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rules, _ := stream.Compile(nil)
				table := NewTable(testLimits, nil)
				began := time.Now()
				j, err := table.Start(context.Background(), Spec{Start: starter(c.takes, c.talks), Timeout: c.timeout, Wait: c.wait, Rules: rules}, job.Discard)
				if kind(err) != c.want || time.Since(began) != c.after {
					t.Errorf("%v after %s, want %q after %s", err, time.Since(began), c.want, c.after)
				}
				if j == nil {
					return
				}
				if c.timeout > 0 { // the whole time-out is left for the command
					time.Sleep(c.timeout - time.Second)
					if c.talks && j.over() {
						t.Error("ended before its time")
					}
				}
				j.end(context.Background(), job.Killed)
			})
		})
	}
}

func TestStartEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules, _ := stream.Compile(nil)
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		_, err := NewTable(testLimits, nil).Start(ctx, Spec{Start: starter(time.Hour, true), Timeout: time.Minute, Rules: rules}, job.Discard)
		if kind(err) != "canceled" || !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want canceled", err)
		}
	})
}
