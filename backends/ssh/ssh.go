// Package ssh runs commands on another host, over connections that stay.
//
// Every command is run by an outer shell on the far side, which reads it from the channel's stdin: so no value stands in
// an argv, and the text is parsed last by the shell it was checked for, whatever the account's login shell is. One outer
// shell waits ready on each connection. It says on both streams how the command ended; the protocol's own exit status
// comes too early for the output and too late where a background process holds it.
//
// Closing a channel, or losing the connection, ends nothing on the far side. A control shell on each connection does: it
// kills on request, finds a command's processes by a marker in their environment, and ends them all when its input ends.
package ssh

import (
	"context"
	"slices"
	"strings"
	"sync"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
	"github.com/rs/zerolog"
)

// Backend is an opened ssh(...).
type Backend struct {
	config        *Config
	key, password string
	log           zerolog.Logger
	pool          *pool
	life          context.Context // ends when Close begins
	stop          context.CancelFunc

	mu     sync.Mutex
	live   map[*process]struct{}
	closed bool
}

// Open dials nothing.
func (c *Config) Open(_ context.Context, env backends.Env) (backends.Backend, error) {
	key, password, err := c.credentials()
	if err != nil {
		return nil, err
	}
	b := &Backend{config: c, key: key, password: password, log: env.Log.With().Str("name", "ssh").Str("target", c.Target).Logger(), live: map[*process]struct{}{}}
	b.life, b.stop = context.WithCancel(context.Background())
	b.pool = newPool(b)
	return b, nil
}

// Properties are static. The shell is the one that is hoped for: what the host has is known only when it was reached.
func (b *Backend) Properties() backends.Properties {
	p := backends.Properties{Name: "ssh", Shells: []string{"bash"}, Stdin: true, TTY: true, KillTree: true, Isolated: true}
	if b.config.Shell != "" {
		p.Shells[0] = b.config.Shell
	}
	return p
}

// Resolve connects where no connection is there: only the host knows its shells and where a command begins.
func (b *Backend) Resolve(ctx context.Context, cmd job.Command) (job.Command, error) {
	if err := checkCommand(cmd); err != nil {
		return cmd, err
	}
	f, err := b.pool.facts(ctx)
	if err != nil {
		return cmd, err
	}
	switch {
	case cmd.Dir == "":
		cmd.Dir = f.home
	case cmd.Dir == "~" || strings.HasPrefix(cmd.Dir, "~/"):
		if f.home != "" {
			cmd.Dir = f.home + cmd.Dir[1:]
		}
	}
	if len(cmd.Argv) > 0 {
		cmd.Shell = ""
		return cmd, nil
	}
	if cmd.Shell == "" {
		cmd.Shell = b.config.Shell
	}
	if cmd.Shell == "" {
		cmd.Shell = f.shell()
	}
	if f.path(cmd.Shell) == "" {
		return cmd, job.Errorf(job.NotFound, "%s has no shell %s", b.config.Target, cmd.Shell).WithHint("the shells that text can run in there: %s", strings.Join(f.shells(), ", "))
	}
	return cmd, nil
}

// maxArgument is what Linux takes as one argument or variable, its closing NUL left out.
const maxArgument = 128<<10 - 1

func checkCommand(cmd job.Command) error {
	for _, text := range slices.Concat(cmd.Argv, []string{cmd.Script, cmd.Dir}) {
		switch {
		case strings.ContainsRune(text, 0):
			return invalid("the command holds a NUL byte", "no system takes one in an argument; send it on stdin")
		case len(text) > maxArgument:
			return invalid("the command, or one of its arguments, is longer than the 128 KiB that Linux takes", "send it on stdin, or write it to a file first")
		}
	}
	for name, value := range cmd.Env {
		switch {
		case !isName(name) || strings.ContainsRune(value, 0):
			return invalid("env has the name "+name+", or a NUL byte in its value", "names are letters, digits and underscores")
		case len(name)+1+len(value) > maxArgument:
			return invalid("the variable "+name+" is longer than the 128 KiB that Linux takes", "send it on stdin, or write it to a file first")
		}
	}
	if d := cmd.Dir; d != "" && d != "~" && !strings.HasPrefix(d, "~/") && d[0] != '/' {
		return invalid("the working directory "+d+" is not absolute", "give the whole path on the remote host, from /")
	}
	return nil
}

// Close ends what still runs, background processes of finished commands included, and closes the connections. Within ctx
// it waits until the far side has confirmed.
func (b *Backend) Close(ctx context.Context) error {
	b.mu.Lock()
	b.closed = true
	live := make([]*process, 0, len(b.live))
	for p := range b.live {
		p.killed.Store(true)
		live = append(live, p)
	}
	b.mu.Unlock()
	b.stop()
	b.pool.close(ctx)
	for _, p := range live {
		p.giveUp(ctx)
	}
	return nil
}

// enter takes a started process into the list that Close ends; it refuses when Close has begun.
func (b *Backend) enter(p *process) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.live[p] = struct{}{}
	return true
}

func (b *Backend) leave(p *process) {
	b.mu.Lock()
	delete(b.live, p)
	b.mu.Unlock()
}

func errClosed() error { return job.Errorf(job.Canceled, "the server is shutting down") }
