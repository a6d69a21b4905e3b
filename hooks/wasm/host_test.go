package wasm

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/runtime/job"
	"github.com/rs/zerolog"
)

func request() job.Request {
	return job.Request{
		Tool: "execute_remote", Backend: "ssh", Target: "prod", Timeout: 30 * time.Second,
		Command: job.Command{Script: "pip install x", Shell: "bash", Dir: "/srv", Env: map[string]string{"B": "2", "A": "1"}, Timeout: 30 * time.Second},
	}
}

func recorded(e event) *call {
	h := &Hook{name: "h", features: features(), log: zerolog.Nop()}
	h.configure(map[string]any{"mirror": "http://m", "n": 3, "list": []any{"a"}})
	return &call{hook: h, event: e, req: request(), state: map[string]string{"k": "v"}, result: map[string]string{"exit_code": "3", "signal": ""}}
}

func TestGet(t *testing.T) {
	argv := recorded(eventPre)
	argv.req.Command.Argv, argv.req.Command.Script = []string{"ls", "", "-l"}, ""
	plain := recorded(eventPre)
	plain.req.Timeout, plain.req.Command.Timeout, plain.req.Target = job.Unlimited, 0, ""
	for _, tt := range []struct {
		name  string
		call  *call
		field uint32
		key   string
		want  string
		code  int32
	}{
		{"command", recorded(eventPre), fieldCommand, "", "pip install x", 0},
		{"command later", recorded(eventFilter), fieldCommand, "", "pip install x", 0},
		{"command with argv", argv, fieldCommand, "", "", errAbsent},
		{"argv", argv, fieldArgv, "ignored", "ls\x00\x00-l\x00", 0},
		{"argv of a text", recorded(eventPre), fieldArgv, "", "", errAbsent},
		{"shell with argv", argv, fieldShell, "", "", errAbsent},
		{"shell", recorded(eventPost), fieldShell, "", "bash", 0},
		{"cwd", recorded(eventPre), fieldDir, "", "/srv", 0},
		{"all of env", recorded(eventPre), fieldEnv, "", "A=1\x00B=2\x00", 0},
		{"one of env", recorded(eventPre), fieldEnv, "B", "2", 0},
		{"none of env", recorded(eventPre), fieldEnv, "C", "", errAbsent},
		{"timeout", recorded(eventPre), fieldTimeout, "", "30000", 0},
		{"no timeout", plain, fieldTimeout, "", "", errAbsent},
		{"target", recorded(eventPre), fieldTarget, "", "prod", 0},
		{"the only target", plain, fieldTarget, "", "", 0},
		{"session", recorded(eventPre), fieldSession, "", "", errAbsent},
		{"tool", recorded(eventPre), fieldTool, "", "execute_remote", 0},
		{"backend", recorded(eventPre), fieldBackend, "", "ssh", 0},
		{"reason", recorded(eventPre), fieldReason, "", "", errUnsupported},
		{"note", recorded(eventPre), fieldNote, "", "", errUnsupported},
		{"config", recorded(eventInit), fieldConfig, "mirror", "http://m", 0},
		{"config's number", recorded(eventPre), fieldConfig, "n", "3", 0},
		{"config's list", recorded(eventPre), fieldConfig, "list", `["a"]`, 0},
		{"no config", recorded(eventPre), fieldConfig, "x", "", errAbsent},
		{"state", recorded(eventFilter), fieldState, "k", "v", 0},
		{"state in init", recorded(eventInit), fieldState, "k", "", errUnsupported},
		{"command in init", recorded(eventInit), fieldCommand, "", "", errUnsupported},
		{"result", recorded(eventPost), fieldResult, "", "exit_code=3\x00signal=\x00", 0},
		{"result too early", recorded(eventFilter), fieldResult, "", "", errUnsupported},
		{"unknown", recorded(eventPre), 7, "", "", errUnsupported},
		{"far", recorded(eventPre), 1 << 31, "", "", errUnsupported},
	} {
		if got, code := tt.call.get(tt.field, tt.key); got != tt.want || code != tt.code {
			t.Errorf("%s: got %q, %d, want %q, %d", tt.name, got, code, tt.want, tt.code)
		}
	}
	whole, _ := recorded(eventPre).get(fieldConfig, "")
	var config map[string]any
	if err := json.Unmarshal([]byte(whole), &config); err != nil || len(config) != 3 {
		t.Errorf("config %q: %v", whole, err)
	}
	if all, _ := recorded(eventPre).get(fieldFeatures, ""); !strings.HasPrefix(all, "abi=1.0\x00log=1\x00") {
		t.Errorf("features %q", all)
	}
}

func TestSet(t *testing.T) {
	for _, tt := range []struct {
		name       string
		event      event
		field      uint32
		key, value string
		deleted    bool
		code       int32
		got        func(job.Request) any
		want       any
	}{
		{"command", eventPre, fieldCommand, "", "ls", false, 0, func(r job.Request) any { return r.Command.Script }, "ls"},
		{"command removes argv", eventPre, fieldArgv, "", "ls\x00-l\x00", false, 0, func(r job.Request) any { return r.Command.Script + strings.Join(r.Command.Argv, "|") }, "ls|-l"},
		{"command later", eventFilter, fieldCommand, "", "ls", false, errReadOnly, nil, nil},
		{"command in init", eventInit, fieldCommand, "", "ls", false, errUnsupported, nil, nil},
		{"command with NUL", eventPre, fieldCommand, "", "l\x00s", false, errInvalid, nil, nil},
		{"command no UTF-8", eventPre, fieldCommand, "", "\xff", false, errInvalid, nil, nil},
		{"command deleted", eventPre, fieldCommand, "", "", true, errInvalid, nil, nil},
		{"command too long", eventPre, fieldCommand, "", strings.Repeat("x", maxEdits+1), false, errTooBig, nil, nil},
		{"argv without its end", eventPre, fieldArgv, "", "ls", false, errInvalid, nil, nil},
		{"argv without a program", eventPre, fieldArgv, "", "\x00-l\x00", false, errInvalid, nil, nil},
		{"empty argv", eventPre, fieldArgv, "", "", false, errInvalid, nil, nil},
		{"cwd", eventPre, fieldDir, "", "/tmp", false, 0, func(r job.Request) any { return r.Command.Dir }, "/tmp"},
		{"empty cwd", eventPre, fieldDir, "", "", false, errInvalid, nil, nil},
		{"env", eventPre, fieldEnv, "C", "3", false, 0, func(r job.Request) any { return len(r.Command.Env) }, 3},
		{"env deleted", eventPre, fieldEnv, "A", "", true, 0, func(r job.Request) any { return len(r.Command.Env) }, 1},
		{"env without a name", eventPre, fieldEnv, "", "3", false, errInvalid, nil, nil},
		{"env with =", eventPre, fieldEnv, "A=B", "3", false, errInvalid, nil, nil},
		{"env with NUL", eventPre, fieldEnv, "A\x00", "3", false, errInvalid, nil, nil},
		{"timeout", eventPre, fieldTimeout, "", "1000", false, 0, func(r job.Request) any { return r.Timeout }, time.Second},
		{"timeout raised", eventPre, fieldTimeout, "", "30001", false, errInvalid, nil, nil},
		{"timeout zero", eventPre, fieldTimeout, "", "0", false, errInvalid, nil, nil},
		{"timeout as words", eventPre, fieldTimeout, "", "1s", false, errInvalid, nil, nil},
		{"target", eventPre, fieldTarget, "", "x", false, errReadOnly, nil, nil},
		{"tool", eventPre, fieldTool, "", "x", false, errReadOnly, nil, nil},
		{"config", eventInit, fieldConfig, "", "x", false, errReadOnly, nil, nil},
		{"result", eventPost, fieldResult, "exit_code", "0", false, errReadOnly, nil, nil},
		{"reason too long", eventPre, fieldReason, "", strings.Repeat("x", maxReason+1), false, errTooBig, nil, nil},
		{"note too long", eventPre, fieldNote, "", strings.Repeat("x", maxNote+1), false, errTooBig, nil, nil},
		{"state", eventPost, fieldState, "a", "b", false, 0, nil, nil},
		{"state without a key", eventPre, fieldState, "", "b", false, errInvalid, nil, nil},
		{"state too big", eventPre, fieldState, "a", strings.Repeat("x", maxState), false, errTooBig, nil, nil},
		{"state in init", eventInit, fieldState, "a", "b", false, errUnsupported, nil, nil},
		{"unknown", eventPre, 99, "", "", false, errUnsupported, nil, nil},
	} {
		c := recorded(tt.event)
		before := c.req.Clone()
		if code := c.set(tt.field, tt.key, tt.value, tt.deleted); code != tt.code {
			t.Errorf("%s: got %d, want %d", tt.name, code, tt.code)
		}
		if tt.got != nil && tt.got(c.req) != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, tt.got(c.req), tt.want)
		}
		if !maps.Equal(before.Command.Env, request().Command.Env) {
			t.Errorf("%s: the caller's own request was changed", tt.name)
		}
	}
}

func TestStateStaysWithinItsSize(t *testing.T) {
	c := recorded(eventPre)
	original := c.state
	set := 0
	for i := range 10_000 {
		if c.set(fieldState, "key"+string(rune('a'+i%26))+string(rune('a'+i/26%26)), strings.Repeat("x", 20), false) == 0 {
			set++
		}
	}
	size := 0
	for k, v := range c.state {
		size += len(k) + len(v)
	}
	if size > maxState || size != c.stateSize || set == 0 {
		t.Errorf("%d bytes are kept, %d counted", size, c.stateSize)
	}
	if len(original) != 1 {
		t.Error("the state of before the call was changed")
	}
}

// note makes a guest's text say an answer's sign to the test: deny with it as the reason.
const sayState = `
(data (i32.const 0) "kA=1")
(func (export "pre_exec") (result i32)
  (drop (call $set (i32.const 21) (i32.const 0) (i32.const 1) (i32.const 1) (i32.const 3)))
  (drop (call $set (i32.const 15) (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 3)))
  (i32.const 0))
(func (export "filter") (param $s i32) (param $f i32) (result i32) (local $n i32)
  (local.set $n (call $get (i32.const 21) (i32.const 0) (i32.const 1) (i32.const 100) (i32.const 50)))
  (drop (call $write (i32.const 100) (local.get $n)))
  (drop (call $set (i32.const 21) (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 4)))
  (if (i32.eq (local.get $s) (i32.const 2)) (then (unreachable)))
  (i32.const 0))
(func (export "post_exec") (result i32) (local $n i32)
  (local.set $n (call $get (i32.const 23) (i32.const 0) (i32.const 0) (i32.const 100) (i32.const 100)))
  (drop (call $set (i32.const 15) (i32.const 0) (i32.const 0) (i32.const 100) (i32.const 11)))
  (i32.const 0))`

// State and notes go with the job, and a failed call leaves them as they were.
func TestTransaction(t *testing.T) {
	h := hook(t, text(sayState))
	_, tap, err := begin(h, "ls")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := tap.Output(context.Background(), job.Stdout, []byte("x"), 0); string(out) != "A=1" || err != nil {
		t.Errorf("state of pre_exec: got %q, %v", out, err)
	}
	if out, _ := tap.Output(context.Background(), job.Stdout, []byte("x"), 0); string(out) != "kA=1" {
		t.Errorf("state of filter: got %q", out)
	}
	exit, err := tap.End(context.Background(), job.Exit{Code: 3})
	if want := []string{"A=1", "elapsed_ms="}; err != nil || len(exit.Notes) != 2 || exit.Notes[0] != want[0] || exit.Notes[1] != want[1] {
		t.Errorf("notes %q, %v, want %q", exit.Notes, err, want)
	}

	_, tap, _ = begin(h, "ls")
	if out, err := tap.Output(context.Background(), job.Stderr, []byte("secret"), 0); err == nil || string(out) != "secret" {
		t.Errorf("got %q, %v", out, err)
	}
	if state := h.Status(); state.Failures != 1 {
		t.Errorf("status %+v", state)
	}
	if got := tap.(interface{ jobState() map[string]string }).jobState()["k"]; got != "A=1" {
		t.Errorf("after a failed call the state is %q, want what it was before", got)
	}
}

func (t *tap) jobState() map[string]string { return t.call.state }

func TestDenyAndAsk(t *testing.T) {
	reason := `(data (i32.const 0) "not on main") (func (export "pre_exec") (result i32)
		(drop (call $set (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 3)))
		(drop (call $set (i32.const 14) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 11))) (i32.const %))`
	_, _, err := begin(hook(t, text(strings.Replace(reason, "%", "1", 1))), "git push")
	if job.KindOf(err) != job.Denied || !strings.Contains(err.Error(), "not on main") {
		t.Errorf("deny: got %v", err)
	}
	_, _, err = begin(hook(t, text(strings.Replace(reason, "%", "2", 1))), "git push \u202e")
	ask, ok := err.(*hooks.Ask)
	if !ok || ask.Question.Reason != "not on main" || ask.Request.Command.Script != "not" || ask.Question.Text != "not" {
		t.Errorf("ask: got %+v", err)
	}
	_, _, err = begin(hook(t, pre(`(i32.const 2)`)), "x\u202e\x1b[2J")
	if ask, ok := err.(*hooks.Ask); !ok || ask.Question.Text != `x\u{202e}\u{1b}[2J` {
		t.Errorf("ask: got %+v", err)
	}
	_, _, err = begin(hook(t, pre(`(i32.const 1)`)), "x")
	if job.KindOf(err) != job.Denied || !strings.Contains(err.Error(), "denied by hook guest") {
		t.Errorf("without a reason: got %v", err)
	}
}

func TestLogLines(t *testing.T) {
	var log strings.Builder
	c := config(t, text(`(data (i32.const 0) "hellok\00v\00") (func (export "pre_exec") (result i32) (local $i i32)
		(loop $l
		  (drop (call $log (i32.const 1) (i32.const 0) (i32.const 5) (i32.const 5) (i32.const 4)))
		  (local.set $i (i32.add (local.get $i) (i32.const 1)))
		  (br_if $l (i32.lt_u (local.get $i) (i32.const 150))))
		(i32.const 0))`))
	named, err := c.Open(context.Background(), hooks.Env{Log: zerolog.New(&log)})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := begin(named.Hook.(*Hook), "ls"); err != nil {
		t.Fatal(err)
	}
	named.Close(context.Background())
	if n := strings.Count(log.String(), `"hook.k":"v","message":"hello"`); n != maxLogLines {
		t.Errorf("%d lines, want %d in\n%s", n, maxLogLines, log.String())
	}
	if !strings.Contains(log.String(), "dropped 50 lines") {
		t.Error("nothing says that lines were dropped")
	}
}
