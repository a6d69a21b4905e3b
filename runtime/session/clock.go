package session

import (
	"context"
	"sync"
	"time"
)

// clock is the context of a start. It ends with its parent, after a time-out that begins anew at each progress (while an
// image is pulled nothing has started, so that time does not count), or when the call has waited long enough in any case.
type clock struct {
	context.Context // the parent, for its values
	timeout         time.Duration
	timers          []*time.Timer // the first is the time-out's
	stop            func() bool
	done            chan struct{}

	mu   sync.Mutex
	err  error
	last time.Time // when it began, or the last progress
}

// newClock starts one; limits that are not positive do not apply. close must be called.
func newClock(parent context.Context, timeout, wait time.Duration) *clock {
	c := &clock{Context: parent, timeout: timeout, done: make(chan struct{}), last: time.Now()}
	for _, limit := range []time.Duration{timeout, wait} {
		if limit > 0 {
			c.timers = append(c.timers, time.AfterFunc(limit, func() { c.end(context.DeadlineExceeded) }))
		}
	}
	c.stop = context.AfterFunc(parent, func() { c.end(parent.Err()) })
	return c
}

// progress begins the time-out anew.
func (c *clock) progress() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = time.Now()
	if c.timeout > 0 && c.err == nil {
		c.timers[0].Reset(c.timeout)
	}
}

// since is how much of the time-out is used up.
func (c *clock) since() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.last)
}

func (c *clock) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		close(c.done)
	}
}

func (c *clock) close() {
	c.stop()
	for _, t := range c.timers {
		t.Stop()
	}
	c.end(context.Canceled)
}

// Deadline is not known: progress moves it.
func (c *clock) Deadline() (time.Time, bool) { return time.Time{}, false }

func (c *clock) Done() <-chan struct{} { return c.done }

func (c *clock) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}
