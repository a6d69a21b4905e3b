package mcp

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	maxRequests = 4096             // on their way at once; the engine says "busy" long before
	stuck       = 30 * time.Second // without a free place: the client sends, but does not read what comes back
)

// conn is one connection. Requests run in goroutines of their own and are known by the bytes of their id from the moment
// their line was read.
type conn struct {
	server  *Server
	ctx     context.Context // of all requests
	out     *writer
	session *session
	places  chan struct{}
	idle    chan func()   // to a goroutine that has nothing to do
	spare   chan struct{} // one for each of those

	pending []func() // requests that were read and not begun; the read loop's own

	mu      sync.Mutex
	running map[string]*request
	asked   map[string]chan message // questions to the client, by the id of their request
	closed  bool
	busy    sync.WaitGroup
}

type request struct {
	message
	ctx       context.Context
	cancel    context.CancelFunc
	cancelled bool // by the client, which wants no response then
}

// connect registers a connection with the library, which sends it notifications.
func (s *Server) connect(ctx context.Context, w interface{ Write([]byte) (int, error) }) (*conn, error) {
	c := &conn{
		server:  s,
		out:     newWriter(w),
		places:  make(chan struct{}, maxRequests),
		idle:    make(chan func()),
		spare:   make(chan struct{}, 8),
		running: map[string]*request{},
		asked:   map[string]chan message{},
		session: newSession(fmt.Sprintf("stdio-%d", s.conns.Add(1))),
	}
	c.ctx = s.lib.WithContext(ctx, c.session)
	if err := s.lib.RegisterSession(c.ctx, c.session); err != nil {
		return nil, err
	}
	go c.notify()
	return c, nil
}

func (c *conn) disconnect() {
	c.server.lib.UnregisterSession(c.ctx, c.session.id)
	close(c.session.ended)
	c.out.closed.Store(true)
}

// request takes note of a request; launch begins it.
func (c *conn) request(m message) {
	r := &request{message: m}
	r.ctx, r.cancel = context.WithCancel(c.ctx)
	c.mu.Lock()
	_, twice := c.running[string(m.id)]
	if !twice && !c.closed {
		c.running[string(m.id)] = r
	}
	closed := c.closed
	c.mu.Unlock()
	switch {
	case closed:
		r.cancel()
	case twice:
		r.cancel()
		c.refuse(&fault{m.id, invalidRequest, "a request with this id is on its way"})
	case m.method == "initialize":
		// What follows in the input must find the session initialized, so this one is not left to a goroutine.
		response := c.forward(r)
		c.pending = append(c.pending, func() { c.finish(r, response) })
	default:
		c.pending = append(c.pending, func() { c.serve(r) })
	}
}

// refuse answers what is no request.
func (c *conn) refuse(f *fault) {
	c.server.log.Debug().Int("code", f.code).Msg(f.text)
	c.pending = append(c.pending, func() { c.out.send(appendError(nil, f.id, f.code, f.text)) })
}

// launch begins what is pending. It is false when there was no place for too long.
func (c *conn) launch() bool {
	for _, work := range c.pending {
		if !c.place() {
			return false
		}
		c.mu.Lock()
		closed := c.closed
		if !closed {
			c.busy.Add(1)
		}
		c.mu.Unlock()
		if closed {
			break
		}
		c.server.load(1)
		select {
		case c.idle <- work:
		default:
			go c.work(work)
		}
	}
	c.pending = c.pending[:0]
	return true
}

// work does one request after another. A goroutine that is used again has a stack that fits; growing a new one costs
// more than reading and writing the messages.
func (c *conn) work(do func()) {
	for {
		c.do(do)
		select {
		case c.spare <- struct{}{}:
		default:
			return
		}
		select {
		case do = <-c.idle:
			<-c.spare
		case <-c.session.ended:
			return
		}
	}
}

func (c *conn) do(work func()) {
	defer func() {
		<-c.places
		c.server.load(-1)
		c.busy.Done()
	}()
	work()
}

// place waits for a free place. Usually there is one, and then no timer is made.
func (c *conn) place() bool {
	select {
	case c.places <- struct{}{}:
		return true
	default:
	}
	select {
	case c.places <- struct{}{}:
		return true
	case <-time.After(stuck):
		return false
	}
}

// cancel ends a request. It gets no response; one that had not begun does not run.
func (c *conn) cancel(id []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.running[string(id)]; r != nil && r.method != "initialize" {
		r.cancelled = true
		r.cancel()
	}
}

// finish sends a response unless the client has cancelled, and frees the id.
func (c *conn) finish(r *request, response []byte) {
	c.mu.Lock()
	delete(c.running, string(r.id))
	cancelled := r.cancelled
	c.mu.Unlock()
	r.cancel()
	if !cancelled {
		c.out.send(response)
	}
}

// stop takes no more requests; the channel is closed when those on their way are done.
func (c *conn) stop() <-chan struct{} {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	done := make(chan struct{})
	go func() {
		c.busy.Wait()
		close(done)
	}()
	return done
}
