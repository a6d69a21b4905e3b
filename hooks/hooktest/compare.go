package hooktest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"

	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/hooks/wasm"
	"cmd-exec-mcp/runtime/job"
)

// before runs pre_exec and says what it changed.
func before(ctx context.Context, h *wasm.Hook, c Case) Want {
	old := c.request()
	req, tap, err := h.Begin(ctx, old.Clone())
	var w Want
	if ask, ok := errors.AsType[*hooks.Ask](err); ok {
		w.Ask = &ask.Question.Reason
		req, tap = ask.Request, ask.Tap
	} else if err != nil {
		return failed(err)
	}
	if req.Command.Script != old.Command.Script && req.Command.Argv == nil {
		w.Command = &req.Command.Script
	}
	if !slices.Equal(req.Command.Argv, old.Command.Argv) {
		w.Argv = req.Command.Argv
	}
	if req.Command.Dir != old.Command.Dir {
		w.Cwd = &req.Command.Dir
	}
	if req.Timeout != old.Timeout {
		ms := req.Timeout.Milliseconds()
		w.Timeout = &ms
	}
	w.Env = changes(old.Command.Env, req.Command.Env)
	if tap != nil {
		exit, err := tap.End(ctx, job.Exit{})
		w.Notes = exit.Notes
		if err != nil {
			return failed(err)
		}
	}
	return w
}

// changes is what differs between two environments; a variable that went is nil.
func changes(before, after map[string]string) map[string]*string {
	diff := map[string]*string{}
	for name, value := range after {
		if old, ok := before[name]; !ok || old != value {
			diff[name] = &value
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			diff[name] = nil
		}
	}
	if len(diff) == 0 {
		return nil
	}
	return diff
}

// failed is a refusal or a failure as a Want.
func failed(err error) Want {
	text := err.Error()
	if job.KindOf(err) == job.Denied {
		_, text, _ = strings.Cut(text, ": ")
		return Want{Deny: &text}
	}
	if _, class, ok := strings.Cut(text, "failed: "); ok {
		text = class
	}
	return Want{Error: &text}
}

// compare says how got differs from what a case wants; "" if it does not. Of a message, a part is enough.
func compare(want, got Want) string {
	for _, pair := range [][2]**string{{&want.Deny, &got.Deny}, {&want.Ask, &got.Ask}, {&want.Error, &got.Error}} {
		if *pair[0] != nil && *pair[1] != nil && strings.Contains(**pair[1], **pair[0]) {
			*pair[0] = *pair[1]
		}
	}
	return difference("it does not do what is wanted", want, got)
}

// difference shows two outcomes one above the other; "" if they are equal.
func difference(what string, want, got Want) string {
	if len(want.Env) == 0 {
		want.Env = nil
	}
	if reflect.DeepEqual(want, got) {
		return ""
	}
	a, _ := plain(want)
	b, _ := plain(got)
	return what + "\n  want " + string(a) + "\n  got  " + string(b)
}
