package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cmd-exec-mcp/runtime/job"
	"golang.org/x/crypto/ssh"
)

// conn is one connection to the target and what runs over it.
type conn struct {
	pool     *pool
	client   *ssh.Client
	close    func() // the connection and the hops it goes through
	name     string // begins every marker of this connection
	facts    facts
	controls sync.Mutex // guards control
	control  *control
	dead     chan struct{} // closed when nothing can be sent any more

	// Guarded by pool.mu.
	used     int        // channels that are open or being opened
	limit    int        // how many the server is known to take
	rejected time.Time  // when it last took no more
	serial   int        // of the commands
	spare    *process   // an outer shell that waits
	filling  bool       // one is being started
	jobs     int        // commands that run
	linger   []*channel // held open for background processes that still print

	mu    sync.Mutex
	heard time.Time // wall clock: the monotonic one stands still while a laptop sleeps
}

// Servers take ten sessions on a connection by default, and free a place only some time after its end.
const maxChannels = 8

// channel is a session channel.
type channel struct {
	ssh.Channel
	conn   *conn
	exited chan struct{} // closed when the exit status is known or the channel has ended
	ended  chan struct{} // closed when the channel has ended on both sides

	// Set before exited is closed.
	known  bool
	status int
	signal string
}

// errNotSent means that nothing reached the far side, so that another connection may be tried.
var errNotSent = errors.New("the connection was lost before the command was sent")

// errFull means that the server takes no more channels on this connection.
var errFull = errors.New("the server takes no more sessions on this connection")

// errSingle is errFull of a connection on which nothing but the control shell runs: if it stays so, the server takes one
// session on a connection.
var errSingle = fmt.Errorf("%w beside one", errFull)

// open opens a session channel in a place that was reserved by pool.get, and gives the place back when it fails.
func (c *conn) open(ctx context.Context) (*channel, error) {
	type answer struct {
		ch   ssh.Channel
		reqs <-chan *ssh.Request
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		ch, reqs, err := c.client.OpenChannel("session", nil)
		got <- answer{ch, reqs, err}
	}()
	select {
	case a := <-got:
		if a.err == nil {
			return c.follow(a.ch, a.reqs), nil
		}
		if refusal, ok := errors.AsType[*ssh.OpenChannelError](a.err); ok {
			alone := c.pool.release(c, true) <= 1
			if refusal.Reason == ssh.Prohibited {
				return nil, job.Errorf(job.Denied, "%s refuses to run commands: %s", c.pool.backend.config.Target, refusal.Message).
					WithHint("the server's administrator decides: PermitOpen, MaxSessions 0 or a restricted key forbid it")
			}
			if alone {
				return nil, errSingle
			}
			return nil, errFull
		}
		c.pool.release(c, false)
		c.pool.drop(c)
		return nil, errNotSent
	case <-ctx.Done():
		go func() {
			if a := <-got; a.err == nil {
				_ = c.follow(a.ch, a.reqs).Close()
			} else {
				c.pool.release(c, false)
			}
		}()
		return nil, contextError(ctx, c.pool.backend.config.Target)
	}
}

func (c *conn) follow(ch ssh.Channel, reqs <-chan *ssh.Request) *channel {
	s := &channel{Channel: ch, conn: c, exited: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		for r := range reqs {
			if !s.known && (r.Type == "exit-status" || r.Type == "exit-signal") {
				s.known = s.exit(r)
				if s.known {
					close(s.exited)
				}
			}
			if r.WantReply {
				_ = r.Reply(false, nil)
			}
		}
		if !s.known {
			close(s.exited)
		}
		close(s.ended)
		c.pool.release(c, false)
	}()
	return s
}

func (s *channel) exit(r *ssh.Request) bool {
	if r.Type == "exit-status" {
		var m struct{ Status uint32 }
		if ssh.Unmarshal(r.Payload, &m) != nil {
			return false
		}
		s.status = int(m.Status)
		return true
	}
	var m struct {
		Signal string
		Core   bool
		Text   string
		Lang   string
	}
	if ssh.Unmarshal(r.Payload, &m) != nil {
		return false
	}
	s.signal = m.Signal
	return true
}

// exec runs a line in the login shell. The reply is not waited for, so what follows travels with it; but dropbear
// (2022.83) now and then closes a channel whose data come while it starts the command.
func (s *channel) exec(line string) error {
	wait := bytes.Contains(s.conn.client.ServerVersion(), []byte("dropbear"))
	ok, err := s.SendRequest("exec", wait, ssh.Marshal(struct{ Line string }{line}))
	if err != nil || wait && !ok {
		return errNotSent
	}
	return nil
}

// lose ends the connection: all that waits on it ends too.
func (c *conn) lose() { c.close() }

// watch ends the connection's record when it ends.
func (c *conn) watch() {
	_ = c.client.Wait()
	close(c.dead)
	c.close()
	c.pool.remove(c)
}

// keepalives sends a sign of life each interval. Sending can block where the link is cut, so the count is kept here.
func (c *conn) keepalives(interval time.Duration, count int) {
	if interval <= 0 {
		return
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	answers := make(chan error, 1)
	for missed, waiting := 0, false; ; {
		select {
		case <-c.dead:
			return
		case err := <-answers:
			waiting, missed = false, 0
			if err == nil {
				c.hear()
			}
		case <-tick.C:
			if waiting {
				if missed++; missed >= count {
					c.pool.backend.log.Warn().Dur("interval", interval).Int("missed", missed).Msg("connection lost")
					c.lose()
					return
				}
				continue
			}
			waiting = true
			go func() { answers <- c.ping() }()
		}
	}
}

func (c *conn) ping() error {
	_, _, err := c.client.SendRequest("keepalive@openssh.com", true, nil)
	return err
}

func (c *conn) hear() {
	c.mu.Lock()
	c.heard = time.Now().Round(0)
	c.mu.Unlock()
}

// fresh says whether the connection may be used without asking: one that has been silent for long, as after a sleep, is
// asked first, so that a command is not sent into nowhere.
func (c *conn) fresh(ctx context.Context) bool {
	c.mu.Lock()
	silent := time.Since(c.heard)
	c.mu.Unlock()
	if interval := c.pool.interval(); interval <= 0 || silent < 2*interval {
		return true
	}
	answer := make(chan error, 1)
	go func() { answer <- c.ping() }()
	select {
	case err := <-answer:
		if err == nil {
			c.hear()
			return true
		}
	case <-time.After(freshTimeout):
	case <-ctx.Done():
		return true
	}
	c.pool.drop(c)
	return false
}

const freshTimeout = 5 * time.Second

func contextError(ctx context.Context, target string) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return job.Errorf(job.Canceled, "the call was cancelled")
	}
	return job.Errorf(job.Timeout, "%s did not answer in time, and nothing was started", target).WithHint("give a longer timeout, or see `cmd-exec-mcp doctor` for what is slow")
}
