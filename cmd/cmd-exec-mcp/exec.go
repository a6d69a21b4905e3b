package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"cmd-exec-mcp/runtime/job"
	"github.com/spf13/cobra"
)

// execFlags are the call's parameters that make sense at a terminal.
type execFlags struct {
	dir     string
	shell   string
	timeout float64
	env     []string
	stdin   bool
}

func (a *app) execVerb() *cobra.Command {
	var f execFlags
	cmd := &cobra.Command{
		Use:   "exec TOOL -- COMMAND",
		Short: "Run a command as an agent would: same rules, same engine",
		Long: `exec runs one command through a tool of the config: policy, hooks and backend are
the ones an agent gets. Output streams as it comes. TOOL is a tool's name; "local"
is short for execute_local. "TOOL@TARGET" chooses a target; a group, or several
targets with commas, gives lines with the host before them and a table at the end.

The exit status is the command's. 124: it timed out; 125: it could not be run;
126: policy refused it.`,
		Example: `  cmd-exec-mcp exec local -- 'echo hi'
  cmd-exec-mcp exec local --timeout 5 -- 'make test'
  cmd-exec-mcp exec remote@web -- uptime
  tar c . | cmd-exec-mcp exec local --stdin -- 'tar t | wc -l'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return &status{exitConfig, job.Errorf(job.Invalid, "exec needs a tool and a command").WithHint("cmd-exec-mcp exec local -- 'echo hi'")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.exec(cmd.Context(), args[0], strings.Join(args[1:], " "), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.dir, "cwd", "", "working directory (default: this one)")
	flags.StringVar(&f.shell, "shell", "", "the shell that runs it (default: as configured)")
	flags.Float64Var(&f.timeout, "timeout", 0, "seconds until it is killed, -1 for none (default: as configured)")
	flags.StringArrayVar(&f.env, "env", nil, "NAME=value, may be given several times")
	flags.BoolVarP(&f.stdin, "stdin", "i", false, "pass this command's own input on")
	return cmd
}

func (a *app) exec(ctx context.Context, name, text string, f execFlags) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	req, err := a.request(name, text, f)
	if err != nil {
		return &status{exitFailed, err}
	}
	o, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer o.close()
	t := find(o, req.Tool)
	req.Tool = t.Name
	if t.Isolated && f.dir == "" {
		req.Command.Dir = "" // where the user stands means nothing in a sandbox
	}
	names, several, err := hosts(o, t, req.Target)
	if err != nil {
		return &status{exitFailed, err}
	}
	if several {
		return a.execHosts(ctx, o, req, names)
	}
	result, err := o.Exec(ctx, req, &terminal{stdout: a.stdout, stderr: a.stderr})
	for _, note := range result.Notes {
		fmt.Fprintf(a.stderr, "cmd-exec-mcp: %s\n", note)
	}
	return outcome(result, err)
}

// outcome turns the answer into our exit status.
func outcome(result job.Result, err error) error {
	switch {
	case err == nil && result.Exit.Cause == job.TimedOut:
		return &status{exitTimeout, fmt.Errorf("killed: it did not end within its timeout (%.1f s)", result.Elapsed.Seconds())}
	case err == nil && result.Exit.Code == 0:
		return nil
	case err == nil:
		return &status{result.Exit.Code, nil}
	case job.KindOf(err) == job.Denied:
		return &status{exitDenied, err}
	case job.KindOf(err) == job.Canceled:
		return &status{128 + int(syscall.SIGINT), errors.New("interrupted")}
	}
	return &status{exitFailed, err}
}

// request makes the call that an agent would make.
func (a *app) request(name, text string, f execFlags) (job.Request, error) {
	tool, target, _ := strings.Cut(name, "@")
	req := job.Request{Tool: tool, Target: target, Wait: job.Unlimited, Timeout: time.Duration(f.timeout * float64(time.Second))}
	if f.timeout < 0 {
		req.Timeout = job.Unlimited
	}
	dir, err := workingDir(f.dir)
	if err != nil {
		return req, err
	}
	req.Command = job.Command{Script: text, Shell: f.shell, Dir: dir, Env: map[string]string{}}
	for _, pair := range f.env {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return req, job.Errorf(job.Invalid, "--env %s has no value", pair).WithHint("write --env NAME=value")
		}
		req.Command.Env[name] = value
	}
	if f.stdin {
		req.Command.Stdin = job.StdinBytes
		req.Command.Input, err = io.ReadAll(a.stdin)
	}
	return req, err
}

// find allows "local" for execute_local, unless a tool has the short name itself.
func find(o *opened, name string) job.Tool {
	found := job.Tool{Name: name}
	for _, t := range o.Tools() {
		if t.Name == name {
			return t
		}
		if t.Name == "execute_"+name {
			found = t
		}
	}
	return found
}

// terminal is the sink of a person at a terminal.
type terminal struct {
	mu             sync.Mutex
	stdout, stderr io.Writer
}

func (t *terminal) Event(e job.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Stream == job.Stderr {
		t.stderr.Write(e.Data)
		return
	}
	t.stdout.Write(e.Data)
}

func (t *terminal) Progress(p job.Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.stderr, "cmd-exec-mcp: %s\n", p.Message)
}

func (t *terminal) Ask(context.Context, job.Question) (job.Answer, error) { return job.Unasked, nil }
