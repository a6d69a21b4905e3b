package wasm

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/runtime/job"
)

// Many jobs share few instances, and none sees another's bytes.
func TestSharedPool(t *testing.T) {
	c := config(t, text(echo))
	c.Pool, c.QueueTimeout = 2, time.Minute
	h := open(t, c)
	var wg sync.WaitGroup
	for n := range 16 {
		wg.Go(func() {
			_, tap, err := begin(h, "ls")
			if err != nil {
				t.Error(err)
				return
			}
			chunk := strings.Repeat(string(rune('a'+n)), 1000)
			for range 50 {
				if out, err := tap.Output(context.Background(), job.Stdout, []byte(chunk), 0); err != nil || string(out) != chunk {
					t.Errorf("got %d bytes, %v", len(out), err)
					return
				}
			}
		})
	}
	wg.Wait()
	if n := h.Status().Instances; n < 1 || n > 2 {
		t.Errorf("%d instances, want 1 or 2", n)
	}
}

func TestBusy(t *testing.T) {
	c := config(t, pre(`(i32.const 0)`))
	c.Pool, c.QueueTimeout = 1, 20*time.Millisecond
	h := open(t, c)
	if err := h.Ready(context.Background()); err != nil {
		t.Fatal(err)
	}
	i, f := h.pool.take(context.Background())
	if f != nil {
		t.Fatal(f)
	}
	if _, _, err := begin(h, "ls"); job.KindOf(err) != job.Busy {
		t.Errorf("got %v, want Busy", err)
	}
	h.pool.give(i, false)
	if _, _, err := begin(h, "ls"); err != nil {
		t.Error(err)
	}
}

// Guests leak: an instance is replaced after a number of calls, or once it has grown.
func TestRecycling(t *testing.T) {
	h := hook(t, text(`(global $n (mut i32) (i32.const 0)) (func (export "pre_exec") (result i32)
		(global.set $n (i32.add (global.get $n) (i32.const 1)))
		(i32.gt_u (global.get $n) (i32.const `+"10000"+`)))`))
	for n := range recycleCalls + 10 {
		if _, _, err := begin(h, "ls"); err != nil {
			t.Fatalf("call %d met an instance of more than %d calls: %v", n, recycleCalls, err)
		}
	}
}

// A call under way ends in peace; Close waits for it, and frees later what it could not wait for.
func TestClose(t *testing.T) {
	c := config(t, pre(`(i32.const 0)`))
	named, err := c.Open(context.Background(), hooks.Env{})
	if err != nil {
		t.Fatal(err)
	}
	h := named.Hook.(*Hook)
	if err := h.Ready(context.Background()); err != nil {
		t.Fatal(err)
	}
	i, _ := h.pool.take(context.Background())
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := h.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that it could not wait", err)
	}
	if _, f := i.run(&call{event: eventPre, hook: h}); f != nil {
		t.Errorf("the call under way: %v", f)
	}
	h.pool.give(i, false)
	if _, _, err := begin(h, "ls"); err == nil {
		t.Error("a closed hook ran")
	}
}

func TestCloseWhileLoading(t *testing.T) {
	for range 20 {
		c := config(t, pre(`(i32.const 0)`))
		named, err := c.Open(context.Background(), hooks.Env{})
		if err != nil {
			t.Fatal(err)
		}
		if err := named.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

func TestBeginGivesUpWithItsContext(t *testing.T) {
	h := &Hook{name: "slow", loaded: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := h.Begin(ctx, job.Request{}); job.KindOf(err) != job.Busy {
		t.Errorf("got %v, want Busy", err)
	}
}
