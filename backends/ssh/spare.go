package ssh

import (
	"context"
	"time"

	"cmd-exec-mcp/runtime/job"
)

// idleAfter is how long a shell waits for a command. Later it would be no image of the account any more: files that a
// login reads, and groups, change.
const idleAfter = 5 * time.Minute

// takeSpare returns a shell that waits, nil without one.
func (p *pool) takeSpare(ctx context.Context, login bool) *process {
	p.mu.Lock()
	var found *process
	for _, c := range p.conns {
		if c.spare != nil && c.spare.login == login {
			found, c.spare = c.spare, nil
			break
		}
	}
	p.mu.Unlock()
	if found == nil {
		return nil
	}
	select {
	case <-found.eof: // it was ended there
		found.discard()
		return nil
	default:
	}
	if !found.conn.fresh(ctx) {
		return nil
	}
	return found
}

// refill starts a shell that waits, where c has room for it and for a command besides. It is no harm when it fails.
func (p *pool) refill(c *conn, login bool) {
	p.mu.Lock()
	b := p.backend
	if p.closed || !b.config.Persistent || c.spare != nil || c.filling || p.waiting > 0 || c.used+1 >= c.limit {
		p.mu.Unlock()
		return
	}
	c.used++
	c.filling = true
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(b.life, idleAfter)
	defer cancel()
	s, err := b.newProcess(ctx, c, job.Command{Login: login}, false, false)
	if err == nil {
		s.prepared = true
		_, err = s.ch.Write([]byte(s.dialog.typed(s.dialog.setup(b.config.Env))))
	}
	p.mu.Lock()
	c.filling = false
	if err == nil && !p.closed {
		c.spare = s
	}
	p.mu.Unlock()
	if err != nil {
		if s != nil {
			s.discard()
		}
		return
	}
	time.AfterFunc(idleAfter, func() {
		p.mu.Lock()
		idle := c.spare == s
		if idle {
			c.spare = nil
		}
		p.mu.Unlock()
		if idle {
			s.discard()
		}
	})
}

// controlShell is the connection's control shell, a new one where the last has ended.
func (c *conn) controlShell(ctx context.Context) (*control, error) {
	c.controls.Lock()
	defer c.controls.Unlock()
	select {
	case <-c.dead:
		return nil, errControl
	case <-c.control.gone:
	default:
		return c.control, nil
	}
	c.pool.mu.Lock()
	c.used++
	c.pool.mu.Unlock()
	t, _, err := startControl(ctx, c)
	if err != nil {
		return nil, fail(err, c.pool.backend.config.Target)
	}
	c.control = t
	return t, nil
}
