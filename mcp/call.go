package mcp

import (
	"context"
	"fmt"
	"runtime/debug"

	"cmd-exec-mcp/runtime/job"
)

// call is one tools/call on its way: what was asked, who listens, and where the answer goes.
type call struct {
	engine Engine
	tool   *tool
	args   *args
	caller
	out *reply
}

// caller is who called, and who listens while the call lasts.
type caller struct {
	sink    job.Sink
	watched bool   // the client shows progress
	client  string // what it calls itself
}

// call answers a tools/call: it writes one JSON object and tells whether that is an error. It does not panic, whatever the
// engine does.
func (s *Server) call(ctx context.Context, t *tool, raw []byte, from caller, out *reply) (isError bool) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error().Str("tool", t.Name).Interface("panic", p).Bytes("stack", debug.Stack()).Msg("a call panicked")
			out.buf = out.buf[:0]
			out.failure(job.Errorf(job.Internal, "the server failed on this call: %v", p).WithHint("the server goes on; its log says more"), job.Result{})
			isError = true
		}
	}()
	c := &call{engine: s.engine, tool: t, args: t.parse(raw), caller: from, out: out}
	out.tool = t
	r, err := c.run(ctx)
	out.notes = c.args.notes
	if err != nil {
		out.failure(err, r.result)
		return true
	}
	r.write(out)
	return false
}

// answer is what a call came to: what to write if it went well, and what there is of a result if it did not.
type answer struct {
	result job.Result
	write  func(*reply)
}

func (c *call) run(ctx context.Context) (answer, error) {
	switch c.tool.Kind {
	case job.FileTool:
		return c.file(ctx)
	case job.CommandTool:
		req, err := c.tool.command(c.args)
		if err != nil {
			return answer{}, err
		}
		return c.exec(ctx, req)
	default:
		return c.shell(ctx)
	}
}

// shell is a call of a shell tool: without an action it runs a command, with a session it sends.
func (c *call) shell(ctx context.Context) (answer, error) {
	action, session := c.args.choice("action", c.tool.actions), c.args.str("session_id")
	c.out.fields = c.tool.fields(c.args)
	if action == "" && session != "" {
		action = "send"
	}
	if session == "" && action != "" && action != "list" {
		c.args.fail("session_id is required for %s", action).WithHint(`action="list" shows the sessions; leave action out to run a command`)
	}
	if c.args.err != nil {
		return answer{}, c.args.err
	}
	switch action {
	case "read":
		r := c.tool.read(c.args)
		return c.session(func() (job.Result, error) { return c.engine.SessionRead(ctx, r) }, func(o *reply, r job.Result) { o.result(r, true) })
	case "kill":
		return c.session(func() (job.Result, error) { return c.engine.SessionKill(ctx, c.tool.Name, session) }, (*reply).killed)
	case "list":
		list := c.engine.Sessions(c.tool.Name)
		return answer{write: func(o *reply) { o.sessions(list) }}, nil
	case "send":
		in, err := c.tool.send(c.args)
		if err != nil {
			return answer{}, err
		}
		return c.session(func() (job.Result, error) { return c.engine.SessionSend(ctx, in) }, (*reply).sent)
	}
	req, err := c.tool.request(c.args)
	if err != nil {
		return answer{}, err
	}
	req.Session = session // run: in this session's sandbox
	return c.exec(ctx, req)
}

// session is an exchange with a session; the arguments are all read by now.
func (c *call) session(act func() (job.Result, error), write func(*reply, job.Result)) (answer, error) {
	if c.args.err != nil {
		return answer{}, c.args.err
	}
	r, err := act()
	if err == nil {
		r.Session = c.args.str("session_id") // the engine leaves it out when there is nothing more to read
	}
	return answer{r, func(o *reply) { write(o, r) }}, err
}

func (c *call) exec(ctx context.Context, req job.Request) (answer, error) {
	req.Watched, req.Client = c.watched, c.client
	var names []string
	var several bool
	if req.Session == "" {
		names, several = c.targets()
	}
	if c.args.err != nil {
		return answer{}, c.args.err
	}
	if several || req.Parallel || len(req.Commands) > 0 {
		list, err := c.engine.ExecAll(ctx, split(req, names), c.sink)
		return answer{write: func(o *reply) { o.outcomes(list) }}, err
	}
	if len(names) == 1 {
		req.Target = names[0]
	}
	r, err := c.engine.Exec(ctx, req, c.sink)
	if req.Detach {
		return answer{r, func(o *reply) { o.detached(r) }}, err
	}
	return answer{r, func(o *reply) { o.result(r, false) }}, err
}

// split makes one request per target.
func split(req job.Request, names []string) []job.Request {
	if len(names) == 0 {
		return []job.Request{req}
	}
	list := make([]job.Request, 0, len(names))
	for _, name := range names {
		one := req.Clone()
		one.Target = name
		list = append(list, one)
	}
	return list
}

func unknownTool(name string) string { return fmt.Sprintf("tool %q not found", short(name)) }
