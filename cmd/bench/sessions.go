//go:build linux

package main

import (
	"fmt"
	"runtime"
	"time"

	"cmd-exec-mcp/runtime/job"
	"cmd-exec-mcp/runtime/stream"
)

// idleLog is the memory of a log that holds one line, in KiB.
func idleLog() float64 {
	const n = 200
	heap := func() uint64 {
		runtime.GC()
		runtime.GC() // the first one only moves what the pools hold
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	logs := make([]*stream.Log, n)
	for i := range logs {
		logs[i] = stream.NewLog(stream.Limits{Bytes: 10 << 20, Lines: 10_000}, nil)
		logs[i].Append(job.Stdout, []byte(">>> \n"))
	}
	after := heap()
	runtime.KeepAlive(logs)
	return float64(after-before) / n / 1024
}

// sessionLines is B2: a session that prints 200,000 numbered lines, read to its end by a client.
func sessionLines(l *lab) error {
	lines := 200_000
	if l.short {
		lines = 20_000
	}
	command := fmt.Sprintf("seq -f %%079.0f %d", lines)
	floor, err := l.floor()
	if err != nil {
		return err
	}
	s, err := l.serve()
	if err != nil {
		return err
	}
	defer s.close()
	var all transcript
	ours := func() (time.Duration, error) {
		began := time.Now()
		t, err := s.follow(l, command)
		took := time.Since(began)
		if err == nil && t.delivered+t.dropped != int64(lines)*80 {
			err = fmt.Errorf("%d bytes came and %d were said to be dropped, of %d", t.delivered, t.dropped, lines*80)
		}
		all.add(t)
		return took, err
	}
	p, err := alternate(l.rounds(20), ours, floor.timed(command))
	if err != nil {
		return err
	}
	runs := float64(all.runs)
	report("B2", p.ratio(), limit{bar: 3, goal: 2}, "%d lines of a session read to the end over stdio / floor %s", lines, p.both("floor"))
	report("B2.sent", float64(all.delivered)/float64(all.fresh), limit{bar: 1.1, goal: 1}, "bytes of output in all replies / bytes that had not come before (the wire: %.2f, since results stand there twice)",
		float64(all.wire)/float64(all.fresh))
	report("B2.miss", 0, limit{}, "lines neither delivered nor counted (per run %.0f delivered, %.0f counted as dropped, in %.0f replies)",
		float64(all.delivered)/80/runs, float64(all.dropped)/80/runs, float64(all.replies)/runs)
	report("B2.mem", memory(s.cmd.Process.Pid, "VmHWM"), limit{bar: 40, goal: 25}, "MiB of memory at most meanwhile")
	return nil
}

// transcript is what came of a session.
type transcript struct {
	delivered, dropped, fresh, wire int64
	replies, runs                   int
}

func (t *transcript) add(o transcript) {
	t.delivered, t.dropped, t.fresh, t.wire = t.delivered+o.delivered, t.dropped+o.dropped, t.fresh+o.fresh, t.wire+o.wire
	t.replies, t.runs = t.replies+o.replies, t.runs+1
}

// follow starts a session and reads it to its end. Each line holds its number, so that a wrong one would show.
func (s *server) follow(l *lab, command string) (t transcript, err error) {
	before := s.read
	r, err := s.call(l.shell(command, "detach", true, "limit", 1<<20))
	if err != nil {
		return t, err
	}
	id, seen := r.Session, int64(0)
	for {
		t.replies++
		t.delivered += int64(len(r.Stdout))
		t.dropped += r.Dropped
		t.fresh += r.Next - seen - r.Dropped
		if err := checkLines(r, seen); err != nil {
			return t, err
		}
		quiet := r.Next == seen
		seen = r.Next
		if quiet && !r.Running {
			t.wire = s.read - before
			return t, nil
		}
		more := []any{"session_id", id, "action", "read", "limit", 1 << 20}
		if quiet {
			more = append(more, "wait", 5)
		}
		if r, err = s.call(l.reading(more...)); err != nil {
			return t, err
		}
	}
}

func (l *lab) reading(more ...any) string {
	arguments := map[string]any{}
	for i := 0; i+1 < len(more); i += 2 {
		arguments[more[i].(string)] = more[i+1]
	}
	return params("execute_local", arguments)
}

// checkLines compares the last whole line of a reply with its position.
func checkLines(r reply, seen int64) error {
	end := r.Next - r.Next%80
	at := int64(len(r.Stdout)) - (r.Next - end) - 80
	if at < 0 || end <= seen {
		return nil
	}
	if want := fmt.Sprintf("%079d\n", end/80); r.Stdout[at:at+80] != want {
		return fmt.Errorf("at position %d there is %q, not %q", end-80, r.Stdout[at:at+80], want)
	}
	return nil
}
