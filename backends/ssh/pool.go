package ssh

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"cmd-exec-mcp/runtime/job"
)

// pool is the connections to one target. Commands share them; one more is dialled when all are full, one at a time.
type pool struct {
	backend *Backend

	mu      sync.Mutex
	conns   []*conn
	attempt *attempt      // the dial that is under way
	pause   time.Time     // no further connection before, after a dial failed
	wake    chan struct{} // closed and replaced when a place may be free
	waiting int
	last    *facts // of the last connection: a host does not change its shells
	every   time.Duration
	orphans []string // names of connections that have ended
	closed  bool
}

type attempt struct {
	done chan struct{}
	err  error // set before done is closed
}

// maxConns bounds what one server is asked for.
const maxConns = 16

func newPool(b *Backend) *pool { return &pool{backend: b, wake: make(chan struct{})} }

// get reserves a place for one channel.
func (p *pool) get(ctx context.Context) (*conn, error) {
	for began := time.Now(); ; {
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			return nil, errClosed()
		}
		if c := p.free(); c != nil {
			c.used++
			p.mu.Unlock()
			if !c.fresh(ctx) {
				p.release(c, false)
				continue
			}
			return c, nil
		}
		p.evict(len(p.conns) >= maxConns)
		none, patient := len(p.conns) == 0, time.Since(began) >= placePause && time.Now().After(p.pause)
		if p.attempt == nil && len(p.conns) < maxConns && (none || patient) {
			p.attempt = &attempt{done: make(chan struct{})}
			go p.dial(p.attempt)
		}
		var done chan struct{}
		a, wake := p.attempt, p.wake
		if a != nil {
			done = a.done
		}
		p.waiting++
		p.mu.Unlock()
		err := p.wait(ctx, a, done, wake)
		p.mu.Lock()
		p.waiting--
		p.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
}

// wait returns when it is worth trying again.
func (p *pool) wait(ctx context.Context, a *attempt, done, wake chan struct{}) error {
	again := time.NewTimer(placePause)
	defer again.Stop()
	select {
	case <-done:
	case <-wake:
	case <-again.C:
	case <-ctx.Done():
		return contextError(ctx, p.backend.config.Target)
	}
	select {
	case <-done:
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.conns) == 0 {
			return a.err
		}
	default:
	}
	return nil
}

// rejectPause is how long a connection that took no more channels is left alone.
const rejectPause = 200 * time.Millisecond

// placePause is how long a place is waited for before one more connection is made: they are freed a little late.
const placePause = 20 * time.Millisecond

// free is a connection with a place, nil without one.
func (p *pool) free() *conn {
	for _, c := range p.conns {
		if c.limit < maxChannels && time.Since(c.rejected) > rejectPause {
			c.limit, c.rejected = c.limit+1, time.Now() // places are freed late: the refusal may have been of that moment
		}
		if c.used < c.limit {
			return c
		}
	}
	return nil
}

// evict ends what only waits, so that a command gets its place; all says that background processes must give way, too.
func (p *pool) evict(all bool) {
	for _, c := range p.conns {
		switch {
		case c.spare != nil:
			go c.spare.discard()
			c.spare = nil
			return
		case all && len(c.linger) > 0:
			go func(ch *channel) { _ = ch.Close() }(c.linger[0])
			c.linger = c.linger[1:]
			return
		}
	}
}

// release gives a place back; full says that the server refused it. It returns how many are used.
func (p *pool) release(c *conn, full bool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.used--
	if full {
		c.limit, c.rejected = max(c.used, 1), time.Now()
	}
	p.signal()
	return c.used
}

func (p *pool) signal() {
	close(p.wake)
	p.wake = make(chan struct{})
}

// drop takes a connection away that cannot be used, before its end was noticed.
func (p *pool) drop(c *conn) {
	p.mu.Lock()
	p.conns = slices.DeleteFunc(p.conns, func(o *conn) bool { return o == c })
	p.mu.Unlock()
	c.lose()
}

func (p *pool) remove(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = slices.DeleteFunc(p.conns, func(o *conn) bool { return o == c })
	p.orphans = append(p.orphans, c.name)
	p.signal()
}

// bury ends what earlier connections left: their control shells do it, too, but may not have noticed yet, or be gone.
func (p *pool) bury(c *conn) {
	p.mu.Lock()
	orphans := p.orphans
	p.orphans = nil
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(p.backend.life, abandonTimeout)
	defer cancel()
	for _, name := range orphans {
		if _, err := c.control.ask(ctx, "a", name+"_", 0, ""); err != nil {
			p.mu.Lock()
			p.orphans = append(p.orphans, name)
			p.mu.Unlock()
		}
	}
}

// dial makes one more connection for all who wait, so it goes on when one of them gives up.
func (p *pool) dial(a *attempt) {
	c, err := p.connect()
	p.mu.Lock()
	p.attempt, a.err = nil, err
	closed := p.closed
	switch {
	case err != nil:
		p.pause = time.Now().Add(redialPause)
	case !closed:
		p.conns = append(p.conns, c)
		p.last = &c.facts
	}
	close(a.done) // before who waits is woken: a failure is theirs, too
	p.signal()
	p.mu.Unlock()
	switch {
	case err == nil && closed:
		c.lose()
	case err == nil:
		go c.watch()
		p.bury(c)
		p.refill(c, false)
	}
}

const redialPause = 2 * time.Second

// facts are those of the host; it is asked only once.
func (p *pool) facts(ctx context.Context) (facts, error) {
	p.mu.Lock()
	last, closed := p.last, p.closed
	p.mu.Unlock()
	if closed {
		return facts{}, errClosed()
	}
	if last != nil {
		return *last, nil
	}
	c, err := p.get(ctx)
	if err != nil {
		return facts{}, err
	}
	p.release(c, false)
	return c.facts, nil
}

func (p *pool) interval() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.every
}

// begin and end count the commands of a connection. One that is not kept is closed when its last command has ended.
func (p *pool) begin(c *conn) {
	p.mu.Lock()
	c.jobs++
	p.mu.Unlock()
}

func (p *pool) end(c *conn) {
	p.mu.Lock()
	c.jobs--
	last := c.jobs == 0 && !p.backend.config.Persistent
	if last {
		p.conns = slices.DeleteFunc(p.conns, func(o *conn) bool { return o == c })
	}
	p.mu.Unlock()
	if last {
		c.lose()
	}
}

// keep holds a channel open whose output a background process may still write to: closing it would kill that one with
// its next write. It is given up when its place is needed and no more connections are made.
func (p *pool) keep(ch *channel) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := ch.conn
	c.linger = append(slices.DeleteFunc(c.linger, func(o *channel) bool {
		select {
		case <-o.ended:
			return true
		default:
			return false
		}
	}), ch)
}

// close ends everything on the far side and then the connections.
func (p *pool) close(ctx context.Context) {
	p.mu.Lock()
	p.closed = true
	conns := slices.Clone(p.conns)
	p.signal()
	p.mu.Unlock()
	var wg sync.WaitGroup
	for _, c := range conns {
		wg.Go(func() {
			if _, err := c.killAll(ctx); err != nil && !errors.Is(err, errControl) {
				p.backend.log.Warn().Err(err).Msg("what ran there is not confirmed as ended")
			}
			c.lose()
		})
	}
	wg.Wait()
}

func fail(err error, target string) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*job.Error](err); ok {
		return err
	}
	return job.Errorf(job.Unavailable, "%s: %w", target, err).WithHint("try again; `cmd-exec-mcp doctor` shows how the host is reached")
}
