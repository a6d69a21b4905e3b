//go:build linux

package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// state is what a server has at one moment.
type state struct {
	rss                   float64 // MiB
	descriptors, children int
}

func (s *server) state() state {
	pid := s.cmd.Process.Pid
	return state{memory(pid, "VmRSS"), descriptors(pid), len(children(pid))}
}

// soak runs a great many short calls, timeouts, cancels and sessions through one server. What it has at the end must be
// what it had once it was warm; a second server that is only warmed up says how many goroutines that is.
func (l *lab) soak() error {
	idle, err := l.warmed()
	if err != nil {
		return err
	}
	goroutines, _ := idle.goroutines()
	s, err := l.warmed()
	if err != nil {
		return err
	}
	before := s.state()
	phases := []struct {
		what string
		n    int
		run  func(*server, int) error
	}{
		{"short calls", 10_000, l.soakCalls},
		{"timeouts of 50 ms", 1000, l.soakTimeouts},
		{"cancels", 500, l.soakCancels},
		{"cancels in the same write", 500, l.soakStillborn},
		{"sessions", 1000, l.soakSessions},
	}
	fmt.Printf("%-26s %7s %9s %11s %12s %9s\n", "after", "number", "seconds", "RSS in MiB", "descriptors", "children")
	show := func(what string, n int, took time.Duration, now state) {
		fmt.Printf("%-26s %7d %9.1f %11.1f %12d %9d\n", what, n, took.Seconds(), now.rss, now.descriptors, now.children)
	}
	show("warming up", 1, 0, before)
	for _, p := range phases {
		began := time.Now()
		if err := p.run(s, l.rounds(p.n)); err != nil {
			return fmt.Errorf("%s: %w", p.what, err)
		}
		eventually(5*time.Second, func() bool { return s.state().children <= before.children })
		show(p.what, l.rounds(p.n), time.Since(began), s.state())
	}
	return l.verdict(s, before, goroutines)
}

// verdict compares the end with the beginning, and prints one line each, like a benchmark's.
func (l *lab) verdict(s *server, before state, goroutines int) error {
	time.Sleep(time.Second)
	after := s.state()
	left := len(running(soakMark))
	after2, dump := s.goroutines()
	fmt.Println()
	report("K.run", float64(left), limit{}, "processes of a command left")
	report("K.kids", float64(after.children-before.children), limit{}, "children more than before")
	report("K.fd", float64(after.descriptors-before.descriptors), limit{}, "descriptors more than before")
	report("K.go", float64(after2-goroutines), limit{}, "goroutines more than a fresh server has after a call (%d)", goroutines)
	report("K.rss", math.Round(100*after.rss/before.rss)/100, limit{bar: 1.1, goal: 1}, "memory / before (%.1f and %.1f MiB)", after.rss, before.rss)
	if after2 > goroutines {
		fmt.Printf("\n%s\n", dump)
	}
	return nil
}

// soakMark is in the text of every command that must not outlive its call.
const soakMark = "97.314159"

// warmed starts a server and lets it do a tenth of everything once.
func (l *lab) warmed() (*server, error) {
	s, err := l.serve()
	if err != nil {
		return nil, err
	}
	for _, phase := range []func(*server, int) error{l.soakCalls, l.soakTimeouts, l.soakCancels, l.soakStillborn, l.soakSessions} {
		if err := phase(s, l.rounds(100)); err != nil {
			return nil, err
		}
	}
	time.Sleep(500 * time.Millisecond)
	return s, nil
}

// goroutines ends the server with a dump of them, and counts.
func (s *server) goroutines() (int, []byte) {
	s.cmd.Process.Signal(syscall.SIGQUIT)
	s.cmd.Wait()
	syscall.Close(s.in)
	syscall.Close(s.out)
	dump := s.stderr.Bytes()
	return bytes.Count(dump, []byte("\ngoroutine ")), dump
}

// window makes n calls, no more than wide at once, and looks at each answer.
func (s *server) window(n, wide int, call func(i int) string, look func(i int, line []byte) error) error {
	numbers := map[int]int{}
	sent := 0
	for answered := 0; answered < n; {
		for ; sent < n && len(numbers) < wide; sent++ {
			id, err := s.send("tools/call", call(sent))
			if err != nil {
				return err
			}
			numbers[id] = sent
		}
		id, line, err := s.response()
		if err != nil {
			return err
		}
		i, ok := numbers[id]
		if !ok {
			return fmt.Errorf("nobody asked for %s", line)
		}
		delete(numbers, id)
		answered++
		if err := look(i, line); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) soakCalls(s *server, n int) error {
	return s.window(n, 4, func(i int) string { return l.shell(fmt.Sprintf("echo line %d", i)) }, func(i int, line []byte) error {
		if !bytes.Contains(line, fmt.Appendf(nil, `"stdout":"line %d\n"`, i)) {
			return fmt.Errorf("call %d came without its output: %s", i, line)
		}
		return nil
	})
}

func (l *lab) soakTimeouts(s *server, n int) error {
	command := l.shell(": "+soakMark+"; sleep 60 & sleep 60", "timeout", 0.05)
	return s.window(n, 16, func(int) string { return command }, func(_ int, line []byte) error {
		r, err := decode(line)
		if err == nil && !r.Timeout {
			err = fmt.Errorf("it did not time out: %s", line)
		}
		if err != nil && strings.Contains(err.Error(), "not start within") {
			err = nil // a busy machine may need longer than that to start it; then nothing runs either
		}
		return err
	})
}

// soakCancels cancels calls that run. Nobody answers them; a ping at the end shows that the server does.
func (l *lab) soakCancels(s *server, n int) error {
	for done := 0; done < n; done += 10 {
		var ids []int
		for range min(10, n-done) {
			id, err := s.send("tools/call", l.shell(": "+soakMark+"; sleep 60 & sleep 60"))
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
		eventually(time.Second, func() bool { return len(running(soakMark)) >= len(ids) })
		for _, id := range ids {
			if err := s.write(cancelled(id)); err != nil {
				return err
			}
		}
	}
	return s.silent()
}

// soakStillborn cancels calls in the write that makes them: none may run.
func (l *lab) soakStillborn(s *server, n int) error {
	mark := filepath.Join(l.dir, "stillborn")
	for range n {
		s.next++
		both := append(message(s.next, "tools/call", l.shell("touch "+mark+"; sleep "+soakMark)), cancelled(s.next)...)
		if err := s.write(both); err != nil {
			return err
		}
	}
	if err := s.silent(); err != nil {
		return err
	}
	if _, err := os.Stat(mark); err == nil {
		return fmt.Errorf("a call that was cancelled before it began has run")
	}
	return nil
}

func cancelled(id int) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`+"\n", id)
}

// silent says whether the next answer is the one to a ping, and what was cancelled is gone.
func (s *server) silent() error {
	if _, err := s.request("ping", "{}"); err != nil {
		return err
	}
	if !eventually(20*time.Second, func() bool { return len(running(soakMark)) == 0 }) {
		return fmt.Errorf("%d processes of cancelled calls still run", len(running(soakMark)))
	}
	_, err := s.request("ping", "{}")
	return err
}

// soakSessions starts sessions, talks with each and ends it, some at a time.
func (l *lab) soakSessions(s *server, n int) error {
	const wide = 16
	for done := 0; done < n; done += wide {
		ids := make([]string, min(wide, n-done))
		stages := []struct {
			call func(i int) string
			look func(i int, r reply) error
		}{
			{func(int) string { return l.shell("cat # "+soakMark, "detach", true) }, func(i int, r reply) error {
				ids[i] = r.Session
				return nil
			}},
			{func(i int) string {
				return l.reading("session_id", ids[i], "command", "hello\n", "wait_for", "hello", "wait", 20)
			}, func(_ int, r reply) error {
				if r.Stdout != "hello\n" {
					return fmt.Errorf("the session answered %q", r.Stdout)
				}
				return nil
			}},
			{func(i int) string { return l.reading("session_id", ids[i], "action", "kill") }, func(int, reply) error { return nil }},
		}
		for _, stage := range stages {
			err := s.window(len(ids), wide, stage.call, func(i int, line []byte) error {
				r, err := decode(line)
				if err != nil {
					return err
				}
				return stage.look(i, r)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
