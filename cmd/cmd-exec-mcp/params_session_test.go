package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sessionParams are about a session that is there.
func sessionParams() []paramCase {
	return []paramCase{
		{"session_id", 7, "a string", testSessionID},
		{"action", true, "a string", testAction},
		{"eof", "now", "true or false", testEOF},
		{"offset", -1, "a whole number", testOffset},
		{"tail", 1.5, "a whole number", testTail},
		{"grep", 7, "a string", testGrep},
		{"alive_timeout", "long", "a number of seconds", testAliveTimeout},
	}
}

// session starts one and returns its id.
func (w *wire) session(t *testing.T, command string, more ...args) any {
	t.Helper()
	return w.run(t, command, append(more, args{"detach": true})...).args["session_id"]
}

func testSessionID(t *testing.T, w *wire) {
	for _, id := range []any{"s_none", "1", strings.Repeat("x", 5000)} {
		w.act(t, id, "read").fails(t, "notfound").says(t, "hint", "list")
	}
	w.call(t, args{"action": "read"}).fails(t, "invalid", "session_id is required")
	id := w.session(t, "cat")
	w.call(t, args{"session_id": id, "command": "x\n", "wait_for": "x"}).has(t, "stdout", "x\n", "sent", 2) // send is the default
	w.act(t, id, "kill")
}

func testAction(t *testing.T, w *wire) {
	id := w.session(t, "read x; echo got $x; exit 3")
	w.act(t, id, "fly").fails(t, "invalid", "fly").says(t, "hint", "send", "read", "kill", "list")
	w.act(t, id, "run", args{"command": "ls"}).fails(t, "invalid", "run") // sandboxes only
	w.act(t, id, "send").fails(t, "invalid", "send needs")
	w.act(t, id, "send", args{"command": "x", "eof": true}).fails(t, "invalid", "one of")
	r := w.act(t, id, "read")
	r.has(t, "session_id", id, "is_running", true, "stdout", nil, "stderr", nil, "command_echo", nil, "exit_code", nil)
	found := false
	for _, s := range w.call(t, args{"action": "list"}).args["sessions"].([]any) {
		if one := (reply{args: s.(args)}); one.args["session_id"] == id {
			found = true
			one.has(t, "is_running", true, "command_echo", "read x; echo got $x; exit 3", "exit_code", nil).says(t, "started", "T", "Z")
		}
	}
	if !found {
		t.Error("the list lacks the session")
	}
	w.act(t, id, "send", args{"command": "a b\n", "wait_for": "exit"}).has(t, "sent", 4, "stdout", "got a b\n", "exit_code", 3, "is_running", false)
	w.act(t, id, "kill").has(t, "killed", false, "is_running", false, "exit_code", 3).says(t, "notes", "already ended")

	id = w.session(t, "echo last words; sleep 50")
	w.act(t, id, "read", args{"offset": 0, "wait_for": "words"})
	r = w.act(t, id, "kill")
	r.has(t, "killed", true, "session_id", id, "is_running", false, "survivors", []any{})
	w.act(t, id, "read", args{"offset": 0}).has(t, "stdout", "last words\n", "is_running", false)
}

func testEOF(t *testing.T, w *wire) {
	id := w.session(t, "wc -c")
	w.act(t, id, "send", args{"command": "12345", "wait": 0}).has(t, "is_running", true, "sent", 5)
	w.act(t, id, "send", args{"eof": true, "wait_for": "exit"}).has(t, "stdout", "5\n", "exit_code", 0)
	w.act(t, id, "send", args{"command": "more"}).fails(t, "invalid", "ended")
	id = w.session(t, "cat; sleep 50")
	w.act(t, id, "send", args{"eof": true})
	w.act(t, id, "send", args{"command": "more"}).fails(t, "invalid", "end of the input")
	w.act(t, id, "kill")
}

func testOffset(t *testing.T, w *wire) {
	id := w.session(t, "printf 0123456789")
	w.act(t, id, "read", args{"wait_for": "exit", "offset": 0})
	w.act(t, id, "read", args{"offset": 4}).has(t, "stdout", "456789", "next_offset", 10)
	w.act(t, id, "read", args{"offset": 4, "limit": 3}).has(t, "stdout", "456", "next_offset", 7)
	w.act(t, id, "read", args{"offset": "2", "limit": "1"}).has(t, "stdout", "2")
	w.act(t, id, "read", args{"offset": 1000}).has(t, "stdout", nil, "next_offset", 10)

	id = w.session(t, "read a; echo one; read a; echo two; read a")
	w.act(t, id, "send", args{"command": "\n", "wait_for": "one"}).has(t, "stdout", "one\n")
	w.act(t, id, "send", args{"command": "\n", "wait_for": "two"}).has(t, "stdout", "two\n") // only what is new
	w.act(t, id, "read", args{"offset": 0}).has(t, "stdout", "one\ntwo\n")
	w.act(t, id, "read").has(t, "stdout", nil, "next_offset", 8)
	w.act(t, id, "kill")
}

func testTail(t *testing.T, w *wire) {
	id := w.run(t, "seq 1 9; sleep 50", args{"wait_for": "9"}).args["session_id"]
	w.act(t, id, "read", args{"tail": 2}).has(t, "stdout", "8\n9\n")
	w.act(t, id, "kill")
	id = w.session(t, "sleep 0.4; seq 1 5; sleep 50")
	w.act(t, id, "read", args{"wait_for": "5", "tail": 2}).has(t, "stdout", "4\n5\n")
	w.act(t, id, "read").has(t, "stdout", "1\n2\n3\n4\n5\n") // a tail moves nothing
	w.act(t, id, "kill")
}

func testGrep(t *testing.T, w *wire) {
	id := w.session(t, `sleep 0.4; printf 'ok 1\nerror: 2\nok 3\nerror: 4\n' >&2; sleep 50`)
	r := w.act(t, id, "read", args{"wait_for": "4", "grep": "^error: [0-9]"}).says(t, "stderr", "error: 2\n", "error: 4\n")
	if strings.Contains(r.text("stderr"), "ok") {
		t.Errorf("got lines that do not match: %v", r)
	}
	w.act(t, id, "read", args{"grep": "("}).fails(t, "invalid", "grep")
	w.act(t, id, "read").has(t, "stderr", "ok 1\nerror: 2\nok 3\nerror: 4\n") // a grep moves nothing
	w.act(t, id, "kill")
}

func testAliveTimeout(t *testing.T, w *wire) {
	w.run(t, "sleep 50", args{"detach": true, "alive_timeout": 0}).fails(t, "invalid", "alive_timeout")
	r := w.run(t, "while :; do echo x; sleep 0.1; done", args{"detach": true, "alive_timeout": 1})
	r.has(t, "alive_timeout", 1)
	id := r.args["session_id"]
	ended := func() bool { // the list is no call about it
		for _, s := range w.call(t, args{"action": "list"}).args["sessions"].([]any) {
			if one := s.(args); one["session_id"] == id {
				return one["is_running"] == false
			}
		}
		return false
	}
	eventually(t, "the end of a session that nobody asks about", ended)
	r = w.run(t, "sleep 50", args{"detach": true, "alive_timeout": -1})
	r.has(t, "alive_timeout", -1)
	w.act(t, r.args["session_id"], "kill")
}

func testOutputFile(t *testing.T, w *wire) {
	w.run(t, "echo x").has(t, "output_file", "")
	r := w.run(t, `printf '\033[1mbold\033[0m\rx\n'; seq 1 9000; echo err >&2`, args{"output_file": "out.txt"})
	r.has(t, "output_file", w.path("out.txt"), "exit_code", 0, "stderr", "err\n", "session_id", nil)
	if n := len(r.text("stdout")); n < 7000 || n > 8000 {
		t.Errorf("the preview has %d characters, not about 8000", n)
	}
	if got := w.read(t, "out.txt"); !strings.HasPrefix(got, "\x1b[1mbold\x1b[0m\rx\n1\n") || !strings.HasSuffix(got, "\n9000\n") {
		t.Errorf("the file is not the whole output, unfolded: %d bytes", len(got))
	}
	w.run(t, "echo new", args{"output_file": w.path("out.txt")}).has(t, "stdout", "new\n") // what was there is replaced
	if got := w.read(t, "out.txt"); got != "new\n" {
		t.Errorf("got %q", got)
	}
	w.run(t, "echo kept; sleep 50", args{"output_file": "late.txt", "timeout": 0.5}).has(t, "is_timeout", true)
	if got := w.read(t, "late.txt"); got != "kept\n" {
		t.Errorf("after a timeout the file holds %q", got)
	}
	w.run(t, "echo x", args{"output_file": "no/such/f"}).fails(t, "notfound", "no/such")
	w.run(t, "echo x", args{"output_file": filepath.Join(w.home, "config.star")}).fails(t, "denied", "config.star")
	w.run(t, "echo x", args{"output_file": filepath.Join(w.home, "log.txt")}).fails(t, "denied", "log.txt")
	if err := os.Symlink(w.path("out.txt"), w.path("link")); err != nil {
		t.Fatal(err)
	}
	w.run(t, "echo x", args{"output_file": "link"}).fails(t, "denied", "link")
	if got := w.read(t, "out.txt"); got != "new\n" {
		t.Errorf("written through a link: %q", got)
	}
	if left, _ := filepath.Glob(w.path(".*")); len(left) > 0 {
		t.Errorf("temporary files are left: %v", fmt.Sprint(left))
	}
}
