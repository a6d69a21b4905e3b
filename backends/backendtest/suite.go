// Package backendtest is the suite that every backend passes, against the real thing.
//
// A check is a line in checks: adding one adds it for all. What backends may differ in is a field of Properties or an
// optional interface, asked here; a check that does not apply passes. There are no exceptions by name. Commands are POSIX shell text and use /tmp inside the backend.
package backendtest

import (
	"bytes"
	"context"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
)

// Options is what the suite cannot know of a backend.
type Options struct {
	Command  job.Command     // what every command starts from, like its image; Dir "" means /tmp
	Patience time.Duration   // how long one step may take; 0 means 30 seconds
	Left     func() []string // what is left of closed backends, asked at the end; nil: not asked
}

var checks = []struct {
	name string
	run  func(*suite)
}{
	{"StreamsApart", (*suite).streamsApart},
	{"BinaryOutput", (*suite).binaryOutput},
	{"MegabyteOnEach", (*suite).megabyteOnEach},
	{"SideBySide", (*suite).sideBySide},
	{"ExitCode", (*suite).exitCode},
	{"SignalNamed", (*suite).signalNamed},
	{"NotFound", (*suite).notFound},
	{"NotExecutable", (*suite).notExecutable},
	{"Argv", (*suite).argv},
	{"TextLikeAnOption", (*suite).textLikeAnOption},
	{"LongText", (*suite).longText},
	{"Environment", (*suite).environment},
	{"Directory", (*suite).directory},
	{"DirectoryErrors", (*suite).directoryErrors},
	{"Shells", (*suite).shells},
	{"Resolve", (*suite).resolve},
	{"Login", (*suite).login},
	{"StdinNull", (*suite).stdinNull},
	{"StdinBytes", (*suite).stdinBytes},
	{"StdinUnread", (*suite).stdinUnread},
	{"StdinPipe", (*suite).stdinPipe},
	{"StdinOfTheKilled", (*suite).stdinOfTheKilled},
	{"Prompt", (*suite).prompt},
	{"Terminal", (*suite).terminal},
	{"TerminalInput", (*suite).terminalInput},
	{"NoTerminal", (*suite).noTerminal},
	{"BackgroundHoldsOutput", (*suite).backgroundHoldsOutput},
	{"NothingAfterWait", (*suite).nothingAfterWait},
	{"ContextBoundsStart", (*suite).contextBoundsStart},
	{"CanceledStart", (*suite).canceledStart},
	{"Interrupt", (*suite).interrupt},
	{"Terminate", (*suite).terminate},
	{"KillTree", (*suite).killTree},
	{"KillKeepsOutput", (*suite).killKeepsOutput},
	{"SignalAfterEnd", (*suite).signalAfterEnd},
	{"WaitForAll", (*suite).waitForAll},
	{"Files", (*suite).files},
	{"Runner", (*suite).runner},
	{"CloseEndsAll", (*suite).closeEndsAll},
	{"StartAfterClose", (*suite).startAfterClose},
}

// Run runs the suite. open opens a fresh backend; the suite closes it.
func Run(t *testing.T, open func(t *testing.T) backends.Backend, o Options) {
	if o.Command.Dir == "" {
		o.Command.Dir = "/tmp"
	}
	if o.Patience == 0 {
		o.Patience = 30 * time.Second
	}
	shared := open(t)
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			c.run(&suite{T: t, backend: shared, properties: shared.Properties(), open: open, o: o})
		})
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.Patience)
	defer cancel()
	if err := shared.Close(ctx); err != nil {
		t.Errorf("Close: %v", err)
	}
	if o.Left != nil {
		if left := o.Left(); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

type suite struct {
	*testing.T
	backend    backends.Backend
	properties backends.Properties
	open       func(*testing.T) backends.Backend
	o          Options
}

// run is one command that has been started.
type run struct {
	s              *suite
	process        backends.Process
	stdout, stderr output
}

// output collects a stream and can be waited on. Once shut, a write is an error of the backend's.
type output struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	shut bool
	late int
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.shut {
		o.late += len(p)
	}
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

func (o *output) close() {
	o.mu.Lock()
	o.shut = true
	o.mu.Unlock()
}

// command fills in what the suite's owner asked for.
func (s *suite) command(cmd job.Command) job.Command {
	base := s.o.Command.Clone()
	base.Script, base.Argv, base.Stdin, base.Input, base.TTY, base.Login = cmd.Script, cmd.Argv, cmd.Stdin, cmd.Input, cmd.TTY, cmd.Login
	if cmd.Shell != "" {
		base.Shell = cmd.Shell
	}
	if cmd.Dir != "" {
		base.Dir = cmd.Dir
	}
	if base.Env == nil {
		base.Env = map[string]string{}
	}
	maps.Copy(base.Env, cmd.Env)
	return base
}

func (s *suite) context() context.Context {
	ctx, cancel := context.WithTimeout(s.Context(), s.o.Patience)
	s.Cleanup(cancel)
	return ctx
}

// try resolves and starts cmd, and ends what it started when the test is over.
func (s *suite) try(cmd job.Command) (*run, error) {
	s.Helper()
	ctx := s.context()
	resolved, err := s.backend.Resolve(ctx, s.command(cmd))
	if err != nil {
		return nil, err
	}
	r := &run{s: s}
	r.process, err = s.backend.Start(ctx, resolved, backends.IO{Stdout: &r.stdout, Stderr: &r.stderr})
	if err != nil {
		return r, err
	}
	s.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), s.o.Patience)
		defer cancel()
		r.process.Kill(ctx)
	})
	return r, nil
}

func (s *suite) start(cmd job.Command) *run {
	s.Helper()
	r, err := s.try(cmd)
	if err != nil {
		s.Fatalf("start %q%q: %v", cmd.Script, cmd.Argv, err)
	}
	return r
}

func (s *suite) script(text string) *run {
	s.Helper()
	return s.start(job.Command{Script: text})
}

// wait returns how the command ended, and fails the test when that takes too long.
func (r *run) wait() job.Exit {
	r.s.Helper()
	type answer struct {
		exit job.Exit
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		exit, err := r.process.Wait()
		r.stdout.close()
		r.stderr.close()
		got <- answer{exit, err}
	}()
	select {
	case a := <-got:
		if a.err != nil {
			r.s.Fatalf("Wait: %v", a.err)
		}
		return a.exit
	case <-time.After(r.s.o.Patience):
		r.s.Fatalf("Wait did not return; stdout %q stderr %q", r.stdout.String(), r.stderr.String())
		return job.Exit{}
	}
}

// until waits for text on stdout.
func (r *run) until(text string) {
	r.s.Helper()
	for deadline := time.Now().Add(r.s.o.Patience); !strings.Contains(r.stdout.String(), text); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.s.Fatalf("no %q on stdout: %q, stderr %q", text, r.stdout.String(), r.stderr.String())
		}
	}
}

// expect waits for the end and compares everything.
func (r *run) expect(stdout, stderr string, code int) {
	r.s.Helper()
	exit := r.wait()
	if got := r.stdout.String(); got != stdout {
		r.s.Errorf("stdout %q, want %q", clip(got), clip(stdout))
	}
	if got := r.stderr.String(); got != stderr {
		r.s.Errorf("stderr %q, want %q", clip(got), clip(stderr))
	}
	if exit.Code != code {
		r.s.Errorf("exit code %d, want %d (%+v)", exit.Code, code, exit)
	}
}

func clip(s string) string {
	if len(s) > 400 {
		return s[:200] + "..." + s[len(s)-200:]
	}
	return s
}

// kind fails the test unless err has kind and says one of words.
func (s *suite) kind(err error, kind job.Kind, words ...string) {
	s.Helper()
	if err == nil {
		s.Errorf("no error, want kind %v", kind)
		return
	}
	if got := job.KindOf(err); got != kind {
		s.Errorf("kind %v, want %v: %v", got, kind, err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			s.Errorf("the error does not speak of %q: %v", w, err)
		}
	}
}
