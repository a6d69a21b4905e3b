package runtime

import (
	"context"
	"io"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/audit"
	"cmd-exec-mcp/runtime/job"
	"cmd-exec-mcp/runtime/session"
)

// start hands a prepared command to its backend and to the table that follows it.
func (e *Engine) start(ctx context.Context, p *prepared, sink job.Sink) (*session.Job, error) {
	e.typist(p)
	spec := session.Spec{
		Request: p.req, Echo: p.echo, Dir: p.moved(), Taps: p.taps, Rules: p.tool.Redact, Secrets: p.secrets,
		Timeout: p.timeout, Wait: p.wait, Assumed: p.assumed, Typist: p.typist, Part: p.part, Notes: p.notes,
		Start: func(ctx context.Context, io backends.IO) (backends.Process, error) {
			if p.runner != nil {
				return p.runner.Run(ctx, p.req.Command, io)
			}
			return p.target.backend.Start(ctx, p.req.Command, io)
		},
		Warn:  func(text string) { e.log.Warn().Str("name", "hook").Msg(e.mask(p, text)) },
		Ended: func(j *session.Job) { e.ended(p, j) },
	}
	if p.file != nil {
		spec.File = io.WriteCloser(p.file)
	}
	e.log.Info().Str("name", p.tool.logName()).Msgf("execute: %s", e.logText(p))
	j, err := e.table.Start(ctx, spec, sink)
	if err != nil {
		e.log.Error().Str("name", p.tool.logName()).Str("kind", job.KindOf(err).String()).Msgf("not started: %s: %v", e.logText(p), err)
		return nil, err
	}
	return j, nil
}

// moved is where the command runs, when that is not where the caller asked it to.
func (p *prepared) moved() string {
	if p.req.Command.Dir == p.asked {
		return ""
	}
	return p.req.Command.Dir
}

// abandon is for a request that was prepared and will not run.
func (e *Engine) abandon(p *prepared, why error) {
	if p.file != nil {
		p.file.abandon()
	}
	if p.recorded {
		e.audit.After(audit.End{ID: p.record.ID, Time: time.Now().UTC(), Error: why.Error()})
	}
	p.release()
}

// ended logs and records the end of a command.
func (e *Engine) ended(p *prepared, j *session.Job) {
	defer p.release()
	o := j.Summary()
	line := e.log.Info()
	switch {
	case o.Err != nil, o.Result.Exit.Cause == job.TimedOut:
		line = e.log.Error()
	case o.Result.Exit.Code != 0:
		line = e.log.Warn()
	}
	line = line.Str("name", p.tool.logName())
	end := audit.End{Time: time.Now().UTC(), Seconds: o.Result.Elapsed.Seconds(), Bytes: o.Result.Next}
	if o.Err != nil {
		line.Msgf("lost: %s: %v", e.logText(p), o.Err)
		end.Error = o.Err.Error()
	} else {
		line.Msgf("exit %d in %s: %s", o.Result.Exit.Code, o.Result.Elapsed.Round(time.Millisecond), e.logText(p))
		end.Exit, end.Timeout = &o.Result.Exit.Code, o.Result.Exit.Cause == job.TimedOut
	}
	if p.record != nil {
		end.ID = p.record.ID
		e.audit.After(end)
	}
}
