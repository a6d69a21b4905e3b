// Package runtime is the engine: one request through policy, hooks and backend. The order of things lives here and
// nothing else does. It has a standard package's name, so only main imports it (as rt).
package runtime

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/runtime/audit"
	"cmd-exec-mcp/runtime/config"
	"cmd-exec-mcp/runtime/job"
	"cmd-exec-mcp/runtime/session"
	"cmd-exec-mcp/runtime/stream"
	"github.com/rs/zerolog"
)

// Engine runs requests. It is safe for concurrent use until Close.
type Engine struct {
	env       Env
	log       zerolog.Logger
	table     *session.Table
	audit     *audit.Log // nil: none
	data      string
	outputs   string
	protect   []string // files and folders that no output file may touch
	now       atomic.Pointer[generation]
	reloading sync.Mutex
}

// tool is a declared tool with everything it needs opened.
type tool struct {
	config.Tool
	generation *generation
	targets    []target
	hooks      []hook
	secrets    []string // values of the server's own environment that never appear in output
}

type target struct {
	name    string
	backend backends.Backend
	shared  *shared
}

type hook struct {
	hooks.Named
	shared *shared
}

// Env is what the engine gets from main.
type Env struct {
	Data     string // this instance's folder; it exists and goes with the instance
	Outputs  string // where relative output files go if the working directory is not on this host
	Cache    string // a folder that outlives the instance
	Instance string
	Log      zerolog.Logger
	Environ  []string // the server's environment, for the values that redaction hides
	Audit    *audit.Log
	Protect  []string // files and folders that no output file may touch: the config, the log
}

// queue is how long a call waits for one of server(max_concurrent=) slots.
const queue = 5 * time.Second

// keepEnded and keepNewest say how long and how many ended sessions can be read.
const (
	keepEnded  = 10 * time.Minute
	keepNewest = 64
)

// spillAbove is how much output all logs together keep in memory before they use files.
const spillAbove = 64 << 20

// New opens what the config declares. Nothing is dialled. On an error everything that was opened is closed.
func New(ctx context.Context, c *config.Config, env Env) (*Engine, error) {
	e := &Engine{env: env, log: env.Log, audit: env.Audit, data: env.Data, outputs: env.Outputs}
	for _, own := range slices.Concat(env.Protect, c.Files) {
		e.protect = append(e.protect, realPath(own))
	}
	e.table = session.NewTable(limitsOf(c), stream.NewSpill(filepath.Join(env.Data, "spill"), spillAbove))
	first, err := e.generation(ctx, c, nil)
	if err != nil {
		return nil, err
	}
	e.now.Store(first)
	return e, nil
}

func limitsOf(c *config.Config) session.Limits {
	d := c.Defaults
	return session.Limits{
		Attached: c.Server.MaxConcurrent, Sessions: c.Server.MaxSessions,
		Output:  stream.Limits{Bytes: d.MaxOutput},
		Session: stream.Limits{Bytes: d.SessionMaxBytes, Lines: d.SessionMaxLines},
		Inline:  d.InlineLimit, Preview: d.OutputLimit, Alive: d.AliveTimeout, MaxLife: d.MaxLife,
		Queue: queue, Keep: keepEnded, Kept: keepNewest,
	}
}

// secretValues are the values of variables whose names say that they are secret.
func secretValues(rules *stream.Rules, environ []string) []string {
	values := map[string]string{}
	var names []string
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		values[name] = value
		names = append(names, name)
	}
	var secrets []string
	for _, name := range rules.EnvNames(names) {
		secrets = append(secrets, values[name])
	}
	return secrets
}

// tool finds a tool by name. Kind: NotFound.
func (e *Engine) tool(name string) (*tool, error) {
	var names []string
	for _, t := range e.now.Load().tools {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return nil, job.Errorf(job.NotFound, "no tool %q", name).WithHint("one of [%s]", strings.Join(names, " "))
}

// target finds one of the tool's backends; "" is the first. Kind: NotFound.
func (t *tool) target(name string) (target, error) {
	if name == "" {
		return t.targets[0], nil
	}
	var names []string
	for _, target := range t.targets {
		if target.name == name {
			return target, nil
		}
		names = append(names, target.name)
	}
	return target{}, job.Errorf(job.NotFound, "no target %q", name).WithHint("one of [%s]", strings.Join(names, " "))
}

// logName is the name in the log's lines: local, sandbox, remote for the standard tools, as in the original.
func (t *tool) logName() string {
	if name, ok := strings.CutPrefix(t.Name, "execute_"); ok {
		return name
	}
	return t.Name
}

// Running returns how many commands have not ended, sessions included.
func (e *Engine) Running() int { return e.table.Running() }

// Check asks every backend that can tell how it is, in the order they are declared.
func (e *Engine) Check(ctx context.Context) []job.Check {
	var checks []job.Check
	seen := map[backends.Backend]bool{}
	for _, t := range e.now.Load().tools {
		for _, target := range t.targets {
			checker, ok := target.backend.(backends.Checker)
			if ok && !seen[target.backend] {
				checks = append(checks, checker.Check(ctx)...)
			}
			seen[target.backend] = true
		}
	}
	return checks
}

// Close ends what runs by the kill ladder, then closes backends and hooks. ctx bounds it all.
func (e *Engine) Close(ctx context.Context) error {
	e.table.Close(ctx)
	e.reloading.Lock()
	defer e.reloading.Unlock()
	var errs []error
	for _, s := range e.now.Load().opened {
		errs = append(errs, s.shut(ctx))
	}
	return errors.Join(errors.Join(errs...), os.RemoveAll(filepath.Join(e.data, "spill")))
}
