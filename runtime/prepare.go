package runtime

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/runtime/audit"
	"cmd-exec-mcp/runtime/job"
	"cmd-exec-mcp/runtime/policy"
	"cmd-exec-mcp/runtime/session"
)

// prepared is a request that may start: resolved, changed by the hooks, allowed by policy.
type prepared struct {
	tool     *tool
	target   target
	session  *session.Job    // set: run in this session's sandbox
	runner   backends.Runner // of that session
	req      job.Request
	echo     string
	asked    string   // the working directory as it came
	asks     []string // what hooks want a person to decide; asked once, with policy's own question
	taps     []session.Tap
	typist   session.Typist
	secrets  []string
	timeout  time.Duration
	assumed  bool
	wait     time.Duration
	waiter   session.Waiter
	file     *outputFile // nil: none
	commands []byte      // the call's stdin, where a shell runs it
	record   *audit.Record
	recorded bool   // it was written, and waits for its end
	release  func() // gives the backend and the hooks back
	notes    []string
	part     int
}

// prepare takes a call up to its start. What it returns is either run or abandoned.
func (e *Engine) prepare(ctx context.Context, req job.Request, sink job.Sink) (*prepared, error) {
	p := &prepared{req: req.Clone(), echo: echo(req), asked: req.Command.Dir, release: func() {}}
	p.req.Job = session.NewID("s")
	if err := e.pass(ctx, p, sink); err != nil {
		e.abandon(p, err)
		return nil, err
	}
	return p, nil
}

// pass is the order of one call up to its start:
// resolve, policy on the text as it came, hooks, and if they changed anything resolve and policy again.
func (e *Engine) pass(ctx context.Context, p *prepared, sink job.Sink) error {
	if err := e.find(ctx, p); err != nil {
		return err
	}
	if err := e.limits(p); err != nil {
		return err
	}
	if err := e.resolve(ctx, p); err != nil {
		return err
	}
	decision := e.decide(ctx, p)
	if decision.Verdict == policy.Deny {
		return e.refuse(p, decision.Err())
	}
	p.req.Command.Script = decision.Text
	changed, err := e.begin(ctx, p)
	if err != nil {
		return err
	}
	if changed {
		if err := e.resolve(ctx, p); err != nil {
			return err
		}
		decision = e.decide(ctx, p)
		p.req.Command.Script = decision.Text
	}
	if err := e.permit(ctx, p, decision, sink); err != nil {
		return err
	}
	return e.complete(ctx, p)
}

func echo(req job.Request) string {
	if len(req.Command.Argv) > 0 {
		return strings.Join(req.Command.Argv, " ")
	}
	return req.Command.Script
}

// find looks up the tool, its backend, and for a command tool the command.
func (e *Engine) find(ctx context.Context, p *prepared) (err error) {
	if p.tool, err = e.tool(p.req.Tool); err != nil {
		return err
	}
	if p.tool.Command != nil {
		p.req.Command.Script, p.req.Command.Argv, err = p.tool.Command(ctx, p.req.Args)
		if err != nil {
			return err
		}
		p.req.Command.Dir, p.asked = p.tool.Dir, p.tool.Dir
		p.echo = echo(p.req)
	}
	if p.req.Session != "" {
		err = e.findRunner(p)
	} else {
		p.target, err = p.tool.target(p.req.Target)
		p.req.Target = p.target.name
	}
	if err != nil {
		return err
	}
	release, ok := p.tool.hold(p.target)
	if !ok {
		return job.Errorf(job.Unavailable, "the config is being reloaded").WithHint("call again")
	}
	p.release = release
	return needsDir(p.tool, p.target, p.req)
}

func (e *Engine) findRunner(p *prepared) error {
	j, err := e.table.Get(p.req.Tool, p.req.Session)
	if err != nil {
		return err
	}
	runner, ok := j.Process().(backends.Runner)
	if !ok {
		return job.Errorf(job.Unsupported, "this session is no sandbox that takes further commands").
			WithHint("use action=\"send\" to type into it, or start another command")
	}
	p.session, p.runner = j, runner
	p.target, err = p.tool.target(j.Request().Target)
	return err
}

func needsDir(t *tool, target target, req job.Request) error {
	if req.Command.Dir != "" || req.Session != "" || target.backend.Properties().Isolated || t.Command != nil {
		return nil
	}
	return job.Errorf(job.Invalid, "cwd is required").WithHint("give the absolute path of the folder the command is to run in")
}

// limits turns what was asked into what will be: timeout, wait, stdin.
func (e *Engine) limits(p *prepared) (err error) {
	d, req := p.tool.generation.config.Defaults, &p.req
	if p.waiter, err = session.NewWaiter(req.WaitFor); err != nil {
		return err
	}
	for name := range req.Command.Env {
		if !envName.MatchString(name) {
			return job.Errorf(job.Invalid, "%q is no name of a variable", name).WithHint("names are letters, digits and underscores, not beginning with a digit")
		}
		if strings.ContainsRune(req.Command.Env[name], 0) {
			return job.Errorf(job.Invalid, "the value of %s holds a NUL byte", name).WithHint("no system takes one in a variable; send it on stdin")
		}
	}
	p.timeout = req.Timeout
	if p.timeout == 0 {
		p.timeout, p.assumed = d.Timeout, true
		if req.Detach {
			p.timeout = job.Unlimited
		}
	}
	if limit := d.MaxTimeout; limit > 0 && (p.timeout > limit || p.timeout == job.Unlimited && !req.Detach) {
		if !p.assumed {
			p.notes = append(p.notes, fmt.Sprintf("timeout is %s: the owner allows no more", limit))
		}
		p.timeout = limit
	}
	req.Command.Timeout = p.timeout
	p.wait = waitOf(p.tool, *req)
	if soon := p.timeout - p.timeout/10; p.assumed && p.waiter.Pattern() && p.timeout > 0 && (p.wait < 0 || p.wait > soon) {
		p.wait = soon // who waits for a prompt wants the session, not the end that is only the default
	}
	if req.Command.Stdin == job.StdinNull && (req.Detach || req.Command.TTY != nil || p.waiter.Pattern()) {
		req.Command.Stdin = job.StdinPipe
	}
	return nil
}

func waitOf(t *tool, req job.Request) time.Duration {
	wait := t.generation.config.Defaults.Wait
	switch {
	case t.Kind == job.CommandTool: // its schema has nothing to read a session with
		return job.Unlimited
	case req.Wait != 0:
		return req.Wait
	case wait != 0:
		return wait
	case req.Watched:
		return job.Unlimited
	}
	return handOver
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// resolve asks the backend what will really run.
func (e *Engine) resolve(ctx context.Context, p *prepared) error {
	if p.timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, p.timeout)
		defer cancel()
		ctx = limited
	}
	resolved, err := p.target.backend.Resolve(ctx, p.req.Command)
	if err != nil {
		return err
	}
	properties := p.target.backend.Properties()
	p.req.Command, p.req.Backend = resolved, properties.Name
	if p.req.Encoding == "" {
		p.req.Encoding = properties.Encoding
	}
	return nil
}

// begin runs the hooks in their order. It reports whether they changed the request.
func (e *Engine) begin(ctx context.Context, p *prepared) (bool, error) {
	before := p.req.Clone()
	for _, h := range p.tool.hooks {
		req, tap, err := h.Begin(ctx, p.req.Clone())
		if ask, ok := errors.AsType[*hooks.Ask](err); ok {
			req, tap, err = ask.Request, ask.Tap, nil
			p.asks = append(p.asks, fmt.Sprintf("hook %s: %s", h.Name, visible(e.mask(p, ask.Question.Reason))))
		}
		if err != nil {
			return false, e.hookRefused(p, err)
		}
		// A hook edits the command; which tool, target and session it runs in is not its to change.
		p.req.Command, p.req.Timeout, p.req.Encoding, p.req.Tags = req.Command, req.Timeout, req.Encoding, req.Tags
		if tap != nil {
			p.taps = append(p.taps, session.Tap{Name: h.Name, Allow: h.Allow, Tap: tap})
		}
	}
	if p.req.Timeout != before.Timeout {
		p.timeout, p.assumed = p.req.Timeout, false
		p.req.Command.Timeout = p.timeout
	}
	return !reflect.DeepEqual(before, p.req), nil
}

// visible is a text in one line, with what a terminal or a reader's eye would be led astray by spelled out.
func visible(s string) string {
	quoted := strconv.Quote(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// hookRefused records a hook's denial; other failures are not decisions. A hook may quote what it saw.
func (e *Engine) hookRefused(p *prepared, err error) error {
	said, ok := errors.AsType[*job.Error](err)
	if !ok {
		return err
	}
	masked := *said
	masked.Err, masked.Hint = errors.New(e.mask(p, said.Error())), e.mask(p, said.Hint)
	if said.Kind == job.Denied {
		return e.refuse(p, &masked)
	}
	return &masked
}

// complete fills in what only an allowed command needs.
func (e *Engine) complete(ctx context.Context, p *prepared) error {
	p.secrets = slices.Concat(p.tool.secrets, e.callSecrets(p))
	if p.req.OutputFile == "" {
		return nil
	}
	file, err := e.openOutput(p)
	if err != nil {
		return err
	}
	p.file = file
	return nil
}

// callSecrets are the values of the call's own variables that must not appear in output.
func (e *Engine) callSecrets(p *prepared) []string {
	var names, values []string
	for name := range p.req.Command.Env {
		names = append(names, name)
	}
	secret := append(p.tool.Redact.EnvNames(names), p.req.Command.Secret...)
	for _, name := range secret {
		values = append(values, p.req.Command.Env[name])
	}
	return values
}
