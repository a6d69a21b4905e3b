package main

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// TestE1: a session that has ended can still be read.
func TestE1(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	id := w.session(t, "sleep 0.4; echo a; exit 7")
	w.act(t, id, "read", args{"wait_for": "exit"}).has(t, "stdout", "a\n", "exit_code", 7, "is_running", false)
	w.act(t, id, "read").has(t, "stdout", nil, "exit_code", 7)
	w.act(t, id, "read", args{"offset": 0}).has(t, "stdout", "a\n", "exit_code", 7)
}

// TestE2: the answer to the start holds everything of a fast command.
func TestE2(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	w.run(t, "echo err >&2; exit 1", args{"detach": true}).has(t, "stderr", "err\n", "exit_code", 1, "is_running", false)
}

// TestE4: positions never move, and what is gone is counted.
func TestE4(t *testing.T) {
	t.Parallel()
	w := start(t, star{defaults: "session_max_bytes=100*KiB, session_max_lines=0"})
	id := w.session(t, "i=0; while [ $i -lt 20 ]; do printf '%09d\\n' $i; i=$((i+1)); done; read go; seq -f %09.0f 20 99999; read end")
	first := w.act(t, id, "read", args{"offset": 0, "wait_for": "000000019"})
	first.has(t, "next_offset", 200, "dropped_bytes", nil)
	w.act(t, id, "send", args{"command": "\n", "wait": 0})
	eventually(t, "a million bytes", func() bool {
		return w.act(t, id, "read", args{"tail": 1}).number("next_offset") >= 1_000_000
	})
	r := w.act(t, id, "read", args{"offset": 200, "limit": 100})
	dropped, text := r.number("dropped_bytes"), r.text("stdout")
	if next := r.number("next_offset"); dropped < 0 || next != 200+dropped+len(text) {
		t.Errorf("next_offset is %d after %d dropped and %d read", next, dropped, len(text))
	}
	if r = w.act(t, id, "read", args{"offset": 500_000, "limit": 100}); r.number("dropped_bytes") < 300_000 {
		t.Errorf("what was dropped is not said: %v", r)
	}
	r = w.act(t, id, "read", args{"offset": 999_990, "limit": 10})
	r.has(t, "stdout", "000099999\n", "next_offset", 1_000_000, "dropped_bytes", nil)
	w.act(t, id, "kill")
}

// TestE5: lines are counted from the beginning of the output, whatever of it is gone.
func TestE5(t *testing.T) {
	t.Parallel()
	w := start(t, star{defaults: "session_max_lines=100"})
	id := w.session(t, "sleep 0.3; seq 1 100000; echo last")
	w.act(t, id, "read", args{"offset": 0, "wait_for": "exit", "limit": 1})
	w.act(t, id, "read", args{"tail": 2}).has(t, "stdout", "100000\nlast\n")
	if r := w.act(t, id, "read", args{"grep": "^last$"}); !regexp.MustCompile(`^(100001:)?last\n$`).MatchString(r.text("stdout")) {
		t.Errorf("got %v", r)
	}
	if n := strings.Count(w.act(t, id, "read", args{"offset": 0, "limit": 100000}).text("stdout"), "\n"); n > 101 {
		t.Errorf("%d lines are kept, not 100", n)
	}
}

// TestE6: a background run is read step by step.
func TestE6(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	r := w.run(t, "for i in 1 2 3; do echo $i; sleep 0.4; done", args{"detach": true})
	all := r.text("stdout")
	for range 50 {
		if r = w.act(t, r.args["session_id"], "read", args{"wait": 20}); r.args["is_running"] == false {
			break
		}
		all += r.text("stdout")
	}
	if all += r.text("stdout"); all != "1\n2\n3\n" && !strings.HasPrefix(all, "1\n2\n3\n") {
		t.Errorf("got %q", all)
	}
	if strings.Count(all, "\n") != 3 {
		t.Errorf("something was read twice: %q", all)
	}
}

// TestE10: ids cannot be guessed, and one server's are nothing to another.
func TestE10(t *testing.T) {
	t.Parallel()
	w, other := start(t, local), start(t, local)
	seen := map[any]bool{}
	for range 10 {
		id := w.session(t, "true")
		if !regexp.MustCompile(`^s_[a-z2-7]{26}$`).MatchString(fmt.Sprint(id)) || seen[id] {
			t.Errorf("%v is not 128 random bits", id)
		}
		seen[id] = true
		other.act(t, id, "read").fails(t, "notfound")
	}
	if n := len(other.call(t, args{"action": "list"}).args["sessions"].([]any)); n != 0 {
		t.Errorf("it lists %d sessions that are not its own", n)
	}
}

// TestE11: sends are in one piece, and nothing hangs.
func TestE11(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	id := w.session(t, "cat")
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			line := strings.Repeat(string(rune('a'+i%26)), 200) + "\n"
			r := w.act(t, id, "send", args{"command": line, "wait": 0})
			if r.isError && r.args["kind"] != "busy" {
				t.Errorf("got %v", r)
			}
			w.act(t, id, "read", args{"tail": 1})
		})
	}
	group.Wait()
	r := w.act(t, id, "read", args{"offset": 0, "limit": 100000})
	for _, line := range strings.Split(strings.TrimSuffix(r.text("stdout"), "\n"), "\n") {
		if len(line) != 200 || strings.Count(line, line[:1]) != 200 {
			t.Errorf("two sends are mixed: %q", line)
		}
	}
	for range 10 {
		group.Go(func() { w.act(t, id, "kill").has(t, "is_running", false) })
		group.Go(func() { w.act(t, id, "read", args{"wait_for": "exit"}) })
		group.Go(func() { w.act(t, id, "send", args{"command": "x\n"}) })
	}
	group.Wait()
}
