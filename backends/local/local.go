// Package local runs commands on this host.
//
// A command is one fork and one exec: the shell itself, in a process group of its own, never a shell around a shell.
// What a tree cannot escape from differs by system and is kept in the files forest_*.go.
package local

import (
	"context"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
	"github.com/rs/zerolog"
)

// Driver puts local(...) into config.star.
var Driver = backends.Driver{
	Name: "local",
	Doc:  "commands run on this host, as the user who started the server",
	New: func() backends.Config {
		return &Config{WSLDistro: "kali-linux", WSLUser: "kali"}
	},
}

// Config is what config.star says of this host.
type Config struct {
	Shell              string            `star:"shell" doc:"the shell of calls that name none: bash, sh, zsh, pwsh, cmd or wsl; unset: bash, else sh (on Windows cmd)"`
	Env                map[string]string `star:"env" doc:"variables that every command gets"`
	EnvPass            []string          `star:"env_pass" doc:"names of the server's variables that commands inherit beside PATH, HOME, LANG and their like; * and ? match"`
	WSLDistro          string            `star:"wsl_distro" doc:"the distribution that shell=wsl runs in"`
	WSLUser            string            `star:"wsl_user" doc:"the user in that distribution"`
	PathFromLoginShell bool              `star:"path_from_login_shell" doc:"take PATH from the user's login shell, once; for servers that a desktop program starts with a thin PATH"`
	Encoding           string            `star:"encoding" doc:"the encoding of what commands print, like gbk; unset: UTF-8 (on Windows the console's code page)"`
}

var (
	_ backends.Config  = (*Config)(nil)
	_ backends.Backend = (*backend)(nil)
	_ backends.Filer   = (*backend)(nil)
	_ backends.Checker = (*backend)(nil)
	_ backends.Process = (*process)(nil)
)

// Validate implements backends.Config.
func (c *Config) Validate() error {
	if c.Shell != "" && !slices.Contains(known, c.Shell) {
		return job.Errorf(job.Invalid, "shell: %q is no shell that this server knows", c.Shell).
			WithHint("one of %s", strings.Join(known, ", "))
	}
	for name, value := range c.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return job.Errorf(job.Invalid, "env: %q cannot be a variable", name).
				WithHint("a name has no = and neither name nor value has a NUL byte")
		}
	}
	for _, pattern := range c.EnvPass {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return job.Errorf(job.Invalid, "env_pass: %q is no pattern", pattern).
				WithHint(`write a name, or a pattern like "AWS_*"`)
		}
	}
	return nil
}

// Open implements backends.Config. It looks for the shells and starts nothing.
func (c *Config) Open(_ context.Context, env backends.Env) (backends.Backend, error) {
	b := &backend{
		config:   *c,
		log:      env.Log,
		secrets:  env.Secrets,
		shells:   findShells(),
		scratch:  make(chan *[readSize]byte, 16),
		live:     map[*process]struct{}{},
		forest:   newForest(env.Log),
		encoding: c.Encoding,
	}
	if b.encoding == "" {
		b.encoding = consoleEncoding()
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, job.Errorf(job.Unavailable, "%s cannot be opened: %w", os.DevNull, err).WithHint("this host lacks what every command needs")
	}
	b.null = null
	b.base = sync.OnceValue(b.inherited)
	b.loginPath = sync.OnceValue(b.findLoginPath)
	for _, name := range known {
		if _, ok := b.shells[name]; ok {
			b.names = append(b.names, name)
		}
	}
	if i := slices.Index(b.names, c.Shell); i > 0 {
		b.names = append([]string{c.Shell}, slices.Delete(b.names, i, i+1)...)
	}
	return b, nil
}

// readSize is the most that one read takes out of a pipe: with a pipe of 1 MiB more brings nothing.
const readSize = 256 << 10

type backend struct {
	config    Config
	log       zerolog.Logger
	secrets   []string
	shells    map[string]string // name: path
	names     []string          // of shells, the default first
	encoding  string
	base      func() map[string]string // the environment before a call's own
	loginPath func() string
	scratch   chan *[readSize]byte // buffers to read into; held only while there is something to read

	gate    sync.RWMutex // read: a start is under way; write: closing
	closed  bool
	mu      sync.Mutex
	null    *os.File              // every command's stdin unless it is given one
	live    map[*process]struct{} // not ended, or a background process still holds its output
	running sync.WaitGroup        // one for each process that has not ended
	forest  *forest
}

// Properties implements backends.Backend.
func (b *backend) Properties() backends.Properties {
	return backends.Properties{
		Name:     "local",
		Shells:   slices.Clone(b.names),
		Stdin:    true,
		TTY:      hasTTY,
		Encoding: b.encoding,
		KillTree: runtime.GOOS == "linux" || runtime.GOOS == "windows",
	}
}

// buffer takes one from the free list, which unlike a sync.Pool the garbage collector does not empty: the first touch of
// fresh pages costs more than the read itself.
func (b *backend) buffer() *[readSize]byte {
	select {
	case p := <-b.scratch:
		return p
	default:
		return new([readSize]byte)
	}
}

func (b *backend) free(p *[readSize]byte) {
	select {
	case b.scratch <- p:
	default:
	}
}

func (b *backend) enter(p *process) {
	b.running.Add(1)
	b.mu.Lock()
	b.live[p] = struct{}{}
	b.mu.Unlock()
}

func (b *backend) leave(p *process) {
	b.mu.Lock()
	delete(b.live, p)
	b.mu.Unlock()
}

func (b *backend) all() []*process {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]*process, 0, len(b.live))
	for p := range b.live {
		list = append(list, p)
	}
	return list
}

// Close implements backends.Backend: every tree this backend started ends, background processes of finished commands
// included. Nothing starts once it was called.
func (b *backend) Close(ctx context.Context) error {
	b.gate.Lock()
	closed := b.closed
	b.closed = true
	b.gate.Unlock()
	if closed {
		return nil
	}
	ctx, cancel := withPatience(ctx)
	defer cancel()
	list := b.all()
	var kills sync.WaitGroup
	for _, p := range list {
		kills.Go(func() { p.Kill(ctx) })
	}
	kills.Wait()
	survivors := b.forest.fell(ctx)
	ended := make(chan struct{})
	go func() {
		b.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		return &job.Error{Op: "local.Close", Kind: job.Lost, Err: context.Cause(ctx), Hint: "some processes may still run"}
	}
	for _, p := range list {
		p.letGo()
	}
	b.null.Close()
	if len(survivors) > 0 {
		return job.Errorf(job.Lost, "processes %v could not be ended", survivors).WithHint("end them by hand")
	}
	b.forest.clean() // after a failure what guards against a dead server stays
	return nil
}

// patience is how long a killed process may take to go; one in an uninterruptible wait may take longer.
const patience = 2 * time.Second

// withPatience bounds the wait for what was killed: by ctx, but not so narrowly that nothing could be seen to end.
func withPatience(ctx context.Context) (context.Context, context.CancelFunc) {
	now := time.Now()
	limit := now.Add(patience)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(limit) {
		limit = deadline
	}
	if ctx.Err() != nil || limit.Before(now.Add(patience/20)) {
		limit = now.Add(patience / 20)
	}
	return context.WithDeadline(context.WithoutCancel(ctx), limit)
}

// Check implements backends.Checker.
func (b *backend) Check(context.Context) []job.Check {
	shells := job.Check{Name: "local shells", Detail: strings.Join(b.names, " ")}
	if len(b.names) == 0 {
		shells.Level, shells.Detail, shells.Fix = job.Failed, "no shell found in PATH", "set PATH for the server"
	} else if b.config.Shell != "" && b.names[0] != b.config.Shell {
		shells.Level, shells.Fix = job.Failed, "install "+b.config.Shell+" or change local(shell=)"
	}
	return append([]job.Check{shells}, b.forest.check())
}

func home() string {
	if dir, err := os.UserHomeDir(); err == nil {
		return dir
	}
	return homeOf("")
}
