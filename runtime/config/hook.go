package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/runtime/job"
	"go.starlark.net/starlark"
)

// starHook is hook(...): a hook written in Starlark, under the same contract as one in WebAssembly.
type starHook struct {
	Before  Func   `star:"before" doc:"before(cmd), a record of command argv cwd env timeout_ms target session client tool backend shell job: returns None, a dict of those that change (env adds to what is there), deny(\"why\") or ask(\"why\")"`
	After   Func2  `star:"after" doc:"after(cmd, result), result a record of exit_code signal timed_out elapsed_ms: may return a note for the caller"`
	Filter  Func2  `star:"filter" doc:"filter(stream, line), a line with its end (the last one, or a prompt, comes without): returns the text to pass on, \"\" drops it"`
	Name    string `star:"name" doc:"what messages call it; left out: config.star"`
	OnError string `star:"on_error" doc:"when it fails: \"deny\" refuses the command and withholds output, \"allow\" goes on without it"`
}

var _ hooks.Config = (*starHook)(nil)

func newStarHook() starHook { return starHook{Name: "config.star", OnError: "deny"} }

// Validate implements hooks.Config.
func (h *starHook) Validate() error {
	if h.Before == nil && h.After == nil && h.Filter == nil {
		return job.Errorf(job.Invalid, "it does nothing").WithHint("write before=, after= or filter= with a function")
	}
	return oneOf("on_error", h.OnError, "deny", "allow")
}

// Open implements hooks.Config.
func (h *starHook) Open(context.Context, hooks.Env) (hooks.Named, error) {
	return hooks.Named{Name: h.Name, Allow: h.OnError == "allow", Hook: h}, nil
}

// Close implements hooks.Hook.
func (h *starHook) Close(context.Context) error { return nil }

// Begin implements hooks.Hook.
func (h *starHook) Begin(ctx context.Context, req job.Request) (job.Request, hooks.Tap, error) {
	tap := &starTap{hook: h, started: time.Now()}
	tap.carry.Filter = tap.filter
	edited, err := h.before(ctx, req)
	tap.cmd = commandRecord(edited)
	ask, asks := errors.AsType[*hooks.Ask](err)
	switch {
	case err == nil:
		return edited, tap.orNil(), nil
	case asks:
		ask.Tap = tap.orNil()
		return req, nil, ask
	case job.KindOf(err) == job.Denied:
		return req, nil, err
	case h.OnError == "deny":
		return req, nil, job.Errorf(job.Unavailable, "hook %s failed: %w", h.Name, err).
			WithHint("nothing was run; the server's owner can mend the hook in config.star")
	}
	tap.cmd = commandRecord(req)
	tap.note = fmt.Sprintf("hook %s failed, and the command ran as it was: %v", h.Name, err)
	return req, tap, nil
}

func (h *starHook) before(ctx context.Context, req job.Request) (job.Request, error) {
	if h.Before == nil {
		return req, nil
	}
	answer, err := h.Before(ctx, commandRecord(req))
	if err != nil || answer == nil {
		return req, err
	}
	said, ok := answer.(map[string]any)
	if !ok {
		return req, fmt.Errorf("before returned %v, not None, a dict, deny(...) or ask(...)", answer)
	}
	reason, _ := said["reason"].(string)
	switch said["decision"] {
	case "deny":
		return req, &job.Error{Op: "hook " + h.Name, Kind: job.Denied, Retry: "rewrite", Err: fmt.Errorf("hook %s: %s", h.Name, reason)}
	case "ask":
		return req, &hooks.Ask{Request: req, Question: job.Question{Reason: reason}}
	}
	return req, edit(&req, said)
}

// commandRecord is what Starlark sees of a request, by the names of the ABI's fields.
func commandRecord(req job.Request) map[string]any {
	c := req.Command
	timeout := any(nil)
	if c.Timeout > 0 {
		timeout = c.Timeout.Milliseconds()
	}
	var command, argv any = c.Script, nil
	if len(c.Argv) > 0 {
		command, argv = nil, c.Argv
	}
	return map[string]any{
		"command": command, "argv": argv, "cwd": c.Dir, "env": maps.Clone(c.Env), "timeout_ms": timeout,
		"target": req.Target, "session": req.Session, "client": req.Client, "tool": req.Tool, "backend": req.Backend,
		"shell": c.Shell, "job": req.Job,
	}
}

// edit applies what a hook returned. A command has either text or argv; a time-out can only be lowered.
func edit(req *job.Request, said map[string]any) error {
	c := &req.Command
	for name, v := range said {
		ok := false
		switch name {
		case "command":
			c.Script, ok = v.(string)
			c.Argv = nil
		case "argv":
			c.Argv, ok = words(v)
			c.Script = ""
		case "cwd":
			c.Dir, ok = v.(string)
		case "env":
			ok = addEnv(c, v)
		case "timeout_ms":
			ok = lower(req, v)
		default:
			return fmt.Errorf("before returned %q, which cannot be changed: %s", name, didYouMean(name, []string{"command", "argv", "cwd", "env", "timeout_ms"}))
		}
		if !ok {
			return fmt.Errorf("before returned %v for %s, which is no value for it", v, name)
		}
	}
	return nil
}

func words(v any) ([]string, bool) {
	list, ok := v.([]any)
	var argv []string
	for _, x := range list {
		s, isString := x.(string)
		ok = ok && isString
		argv = append(argv, s)
	}
	return argv, ok && len(argv) > 0
}

func addEnv(c *job.Command, v any) bool {
	vars, ok := v.(map[string]any)
	env := maps.Clone(c.Env)
	if env == nil {
		env = map[string]string{}
	}
	for name, x := range vars {
		s, isString := x.(string)
		ok = ok && isString
		env[name] = s
	}
	c.Env = env
	return ok
}

func lower(req *job.Request, v any) bool {
	ms, ok := v.(int64)
	d := time.Duration(ms) * time.Millisecond
	if !ok || ms <= 0 || req.Command.Timeout > 0 && d > req.Command.Timeout {
		return false
	}
	req.Timeout, req.Command.Timeout = d, d
	return true
}

// starTap is one job's part of a starHook.
type starTap struct {
	hook    *starHook
	started time.Time
	cmd     map[string]any
	carry   hooks.Carry
	out     []byte
	note    string
}

func (t *starTap) orNil() hooks.Tap {
	if t.hook.After == nil && t.hook.Filter == nil {
		return nil
	}
	return t
}

// Output implements hooks.Tap.
func (t *starTap) Output(ctx context.Context, s job.Stream, p []byte, f hooks.Flags) ([]byte, error) {
	if t.hook.Filter == nil {
		return p, nil
	}
	return t.carry.Output(ctx, s, p, f)
}

// filter hands whole lines to Starlark. What has no end yet is kept, unless the stream pauses or it grows too long.
func (t *starTap) filter(ctx context.Context, s job.Stream, in []byte, f hooks.Flags) ([]byte, int, error) {
	t.out = t.out[:0]
	for len(in) > 0 {
		end := bytes.IndexByte(in, '\n') + 1
		if end == 0 {
			if f == 0 && len(in) < hooks.MaxKeep {
				return t.out, len(in), nil
			}
			end = len(in)
		}
		answer, err := t.hook.Filter(ctx, streamName(s), string(in[:end]))
		if err != nil {
			return nil, 0, err
		}
		text, ok := answer.(string)
		if !ok {
			return nil, 0, fmt.Errorf("filter returned %v, not a text; \"\" drops a line", answer)
		}
		t.out, in = append(t.out, text...), in[end:]
	}
	return t.out, 0, nil
}

func streamName(s job.Stream) string {
	return [...]string{job.Stdout: "stdout", job.Stderr: "stderr", job.Merged: "merged"}[s]
}

// End implements hooks.Tap.
func (t *starTap) End(ctx context.Context, exit job.Exit) (job.Exit, error) {
	if t.note != "" {
		exit.Notes = append(exit.Notes, t.note)
	}
	if t.hook.After == nil {
		return exit, nil
	}
	answer, err := t.hook.After(ctx, t.cmd, map[string]any{
		"exit_code": exit.Code, "signal": exit.Signal, "timed_out": exit.Cause == job.TimedOut,
		"elapsed_ms": time.Since(t.started).Milliseconds(),
	})
	if note, ok := answer.(string); ok && err == nil && note != "" {
		exit.Notes = append(exit.Notes, note)
	}
	return exit, err
}

// verdict makes deny(...) and ask(...), which a hook's before returns.
func verdict(decision string) *starlark.Builtin {
	return starlark.NewBuiltin(decision, func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var reason string
		if err := starlark.UnpackArgs(b.Name(), args, kwargs, "reason", &reason); err != nil {
			return nil, err
		}
		return toStar(map[string]any{"decision": decision, "reason": reason})
	})
}
