package wasm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/runtime/job"
)

// Begin implements hooks.Hook: pre_exec. A failure refuses the command (kind Unavailable or Busy), or with
// on_error="allow" lets it run unchanged, with a note.
func (h *Hook) Begin(ctx context.Context, req job.Request) (job.Request, hooks.Tap, error) {
	if f := h.ready(ctx); f != nil {
		if h.allow {
			return req, nil, nil
		}
		return req, nil, f.public(h.name)
	}
	t := &tap{hook: h, started: time.Now(), call: call{hook: h, req: req}}
	t.carry.Filter = t.filter
	if h.events&eventPre == 0 {
		return req, t.orNil(), nil
	}
	c := &t.call
	c.event = eventPre
	answer, f := h.do(ctx, c)
	if f != nil {
		if !h.allow {
			return req, nil, f.public(h.name)
		}
		t.call = call{hook: h, req: req, notes: []string{f.public(h.name).Error() + "; the command ran as it was"}}
		return req, t.orNil(), nil
	}
	if answer == answerDeny {
		return req, nil, h.denied(c)
	}
	edited := c.req
	tap := t.orNil()
	if answer == answerAsk {
		return req, nil, &hooks.Ask{Request: edited, Tap: tap, Question: h.question(c)}
	}
	return edited, tap, nil
}

func (h *Hook) denied(c *call) error {
	reason := c.reason
	if reason == "" {
		reason = "denied by hook " + h.name
	}
	e := &job.Error{Op: "hook " + h.name, Kind: job.Denied, Retry: "rewrite", Err: fmt.Errorf("hook %s: %s", h.name, reason)}
	e.Hint = strings.Join(c.notes, "; ")
	return e
}

func (h *Hook) question(c *call) job.Question {
	cmd := c.req.Command
	text := cmd.Script
	if len(cmd.Argv) > 0 {
		text = strings.Join(cmd.Argv, " ")
	}
	reason := c.reason
	if reason == "" {
		reason = "hook " + h.name + " asks"
	}
	return job.Question{
		Tool: c.req.Tool, Backend: c.req.Backend, Target: c.req.Target, Dir: cmd.Dir,
		Text: escape(text), Env: slices.Sorted(maps.Keys(cmd.Env)), Reason: escape(reason),
	}
}

// escape makes visible what a terminal or a reader's eye would be led astray by.
func escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Cf, r) {
			fmt.Fprintf(&b, "\\u{%x}", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
