// Package wasm runs hooks that are WebAssembly modules: any language, no access to anything, a budget for each call. The
// ABI is specified in hooks/README.md. Nothing that a module contains or does may harm the server; what a module may cost
// is bounded before it is compiled (scan), while it runs (meter) and in what it hands over (call).
package wasm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/runtime/job"
)

// Driver is wasm(...) of config.star.
func Driver() hooks.Driver {
	return hooks.Driver{
		Name: "wasm", Doc: "a WebAssembly module that may change, refuse or ask about a command and filter its output",
		New: func() hooks.Config {
			return &Config{OnError: "deny", Timeout: time.Second, Memory: 32 << 20, Pool: 4, QueueTimeout: time.Second}
		},
	}
}

// Config is what wasm(...) says. Its zero values are not the defaults: those come from Driver().New.
type Config struct {
	File         string         `star:"file,positional,required,path" doc:"the module, built for the hook1 ABI"`
	Config       map[string]any `star:"config" doc:"what the hook itself is told"`
	OnError      string         `star:"on_error" doc:"what a failing hook means: \"deny\" refuses the command and withholds output, \"allow\" goes on without the hook"`
	SHA256       *string        `star:"sha256" doc:"the file's SHA-256 in hex; another file is refused"`
	Timeout      time.Duration  `star:"timeout" doc:"seconds of work that one call may do, counted in instructions"`
	Memory       int64          `star:"memory,size" doc:"bytes of memory that one instance may use"`
	Pool         int            `star:"pool" doc:"how many calls may run at once"`
	QueueTimeout time.Duration  `star:"queue_timeout" doc:"seconds that a call waits for its turn"`

	// Unmetered limits calls by time instead of fuel, as the first version of this host did. It is slower and stops less;
	// the conformance kit compares the two.
	Unmetered bool
	// Trace hears what each call needed, if it is set. It may be called concurrently.
	Trace func(Usage)
	// CompileTime is how long compiling may take; 0: 30 s. Under the race detector on a busy machine a Go guest needs more.
	CompileTime time.Duration

	digest string // of the file when it was validated
}

// Validate implements hooks.Config: the file is there, is the one that was meant, and is a hook for this host.
func (c *Config) Validate() error {
	switch {
	case c.OnError != "deny" && c.OnError != "allow":
		return job.Errorf(job.Invalid, "on_error is %q", c.OnError).WithHint("write \"deny\" or \"allow\"")
	case c.Timeout < time.Millisecond || c.Timeout > time.Minute:
		return job.Errorf(job.Invalid, "timeout is %s", c.Timeout).WithHint("write seconds from 0.001 to 60")
	case c.Memory < pageSize || c.Memory > 1<<30:
		return job.Errorf(job.Invalid, "memory is %d bytes", c.Memory).WithHint("write 64*KiB to 1*GiB; C and Rust need 1 MiB, Go 3 MiB and more")
	case c.Pool < 1 || c.Pool > 64:
		return job.Errorf(job.Invalid, "pool is %d", c.Pool).WithHint("write a number from 1 to 64")
	case c.QueueTimeout < 0 || c.QueueTimeout > time.Minute:
		return job.Errorf(job.Invalid, "queue_timeout is %s", c.QueueTimeout).WithHint("write seconds from 0 to 60")
	}
	_, digest, err := c.read()
	c.digest = digest
	return err
}

// Files tells which file a change of is a reason to load the hook again.
func (c *Config) Files() []string { return []string{c.File} }

// read reads, pins and scans the module.
func (c *Config) read() (*module, string, error) {
	m, digest, err := readModule(c.File)
	if err != nil {
		return nil, "", err
	}
	if c.SHA256 != nil && !strings.EqualFold(*c.SHA256, digest) {
		return nil, "", job.Errorf(job.Invalid, "%s is not the file that sha256= names: its hash is %s", c.File, digest).
			WithHint("put the right file there, or the new hash into the config after looking at the change")
	}
	if _, err := m.check(); err != nil {
		return nil, "", job.Errorf(job.Invalid, "%s is no hook for this server: %w", c.File, err).
			WithHint("build it with hooks/sdk, or see hooks/README.md for what a hook exports and imports")
	}
	if size := int64(m.minPages) * pageSize; size > c.Memory {
		return nil, "", job.Errorf(job.Invalid, "%s starts with %d bytes of memory, memory= allows %d", c.File, size, c.Memory).
			WithHint("write memory=%d*MiB or more", size>>20+1)
	}
	return m, digest, nil
}

// readModule reads and scans a file. Kinds: NotFound, Invalid.
func readModule(path string) (*module, string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, "", job.Errorf(job.NotFound, "hook: %w", err).WithHint("build the hook, or correct the path")
	}
	if !info.Mode().IsRegular() || info.Size() > maxModule {
		return nil, "", job.Errorf(job.Invalid, "%s is no file of at most %d bytes", path, maxModule).WithHint("name the .wasm file")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, "", job.Errorf(job.Invalid, "hook: %w", err).WithHint("let the server's user read it")
	}
	sum := sha256.Sum256(b)
	m, err := scan(b)
	if err != nil {
		return nil, "", job.Errorf(job.Invalid, "%s cannot be loaded: %w", path, err).WithHint("`cmd-exec-mcp hook inspect` shows what is in it")
	}
	return m, hex.EncodeToString(sum[:]), nil
}

// Open implements hooks.Config. It returns at once; the module compiles in the background.
func (c *Config) Open(_ context.Context, env hooks.Env) (hooks.Named, error) {
	m, digest, err := c.read()
	if err != nil {
		return hooks.Named{}, err
	}
	if c.digest != "" && digest != c.digest {
		return hooks.Named{}, job.Errorf(job.Invalid, "%s changed while the config was loaded", c.File).WithHint("start again")
	}
	name := strings.TrimSuffix(filepath.Base(c.File), ".wasm")
	ctx, cancel := context.WithCancel(context.Background())
	h := &Hook{
		name: name, allow: c.OnError == "allow", log: env.Log.With().Str("name", "hook").Str("hook", name).Logger(), trace: c.Trace, mask: env.Mask,
		features: features(), pool: newPool(c.Pool, c.QueueTimeout), cancel: cancel, loaded: make(chan struct{}), closed: make(chan struct{}),
		status: Status{State: "loading", Size: int64(len(m.bytes))},
	}
	if err := h.configure(c.Config); err != nil {
		cancel()
		return hooks.Named{}, job.Errorf(job.Invalid, "config of hook %s: %w", name, err).WithHint("use strings, numbers, lists and dicts")
	}
	events, _ := m.check()
	go h.load(ctx, m, limits{timeout: c.Timeout, pages: uint32(c.Memory / pageSize), unmetered: c.Unmetered, compile: c.CompileTime}, cacheFolder(env), events)
	return hooks.Named{Name: name, Allow: h.allow, Hook: h}, nil
}

// cacheFolder is where compiled code outlives the server; "" for nowhere.
func cacheFolder(env hooks.Env) string {
	switch {
	case env.Cache != "":
		return filepath.Join(env.Cache, "wasm")
	case env.Data != "":
		return filepath.Join(env.Data, "wasm")
	}
	return ""
}
