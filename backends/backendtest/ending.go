package backendtest

import (
	"context"
	"strings"
	"sync"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
)

func (s *suite) contextBoundsStart() {
	ctx, cancel := context.WithCancel(s.context())
	cmd, err := s.backend.Resolve(ctx, s.command(job.Command{Script: "sleep 0.3; echo still here"}))
	if err != nil {
		s.Fatal(err)
	}
	r := &run{s: s}
	r.process, err = s.backend.Start(ctx, cmd, backends.IO{Stdout: &r.stdout, Stderr: &r.stderr})
	cancel()
	if err != nil {
		s.Fatal(err)
	}
	r.expect("still here\n", "", 0)
}

func (s *suite) canceledStart() {
	cmd, err := s.backend.Resolve(s.context(), s.command(job.Command{Script: "echo ran"}))
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	var out output
	if p, err := s.backend.Start(ctx, cmd, backends.IO{Stdout: &out, Stderr: &out}); err == nil {
		p.Kill(s.context())
		s.Error("it started under a context that was over")
	}
	if out.String() != "" {
		s.Errorf("Start failed and yet there is output: %q", out.String())
	}
}

func (s *suite) signal(signal job.Signal, name string) {
	r := s.script("trap 'echo got; exit 7' " + name + "; echo ready; while :; do sleep 0.05; done")
	r.until("ready")
	if err := r.process.Signal(s.context(), signal); err != nil {
		s.Fatal(err)
	}
	if exit := r.wait(); exit.Code != 7 || !strings.Contains(r.stdout.String(), "got") {
		s.Errorf("%+v %q", exit, r.stdout.String())
	}
}

func (s *suite) interrupt() { s.signal(job.Interrupt, "INT") }
func (s *suite) terminate() { s.signal(job.Terminate, "TERM") }

// Every process of the tree writes to a file as long as it lives; a kill is believed when the files stand still.
func (s *suite) killTree() {
	r := s.script(`trap '' INT TERM
d=$(mktemp -d /tmp/suite.XXXXXX); echo "dir $d"
beat() { while :; do echo x >>"$d/$1"; sleep 0.05; done; }
(trap '' INT TERM HUP; beat child) &
(trap '' INT TERM HUP; (beat grandchild) & wait) &
(beat pipe | cat >/dev/null) &
while [ ! -s "$d/child" ] || [ ! -s "$d/grandchild" ] || [ ! -s "$d/pipe" ]; do sleep 0.02; done
echo ready
sleep 300 & wait; sleep 300`)
	r.until("ready")
	dir := strings.TrimPrefix(strings.SplitN(r.stdout.String(), "\n", 2)[0], "dir ")
	r.process.Signal(s.context(), job.Terminate)
	if err := r.process.Kill(s.context()); err != nil {
		s.Error(err)
	}
	exit := r.wait()
	if exit.Code != 137 || exit.Signal != "KILL" || len(exit.Survivors) > 0 {
		s.Errorf("%+v, want code 137, signal KILL and no survivors", exit)
	}
	if !s.properties.Sandbox {
		r = s.start(job.Command{Script: `a=$(cat "$D"/* | wc -c); sleep 0.4; b=$(cat "$D"/* | wc -c); [ "$a" = "$b" ] && echo gone; rm -r "$D"`, Env: map[string]string{"D": dir}})
		r.expect("gone\n", "", 0)
	}
}

func (s *suite) killKeepsOutput() {
	r := s.script("echo partial; echo problem >&2; sleep 300")
	r.until("partial")
	time.Sleep(50 * time.Millisecond) // stderr has no wait of its own
	if err := r.process.Kill(s.context()); err != nil {
		s.Error(err)
	}
	r.expect("partial\n", "problem\n", 137)
}

func (s *suite) signalAfterEnd() {
	r := s.script("exit 2")
	r.wait()
	for _, signal := range []job.Signal{job.Interrupt, job.Terminate, job.Kill} {
		if err := r.process.Signal(s.context(), signal); err != nil {
			s.Errorf("signal %d after the end: %v", signal, err)
		}
	}
	if err := r.process.Kill(s.context()); err != nil {
		s.Errorf("Kill after the end: %v", err)
	}
	if exit := r.wait(); exit.Code != 2 || exit.Cause != job.Exited {
		s.Errorf("the answer changed: %+v", exit)
	}
}

func (s *suite) waitForAll() {
	r := s.script("sleep 0.1; exit 9")
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if exit, err := r.process.Wait(); exit.Code != 9 || err != nil {
				s.Errorf("%+v %v", exit, err)
			}
		})
	}
	all.Wait()
}

func (s *suite) closeEndsAll() {
	own := *s
	own.backend = s.open(s.T)
	running := own.script("echo ready; sleep 300")
	running.until("ready")
	background := own.script("sleep 300 & echo hi")
	background.expect("hi\n", "", 0)
	if err := own.backend.Close(s.context()); err != nil {
		s.Errorf("Close: %v", err)
	}
	ended := make(chan struct{})
	go func() {
		running.process.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(s.o.Patience):
		s.Error("Close left a command running")
	}
}

func (s *suite) startAfterClose() {
	own := *s
	own.backend = s.open(s.T)
	if err := own.backend.Close(s.context()); err != nil {
		s.Fatal(err)
	}
	if err := own.backend.Close(s.context()); err != nil {
		s.Errorf("closing again: %v", err)
	}
	if _, err := own.try(job.Command{Script: "true"}); err == nil {
		s.Error("it started on a closed backend")
	}
}
