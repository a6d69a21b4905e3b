package runtime

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"cmd-exec-mcp/runtime/audit"
	"cmd-exec-mcp/runtime/job"
	"cmd-exec-mcp/runtime/policy"
	"cmd-exec-mcp/runtime/session"
)

// This file is the one check point: every command of every backend passes decide and then refuse or permit.

// decide asks policy about the request as it stands. It also keeps what the audit needs.
func (e *Engine) decide(ctx context.Context, p *prepared) policy.Decision {
	c := p.req.Command
	in := policy.Input{
		Tool: p.req.Tool, Backend: p.req.Backend, Shell: c.Shell, Dir: c.Dir,
		Text: c.Script, Argv: c.Argv, Env: c.Env, Stdin: c.Stdin != job.StdinNull, Home: homeOf(p.target),
	}
	if p.req.OutputFile != "" {
		in.Writes = []string{p.req.OutputFile}
	}
	began := time.Now()
	d := p.tool.Policy.Check(ctx, in)
	if c.Stdin == job.StdinBytes && d.Verdict != policy.Deny {
		d = judgeInput(ctx, p, in, d)
	}
	p.record = e.recordOf(p, d, time.Since(began))
	return d
}

// homeOf is what ~ stands for where the target's files are this host's.
func homeOf(t target) string {
	if t.backend.Properties().Isolated {
		return ""
	}
	home, _ := os.UserHomeDir()
	return home
}

// judgeInput checks the call's stdin where a shell would run it: it is command text then, and data for any other program.
// Nobody is asked about it, since a question shows the command only.
func judgeInput(ctx context.Context, p *prepared, in policy.Input, d policy.Decision) policy.Decision {
	reader := p.tool.Policy.Reader(in)
	if reader == nil {
		return d
	}
	p.commands = p.req.Command.Input
	pass, _, typed := reader.Type(ctx, p.req.Command.Input)
	if typed.Verdict == policy.Allow {
		var rest []byte
		rest, typed = reader.EOF(ctx)
		pass = append(pass, rest...)
	}
	if typed.Verdict != policy.Allow {
		typed.Verdict, typed.Text = policy.Deny, d.Text
		return typed
	}
	p.req.Command.Input = pass
	return d
}

func (e *Engine) recordOf(p *prepared, d policy.Decision, took time.Duration) *audit.Record {
	if e.audit == nil {
		return nil
	}
	c := p.req.Command
	r := &audit.Record{
		ID: session.NewID("a"), Time: time.Now().UTC(), Session: p.req.Session, Tool: p.req.Tool, Backend: p.req.Backend, Target: p.req.Target,
		Dir: c.Dir, Shell: c.Shell, Policy: d.Fingerprint, Text: e.mask(p, echo(p.req)),
		Stdin: e.mask(p, string(p.commands)), EnvNames: slices.Sorted(maps.Keys(c.Env)), Decision: strings.ToLower(d.Verdict.String()), CheckUS: took.Microseconds(),
	}
	for _, x := range d.Execs {
		r.Execs = append(r.Execs, audit.Exec{Name: x.Name, Via: x.Via, Kind: x.Kind.String()})
	}
	for _, f := range d.Findings {
		r.Findings = append(r.Findings, audit.Finding{Rule: f.Rule, Command: f.Command, Via: f.Via, At: f.At})
	}
	return r
}

// unasked is the denial of a command that a person would have to allow.
func unasked(p *prepared, d policy.Decision) *job.Error {
	if denied := d.Err(); denied != nil {
		return denied
	}
	return &job.Error{
		Op: "hook", Kind: job.Denied, Retry: "ask", Policy: d.Fingerprint,
		Err: fmt.Errorf("a person has to allow this and none did: %s", strings.Join(p.asks, "; ")), Hint: "show the command to the user",
	}
}

// refuse records a denial and returns it.
func (e *Engine) refuse(p *prepared, denied *job.Error) error {
	e.log.Warn().Str("name", p.tool.logName()).Msgf("denied: %s: %s", e.logText(p), e.mask(p, denied.Error()))
	if p.record != nil {
		p.record.Decision = "deny"
		if err := e.audit.Before(*p.record, echo(p.req)); err != nil {
			return err
		}
	}
	return denied
}

// permit lets the final text through: at once, or after a person said yes. The audit line is written before anything runs.
func (e *Engine) permit(ctx context.Context, p *prepared, d policy.Decision, sink job.Sink) error {
	if d.Verdict == policy.Deny {
		return e.refuse(p, d.Err())
	}
	if d.Verdict == policy.Ask || len(p.asks) > 0 {
		answer, err := sink.Ask(ctx, question(p, d))
		if err != nil || answer != job.Yes {
			return e.refuse(p, unasked(p, d))
		}
		if p.record != nil {
			p.record.Approver, p.record.Decision = "user", "allow"
		}
	}
	if p.record != nil {
		return e.audit.Before(*p.record, echo(p.req))
	}
	return nil
}

func question(p *prepared, d policy.Decision) job.Question {
	q := job.Question{
		Tool: p.req.Tool, Backend: p.req.Backend, Target: p.req.Target, Dir: p.req.Command.Dir,
		Text: fmt.Sprintf("%+q", echo(p.req)), Env: slices.Sorted(maps.Keys(p.req.Command.Env)), Findings: d.Findings,
	}
	for _, x := range d.Execs {
		q.Commands = append(q.Commands, x.Name)
	}
	reasons := p.asks
	for _, f := range d.Findings {
		reasons = append(reasons, f.Message)
	}
	q.Reason = strings.Join(reasons, "; ")
	return q
}

// mask takes the secrets of the server and of the call out of a text.
func (e *Engine) mask(p *prepared, text string) string {
	return p.tool.Redact.String(text, slices.Concat(p.tool.secrets, e.callSecrets(p)))
}

// logText is the command as the log may show it: one line, without secrets.
func (e *Engine) logText(p *prepared) string {
	text := e.mask(p, p.echo)
	const most = 1000
	if len(text) > most {
		text = text[:most] + "..."
	}
	return text
}
