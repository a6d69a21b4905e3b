package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"cmd-exec-mcp/runtime/job"
)

const (
	grace      = 500 * time.Millisecond // for calls on their way when the client is gone
	afterGrace = 2 * time.Second        // for them to end once they were cancelled
)

// errShutdown is the cause of the cancel that a call gets at the end.
var errShutdown = errors.New("the server is shutting down")

// Serve speaks to one client until in ends, ctx ends or out breaks, and returns nil but for an error of in or out. Calls on
// their way then have half a second to end and be answered; the rest are cancelled and waited for, up to two seconds. The
// engine is not closed. A Read or Write that hangs for ever is left behind: closing in and out is the caller's business.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	base, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	c, err := s.connect(base, out)
	if err != nil {
		return err
	}
	defer c.disconnect()

	in, release := pollable(in)
	defer release()
	ended := make(chan error, 1)
	go func() { ended <- c.read(in) }()
	select {
	case err = <-ended:
	case <-ctx.Done():
	case <-c.out.broken:
		err = c.out.fault()
	}
	c.drain(cancel)
	return err
}

// read is the read loop. Requests are begun only when no further message has arrived, so that a cancel in the same write as
// its call always comes in time.
func (c *conn) read(in io.Reader) error {
	l := &lines{in: in, max: maxLine}
	for {
		if !l.ready() {
			if !c.launch() {
				return job.Errorf(job.Unavailable, "the client sends but does not read")
			}
		}
		line, err := l.next()
		switch {
		case errors.Is(err, errLong):
			c.refuse(&fault{null, invalidRequest, err.Error()})
		case errors.Is(err, io.EOF):
			c.launch()
			return nil
		case err != nil:
			c.launch()
			return job.Errorf(job.Unavailable, "reading messages: %w", err)
		default:
			if line = bytes.TrimSpace(line); len(line) > 0 {
				c.message(line)
			}
		}
	}
}

// message looks at one line. It never blocks.
func (c *conn) message(line []byte) {
	m, problem := parse(line)
	switch {
	case problem != nil: // of a notification nobody waits for an answer
		problem.id = bytes.Clone(problem.id)
		if m.id != nil || m.method == "" || problem.code == parseError {
			c.refuse(problem)
		}
	case m.response:
		c.answered(m.clone())
	case m.id != nil:
		c.request(m.clone())
	case m.method == "notifications/cancelled":
		c.cancel(m.param("requestId"))
	}
}

// drain ends the connection's calls.
func (c *conn) drain(cancel context.CancelCauseFunc) {
	done := c.stop()
	select {
	case <-done:
		return
	case <-time.After(grace):
	}
	cancel(errShutdown)
	if c.server.ending != nil {
		c.server.ending()
	}
	select {
	case <-done:
	case <-time.After(afterGrace):
		c.server.log.Error().Msg("calls did not end after they were cancelled")
	}
}
