//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/backends/local"
	"cmd-exec-mcp/runtime/job"
	"github.com/rs/zerolog"
)

const hello = "echo hi"

// openLocal opens the backend in this process.
func openLocal() (backends.Backend, error) {
	return local.Driver.New().Open(context.Background(), backends.Env{Log: zerolog.Nop()})
}

// inProcess runs a command through the backend alone.
func (l *lab) inProcess(b backends.Backend, command string, to backends.IO) (time.Duration, error) {
	ctx := context.Background()
	began := time.Now()
	cmd, err := b.Resolve(ctx, job.Command{Script: command, Dir: l.work})
	if err != nil {
		return 0, err
	}
	p, err := b.Start(ctx, cmd, to)
	if err != nil {
		return 0, err
	}
	exit, err := p.Wait()
	if err == nil && exit.Code != 0 {
		err = fmt.Errorf("%s: exit status %d", command, exit.Code)
	}
	return time.Since(began), err
}

// runner is L1: what the backend adds to the bare start of a shell.
func runner(l *lab) error {
	floor, err := l.floor()
	if err != nil {
		return err
	}
	b, err := openLocal()
	if err != nil {
		return err
	}
	defer b.Close(context.Background())
	ours := func() (time.Duration, error) {
		var stdout, stderr bytes.Buffer
		took, err := l.inProcess(b, hello, backends.IO{Stdout: &stdout, Stderr: &stderr})
		if err == nil && stdout.String() != "hi\n" {
			err = fmt.Errorf("it printed %q", stdout.Bytes())
		}
		return took, err
	}
	p, err := alternate(l.rounds(900), ours, floor.timed(hello))
	if err != nil {
		return err
	}
	report("L1", p.ratio(), limit{bar: 1.15, goal: 1.08}, "bash -c 'echo hi' through the local backend, in process / floor %s", p.both("floor"))
	return nil
}

// overStdio is L2: what a client waits for.
func overStdio(l *lab) error {
	floor, err := l.floor()
	if err != nil {
		return err
	}
	call, end, err := l.helloOverStdio()
	if err != nil {
		return err
	}
	defer end()
	p, err := alternate(l.rounds(1500), call, floor.timed(hello))
	if err != nil {
		return err
	}
	report("L2", p.ratio(), limit{bar: 1.25, goal: 1.18}, "the same as a call over stdio / floor %s", p.both("floor"))
	report("L2.p99", p.tail(), limit{bar: 1.5, goal: 1.18}, "its 99th percentile / the floor's")
	report("L2.ms", milliseconds(p.difference().Seconds()), limit{bar: 0.5, goal: 0.3}, "milliseconds more than the floor")
	return nil
}

// helloOverStdio is the call, from a client in C where there is a compiler.
func (l *lab) helloOverStdio() (call timed, end func(), err error) {
	c, err := l.client()
	if err != nil {
		return nil, nil, err
	}
	if c != nil {
		return c.timed(l.shell(hello), `hi\n`), c.close, nil
	}
	s, err := l.serve()
	if err != nil {
		return nil, nil, err
	}
	return s.timed(l.shell(hello), `hi\n`), func() { s.close() }, nil
}

// cpuPerCall is L4.
func cpuPerCall(l *lab) error {
	ours, err := l.serve()
	if err != nil {
		return err
	}
	defer ours.close()
	stock, err := l.serveStock()
	if err != nil {
		return err
	}
	defer stock.close()
	var ratios []float64
	calls, lost := 0, 0
	var own, others time.Duration
	for range l.rounds(10) {
		a, missing, err := l.burst(ours, l.rounds(500))
		if err != nil {
			return err
		}
		b, _, err := l.burst(stock, l.rounds(200))
		if err != nil {
			return err
		}
		calls, lost = calls+l.rounds(500), lost+missing
		own, others = own+a, others+b
		ratios = append(ratios, a.Seconds()/b.Seconds())
	}
	n := time.Duration(len(ratios))
	report("L4", median(ratios), limit{bar: 0.5, goal: 0.25}, "the server's own CPU time a call / stock's (%.3f ms; stock %.3f ms)",
		milliseconds((own / n).Seconds()), milliseconds((others / n).Seconds()))
	report("L4.out", float64(lost), limit{}, "of %d calls, how many came without their output", calls)
	return nil
}

// burst makes n calls and returns the server's CPU time for one.
func (l *lab) burst(s *server, n int) (each time.Duration, lost int, err error) {
	before, err := cpu(s.cmd.Process.Pid)
	if err != nil {
		return 0, 0, err
	}
	call := l.shell(hello)
	for range n {
		line, err := s.request("tools/call", call)
		if err != nil {
			return 0, 0, err
		}
		if !bytes.Contains(line, []byte(`"stdout":"hi\n"`)) {
			lost++
		}
	}
	after, err := cpu(s.cmd.Process.Pid)
	return (after - before) / time.Duration(n), lost, err
}

// pings have ids from here on.
const firstPing = 1 << 20

// sideBySide is L5: 64 commands at once, and what a ping waits meanwhile.
func sideBySide(l *lab) error {
	const n, command = 64, "sleep 0.1"
	floor, err := l.floor()
	if err != nil {
		return err
	}
	s, err := l.serve()
	if err != nil {
		return err
	}
	defer s.close()
	var pings []float64
	ours := func() (time.Duration, error) {
		began := time.Now()
		waits, err := s.crowd(n, l.shell(command))
		pings = append(pings, waits...)
		return time.Since(began), err
	}
	p, err := alternate(l.rounds(60), ours, func() (time.Duration, error) {
		took, _, err := floor.run(n, false, command)
		return took, err
	})
	if err != nil {
		return err
	}
	report("L5", p.ratio(), limit{bar: 1.25, goal: 1.1}, "64 times `sleep 0.1` at once / floor %s", p.both("floor"))
	report("L5.png", milliseconds(lowest(pings, median)), limit{bar: 5, goal: 1}, "milliseconds that a ping waits meanwhile, median (99th percentile %.1f)", milliseconds(p99(pings)))
	return nil
}

// crowd makes n calls at once and pings until all are answered. It returns what the pings waited, in seconds.
func (s *server) crowd(n int, call string) (waits []float64, err error) {
	for range n {
		if _, err := s.send("tools/call", call); err != nil {
			return nil, err
		}
	}
	var mu sync.Mutex
	sent := map[int]time.Time{}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for id := firstPing; ; id++ {
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
			}
			mu.Lock()
			sent[id] = time.Now()
			mu.Unlock()
			s.write(message(id, "ping", "{}"))
		}
	}()
	for left := n; left > 0; {
		id, _, err := s.response()
		if err != nil {
			return nil, err
		}
		if id < firstPing {
			left--
			continue
		}
		mu.Lock()
		waits = append(waits, time.Since(sent[id]).Seconds())
		delete(sent, id)
		mu.Unlock()
	}
	close(stop)
	<-stopped
	for left := len(sent); left > 0; left-- {
		if _, _, err := s.response(); err != nil {
			return nil, err
		}
	}
	return waits, nil
}
