package main

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// The tests in the files cases_*_test.go are cases from the field, named after their rows: what users of servers like this
// one ran into.

// soon waits for a file of the commands.
func (w *wire) soon(t *testing.T, name string) {
	t.Helper()
	eventually(t, name, func() bool { _, err := os.Stat(w.path(name)); return err == nil })
}

// TestA1: a background child that holds the output does not hold the answer.
func TestA1(t *testing.T) {
	w := start(t, local)
	r := w.run(t, "sleep 100 & echo hi", args{"timeout": 5})
	r.has(t, "exit_code", 0, "stdout", "hi\n", "is_timeout", false).says(t, "notes", "background process", "still holds the output", "sleep")
	if r.took > atOnce {
		t.Errorf("it took %v", r.took)
	}
	if len(w.commands()) != 1 {
		t.Errorf("the background process does not live on: %s", describe(w.commands()))
	}
}

// TestA3: what goes on in the background is not killed by its next write.
func TestA3(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	r := w.run(t, "(for i in 1 2 3 4 5; do sleep 0.2; echo $i; echo $i >&2; done; touch ok) &")
	r.has(t, "exit_code", 0, "is_timeout", false)
	w.soon(t, "ok")
}

// TestA6: the input of a one-shot is empty.
func TestA6(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	w.run(t, "cat", args{"timeout": 30}).has(t, "exit_code", 0, "stdout", "", "is_timeout", false)
	w.run(t, "readlink /proc/self/fd/0").has(t, "stdout", "/dev/null\n")
}

// TestA7: an interactive one has an input, until its end was sent.
func TestA7(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	id := w.session(t, "cat; sleep 0.5")
	w.act(t, id, "send", args{"command": "x\n", "wait_for": "x\n"}).has(t, "stdout", "x\n")
	w.act(t, id, "send", args{"eof": true, "wait": 0})
	w.act(t, id, "send", args{"command": "late\n"}).fails(t, "invalid", "the end of the input was already sent")
	w.act(t, id, "read", args{"wait_for": "exit"}).has(t, "is_running", false, "exit_code", 0)
	w.act(t, id, "send", args{"command": "later\n"}).fails(t, "invalid", "ended")
}

// TestA10: neither stream may fill up.
func TestA10(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	w.run(t, "head -c 1000000 /dev/zero >&2; echo out").has(t, "stdout", "out\n", "exit_code", 0)
	w.run(t, "head -c 30000000 /dev/zero | tr '\\0' x >&2; echo out").has(t, "stdout", "out\n", "exit_code", 0)
}

// TestA12: an exit or a timeout is the end of one session and of nothing else.
func TestA12(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	id := w.session(t, "bash")
	w.act(t, id, "send", args{"command": "exit 3\n", "wait_for": "exit"}).has(t, "exit_code", 3, "is_running", false)
	w.act(t, id, "read").has(t, "exit_code", 3)
	w.act(t, id, "kill").has(t, "exit_code", 3)
	late := w.session(t, "echo late; sleep 50", args{"timeout": 0.5})
	w.act(t, late, "read", args{"wait_for": "exit"}).has(t, "is_timeout", true, "exit_code", -1)
	w.run(t, "echo on").has(t, "stdout", "on\n")
	w.session(t, "echo on")
}

// TestB1: a timeout keeps what was printed and leaves no process.
func TestB1(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	r := w.run(t, "echo partial; echo err >&2; sleep 50 | sleep 50 & sleep 50", args{"timeout": 1})
	r.has(t, "is_timeout", true, "stdout", "partial\n", "stderr", "err\n", "exit_code", -1, "session_id", nil)
	if left := w.commands(); len(left) > 0 {
		t.Errorf("still running after the reply: %s", describe(left))
	}
	w.run(t, "printf 'no newline'; sleep 50", args{"timeout": 1}).has(t, "stdout", "no newline")
}

// TestB2: a client that gives up at 60 s gets its answer before that.
func TestB2(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes 50 s")
	}
	t.Parallel()
	w := start(t, local)
	r := w.run(t, "echo begun; sleep 90; echo done", args{"timeout": 120})
	r.has(t, "is_running", true, "stdout", "begun\n", "exit_code", nil)
	if r.took < 45*time.Second || r.took > 58*time.Second {
		t.Errorf("handed over after %v", r.took)
	}
	w.act(t, r.args["session_id"], "kill").has(t, "killed", true)
}

// TestB3: without a token there is no notification at all.
func TestB3(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	w.run(t, "for i in 1 2 3 4 5 6; do echo $i; sleep 0.2; done")
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.notified) > 0 {
		t.Errorf("got %v", w.notified[0])
	}
}

// TestB5: a timeout that the owner lowers is said.
func TestB5(t *testing.T) {
	t.Parallel()
	w := start(t, star{defaults: "timeout=1, max_timeout=1"})
	w.run(t, "sleep 40", args{"timeout": 200}).has(t, "is_timeout", true).says(t, "notes", "1s", "owner")
	w.run(t, "true", args{"timeout": 0.9}).has(t, "notes", nil)
}

// TestB6: seconds are seconds.
func TestB6(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	r := w.run(t, "sleep 30", args{"timeout": 2})
	if d := r.args["duration"].(float64); d < 2 || d > 15 {
		t.Errorf("duration is %v", d)
	}
	r.has(t, "is_timeout", true)
}

// TestB9: every odd number has a meaning.
func TestB9(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	w.run(t, "true", args{"timeout": 0}).fails(t, "invalid", "timeout must be more than 0 seconds, or -1")
	w.run(t, "true", args{"timeout": -5}).fails(t, "invalid", "timeout")
	w.run(t, "true", args{"timeout": -1}).has(t, "exit_code", 0, "notes", nil)
	w.run(t, "true", args{"timeout": 1e12}).has(t, "exit_code", 0).says(t, "notes", "timeout was lowered")
	w.run(t, "true", args{"timeout": 1e300}).has(t, "exit_code", 0).says(t, "notes", "timeout was lowered")
	w.run(t, "true", args{"timeout": "5"}).has(t, "exit_code", 0, "notes", nil)
	w.run(t, "sleep 20", args{"timeout": 0.5}).has(t, "is_timeout", true)
	w.run(t, "true", args{"timeout": "NaN"}).fails(t, "invalid", "timeout")
}

// TestC1: the server does not survive its client, nor do the commands survive the server.
func TestC1(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	w.session(t, "sleep 100")
	w.run(t, "setsid sleep 100 > /dev/null 2>&1 &")
	eventually(t, "two commands", func() bool { return len(w.commands()) >= 2 })
	began := time.Now()
	w.close(t)
	if took := time.Since(began); took > gone {
		t.Errorf("it took %v", took)
	}
	w = start(t, local)
	w.session(t, "sleep 100")
	w.run(t, "setsid sleep 100 > /dev/null 2>&1 &")
	eventually(t, "two commands", func() bool { return len(w.commands()) >= 2 })
	w.kill(t)
}

// TestC3: what was asked right before the end of the input is answered.
func TestC3(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	id, answer := w.expect()
	w.send(t, requestLine(id, "tools/call", callParams(w.arguments("sleep 0.3; echo hi"))))
	w.close(t)
	m := w.answer(t, answer)
	if m == nil {
		t.Fatal("no answer")
	}
	decodeReply(t, m).has(t, "stdout", "hi\n")
}

// TestC6: a background process lives on, and the reply says which and until when.
func TestC6(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	r := w.run(t, "nohup sleep 100 > /dev/null 2>&1 & echo started")
	r.has(t, "exit_code", 0, "stdout", "started\n").says(t, "notes", "background process", "pid ", "ends with the server", "kill")
	if len(w.commands()) != 1 {
		t.Error("it was killed")
	}
}

// TestC7: what ignores INT and TERM is killed.
func TestC7(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	id := w.session(t, "trap '' INT TERM; echo > ready; sleep 100; sleep 100; sleep 100")
	w.soon(t, "ready")
	w.act(t, id, "kill").has(t, "killed", true, "is_running", false, "survivors", []any{}, "signal", "KILL", "exit_code", 137)
	if left := w.commands(); len(left) > 0 {
		t.Errorf("still running: %s", describe(left))
	}
	id = w.session(t, "trap 'echo bye; exit 5' INT; echo > ready2; while :; do sleep 0.05; done")
	w.soon(t, "ready2")
	w.act(t, id, "kill").has(t, "killed", true, "stdout", "bye\n", "exit_code", 5)
}

// resident is how many bytes of memory the server uses.
func (w *wire) resident() int {
	var pages, total int
	_, err := fmt.Sscan(string(proc(w.cmd.Process.Pid, "statm")), &total, &pages)
	if err != nil {
		return 0
	}
	return pages * os.Getpagesize()
}

// TestC9: endless output and many sessions do not make the server grow without end.
func TestC9(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	id := w.session(t, "yes")
	for range 100 {
		w.session(t, "true")
	}
	w.act(t, id, "read", args{"wait_for": "exit", "wait": 3}).has(t, "is_running", true)
	if rss := w.resident(); rss > 500<<20 {
		t.Errorf("%d MiB", rss>>20)
	}
	w.act(t, id, "kill")
	if n := len(w.call(t, args{"action": "list"}).args["sessions"].([]any)); n > 64 {
		t.Errorf("%d ended sessions are kept", n)
	}
}

// TestD1: a question that nobody can answer ends, and is seen.
func TestD1(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	w.run(t, "read -p 'Continue? ' a; echo \"[$a]\"").has(t, "stdout", "[]\n", "is_timeout", false)
	w.run(t, `printf 'Overwrite (y/n)? '; read a < /dev/tty; echo "[$a]"`, args{"timeout": 20}).has(t, "is_timeout", false).says(t, "stdout", "Overwrite (y/n)? ")
	w.run(t, `printf 'Really? '; sleep 50`, args{"timeout": 1}).has(t, "is_timeout", true, "stdout", "Really? ")
}

// TestD3: a prompt without a newline is there at once.
func TestD3(t *testing.T) {
	t.Parallel()
	needs(t, "python3")
	w := start(t, local)
	r := w.run(t, `python3 -c 'print("hello", input("name: "))'`, args{"wait_for": "name: $"})
	r.has(t, "is_running", true, "stdout", "name: ")
	w.act(t, r.args["session_id"], "send", args{"command": "Ann\n", "wait_for": "exit"}).has(t, "stdout", "hello Ann\n")
}

// TestD7: a password prompt finds no terminal to wait at.
func TestD7(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	r := w.run(t, "(: < /dev/tty) 2>/dev/null && echo a terminal || echo none", args{"timeout": 20})
	r.has(t, "stdout", "none\n", "is_timeout", false)
}

// TestD9: a loop that asks again at the end of the input fills no memory.
func TestD9(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	r := w.run(t, "while ! read x; do echo enter text; done", args{"timeout": 2})
	r.has(t, "is_timeout", true, "truncated", true, "exit_code", -1)
	if r.size > 100_000 {
		t.Errorf("the response has %d bytes", r.size)
	}
	if rss := w.resident(); rss > 500<<20 {
		t.Errorf("%d MiB", rss>>20)
	}
}

// needs skips a test on a machine without a program; where nothing may be skipped it fails.
func needs(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if os.Getenv("CI") == "true" || os.Getenv("CEM_NO_SKIP") == "1" {
		t.Fatalf("%s is not installed", program)
	}
	t.Skipf("%s is not installed", program)
}
