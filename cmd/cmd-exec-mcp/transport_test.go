package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// atOnce bounds what takes a few hundredths of a second.
const atOnce = time.Second

// TestBrokenMessages: whatever arrives, the server says what is wrong with it and goes on.
func TestBrokenMessages(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	for _, c := range []struct {
		name, line string
		code       int
		id         string
	}{
		{"malformed", `{"jsonrpc":"2.0","id":901,`, -32700, "null"},
		{"no JSON", "hello", -32700, "null"},
		{"bytes", "\x00\xff\xfe", -32700, "null"},
		{"batch", `[{"jsonrpc":"2.0","id":902,"method":"ping"},{"jsonrpc":"2.0","id":903,"method":"ping"}]`, -32600, "null"},
		{"no method", `{"jsonrpc":"2.0","id":904}`, -32600, "904"},
		{"unknown method", `{"jsonrpc":"2.0","id":905,"method":"no/such"}`, -32601, "905"},
		{"unknown tool", `{"jsonrpc":"2.0","id":906,"method":"tools/call","params":{"name":"nope","arguments":{}}}`, -32602, "906"},
		{"20 MB line", requestLine("907", "tools/call", callParams(w.arguments("touch "+w.path("long")+" #"+strings.Repeat("x", 20<<20)))), -32600, "null"},
	} {
		w.send(t, c.line)
		got := w.strays(t, 1)
		if len(got) != 1 || got[0].Error == nil || got[0].Error.Code != c.code || string(got[0].ID) != c.id {
			t.Errorf("%s: got %+v, want one error %d for id %s", c.name, got, c.code, c.id)
		}
		w.request(t, "ping", args{})
	}
	w.run(t, "ls").has(t, "stdout", "")
	w.send(t, "", "   ", `{"jsonrpc":"2.0","method":"notifications/unheard-of"}`)
	w.run(t, "echo on").has(t, "stdout", "on\n")
}

// TestCancel: the tree is gone within a second, and nobody gets a response.
func TestCancel(t *testing.T) {
	w := start(t, local)
	for _, command := range []string{"sleep 100", "sleep 100 & sleep 100 | cat", "bash -c 'sleep 100; true'; true"} {
		id, answer := w.expect()
		w.send(t, requestLine(id, "tools/call", callParams(w.arguments("echo > started; "+command))))
		eventually(t, "the start", func() bool { _, err := os.Stat(w.path("started")); return err == nil })
		w.send(t, cancelLine(id))
		if took := w.empty(t); took > atOnce {
			t.Errorf("%s: the tree ended %v after the cancel", command, took)
		}
		w.request(t, "ping", args{})
		select {
		case m := <-answer:
			t.Errorf("%s: a cancelled call was answered: %+v", command, m)
		default:
		}
		os.Remove(w.path("started"))
	}
}

// TestCancelInTheSameWrite: the command does not run, or is gone at once.
func TestCancelInTheSameWrite(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	for range 100 {
		id, _ := w.expect()
		w.send(t, requestLine(id, "tools/call", callParams(w.arguments("echo ran >> ran; sleep 100"))), cancelLine(id))
	}
	w.request(t, "ping", args{})
	w.run(t, "cat ran; wc -l < ran").has(t, "exit_code", 1) // no such file
	w.empty(t)
}

// TestEndInMidCall: the end of the input and TERM both end what runs, then the server.
func TestEndInMidCall(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(*testing.T, *wire)
	}{
		{"EOF", func(t *testing.T, w *wire) { w.close(t) }},
		{"TERM", func(t *testing.T, w *wire) { w.signal(t, syscall.SIGTERM, 0); w.clean(t) }},
		{"INT", func(t *testing.T, w *wire) { w.signal(t, syscall.SIGINT, 0); w.clean(t) }},
		{"HUP", func(t *testing.T, w *wire) { w.signal(t, syscall.SIGHUP, 0); w.clean(t) }},
		{"KILL", func(t *testing.T, w *wire) { w.kill(t) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := start(t, local)
			id, _ := w.expect()
			w.send(t, requestLine(id, "tools/call", callParams(w.arguments("sleep 100 & trap '' INT TERM; echo > started; sleep 100; sleep 100"))))
			w.session(t, "trap '' INT TERM; sleep 100; sleep 100")
			w.run(t, "(setsid sleep 100 > /dev/null 2>&1 &) ; true")
			eventually(t, "the start", func() bool { _, err := os.Stat(w.path("started")); return err == nil && len(w.commands()) >= 4 })
			c.end(t, w)
		})
	}
}

// TestReaderGone: a client that stops reading and dies must not leave a server behind, which SIGPIPE would kill too early.
func TestReaderGone(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	w.session(t, "trap '' INT TERM; sleep 100; sleep 100")
	w.cmd.Process.Signal(syscall.SIGPIPE)
	w.run(t, "echo still here").has(t, "stdout", "still here\n")
}

// TestProgress: only with a token, strictly increasing, and with the output that there is.
func TestProgress(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	steps := "for i in 1 2 3 4; do echo step $i; sleep 0.3; done"
	w.run(t, steps)
	if n := w.notifications("notifications/progress"); len(n) > 0 {
		t.Errorf("progress without a token: %v", n)
	}
	for _, token := range []any{"tok", 7} {
		before := len(w.notifications("notifications/progress"))
		w.callWith(t, args{"name": "execute_local", "arguments": w.arguments(steps), "_meta": args{"progressToken": token}}).has(t, "exit_code", 0)
		last, said := -1.0, ""
		list := w.notifications("notifications/progress")[before:]
		for _, n := range list {
			if fmt.Sprint(n["progressToken"]) != fmt.Sprint(token) || n["progress"].(float64) <= last {
				t.Errorf("got %v after %v", n, last)
			}
			last = n["progress"].(float64)
			said += fmt.Sprintln(n["message"])
		}
		if !strings.Contains(said, "step 2") || len(list) > 8 {
			t.Errorf("%d messages: %q", len(list), said)
		}
	}
}

// TestManyCalls: nothing is left of hundreds of calls, and the server's descriptors are as many as before.
func TestManyCalls(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	round := func(n int) {
		for range n {
			w.run(t, "echo x; echo y >&2", args{"stdin": "z"}).has(t, "stdout", "x\n")
			w.session(t, "cat > /dev/null")
			w.run(t, "sleep 50", args{"timeout": 0.01})
			id, _ := w.expect()
			w.send(t, requestLine(id, "tools/call", callParams(w.arguments("sleep 50"))))
			w.send(t, cancelLine(id))
			for _, s := range w.call(t, args{"action": "list"}).args["sessions"].([]any) {
				w.act(t, s.(args)["session_id"], "kill")
			}
		}
		w.empty(t)
	}
	round(3)
	before := w.descriptors()
	round(15)
	if runtime.GOOS != "linux" {
		return
	}
	eventually(t, fmt.Sprintf("as many descriptors as before (%d, now %d)", before, w.descriptors()), func() bool { return w.descriptors() <= before })
}

// TestFloods: both streams at once, more than any buffer holds.
func TestFloods(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	r := w.run(t, "head -c 10000000 /dev/zero | tr '\\0' a >&2 & head -c 10000000 /dev/zero | tr '\\0' b; wait; echo end; echo end >&2")
	r.has(t, "exit_code", 0, "truncated", true).says(t, "stdout", "bbb", "end\n").says(t, "stderr", "aaa", "end\n")
	if r.size > 100_000 {
		t.Errorf("the response has %d bytes", r.size)
	}
	if omitted := r.number("omitted_bytes"); omitted < 19_900_000 || omitted > 20_000_100 {
		t.Errorf("omitted_bytes is %d", omitted)
	}
	r = w.run(t, "head -c 10000000 /dev/zero | tr '\\0' a >&2 & head -c 10000000 /dev/zero | tr '\\0' b; wait", args{"output_file": "whole"})
	r.has(t, "exit_code", 0)
	if n := len(w.read(t, "whole")); n != 10_000_000 {
		t.Errorf("the output file has %d bytes", n)
	}
}
