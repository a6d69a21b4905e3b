package wasm

import (
	"context"
	"sync"
	"time"
)

const keepIdle = 5 * time.Minute

// pool hands out instances, the warmest first, and makes new ones up to a number.
type pool struct {
	slots chan struct{} // one for each call that may run at once
	wait  time.Duration

	mu     sync.Mutex
	idle   []*instance // the last one was used last
	live   int
	closed bool
}

func newPool(size int, wait time.Duration) *pool {
	return &pool{slots: make(chan struct{}, size), wait: wait}
}

// take returns a free instance, or nil and the right to make one.
func (p *pool) take(ctx context.Context) (*instance, *fault) {
	select {
	case p.slots <- struct{}{}:
	default:
		timer := time.NewTimer(p.wait)
		defer timer.Stop()
		select {
		case p.slots <- struct{}{}:
		case <-timer.C:
			return nil, faultf(classBusy, "no instance became free within %s", p.wait)
		case <-ctx.Done():
			return nil, faultf(classBusy, "the call ended while it waited for an instance")
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		<-p.slots
		return nil, faultf(classLoad, "the hook is closed")
	}
	if n := len(p.idle); n > 0 {
		i := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return i, nil
	}
	p.live++
	return nil, nil
}

// give takes an instance back; nil when none was made.
func (p *pool) give(i *instance, broken bool) {
	p.mu.Lock()
	var dropped []*instance
	switch {
	case i == nil:
		p.live--
	case broken || p.closed || i.worn():
		p.live--
		dropped = append(dropped, i)
	default:
		i.idle = time.Now()
		if len(p.idle) > 0 && i.idle.Sub(p.idle[0].idle) > keepIdle {
			dropped = append(dropped, p.idle[0])
			p.idle = append(p.idle[:0], p.idle[1:]...)
			p.live--
		}
		p.idle = append(p.idle, i)
	}
	p.mu.Unlock()
	for _, i := range dropped {
		i.close()
	}
	<-p.slots
}

// drain refuses new calls and waits for those under way.
func (p *pool) drain() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	for range cap(p.slots) {
		p.slots <- struct{}{}
	}
}

// instances counts those that live.
func (p *pool) instances() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.live
}
