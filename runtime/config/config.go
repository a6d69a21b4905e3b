// Package config evaluates config.star into an immutable value: which tools there are, where they run, and under which
// rules.
//
// It is the only importer of Starlark, and no Starlark value leaves it: what the user wrote as a function comes out as
// a Go function that may be called concurrently. Adding a config function is one struct with tags and one line in
// language.go; the decoder, the errors, the editor stub and the reference page follow from the tags.
package config

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/runtime/job"
	"cmd-exec-mcp/runtime/policy"
	"cmd-exec-mcp/runtime/stream"
	"github.com/rs/zerolog"
)

// Options is what the language can reach.
type Options struct {
	Backends []backends.Driver
	Hooks    []hooks.Driver              // beside those of hooks/builtin, which are always there
	Getenv   func(string) (string, bool) // nil: os.LookupEnv
	Log      zerolog.Logger              // where print() goes
	Limits   *Limits                     // nil: DefaultLimits
}

// Limits bound one evaluation, so that a config that never ends is an error and not a hang.
type Limits struct {
	Steps  uint64
	Time   time.Duration
	Memory uint64 // growth of the heap in bytes
}

// DefaultLimits are some thousand times what a large config needs.
var DefaultLimits = Limits{Steps: 10_000_000, Time: 10 * time.Second, Memory: 512 << 20}

// Config is what a config.star says. It is read by many and changed by nobody.
type Config struct {
	Path         string // absolute; "" for the embedded one
	Dir          string // what relative paths were relative to
	Server       Server
	Defaults     Defaults
	Tools        []Tool
	Secrets      []string // names of the variables read with secret(): no child inherits them
	SecretValues []string // their values: always redacted
	Files        []string // every file that was read, for a reload; without the embedded one
	Warnings     []string // what a policy's owner should know, "TOOL: sentence"

	origin origin
}

// Tool is one declared tool.
type Tool struct {
	Name        string
	Kind        job.ToolKind
	Description string
	Targets     []Target // in the order written, the first is the default; a plain backend is one Target without a name
	Groups      map[string][]string
	Policy      *policy.Policy
	Hooks       []hooks.Config
	Redact      *stream.Rules
	Params      map[string]map[string]any // overrides of a property's schema; a nil value takes the property away
	Schema      map[string]any            // of a command tool: the whole input schema
	Command     CommandFunc               // of a command tool
	Annotations job.Annotations
	Dir         string // of a command tool: where its command runs, "" if the config does not say
	Pos         string // "config.star:12:1"
}

// Target is one backend of a tool. Two tools with the same Backend pointer share it.
type Target struct {
	Name    string
	Backend backends.Config
}

// maxSource is far above any real config, and low enough that no long chain of operators can exhaust the stack.
const maxSource = 256 << 10

// Load evaluates the file at path. Mistakes in it are Errors; a file that cannot be read is a *job.Error.
func Load(path string, o Options) (*Config, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, job.Errorf(job.Invalid, "config %s: %w", path, err)
	}
	src, err := readSource(os.Open(path))
	if err != nil {
		return nil, unreadable(path, err)
	}
	cfg, err := evaluate(filepath.Base(path), src, filepath.Dir(path), o)
	if err != nil {
		return nil, err
	}
	cfg.Path = path
	cfg.Files = slices.Concat([]string{path}, cfg.Files, hookFiles(cfg))
	return cfg, nil
}

// hookFiles are the files that hooks are made of: a change of one is a reason to reload.
func hookFiles(c *Config) (files []string) {
	for _, t := range c.Tools {
		for _, h := range t.Hooks {
			if f, ok := h.(interface{ Files() []string }); ok {
				files = append(files, f.Files()...)
			}
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// Parse evaluates src, as Load does. Relative paths are relative to dir; with dir "" there is nothing to load().
func Parse(name string, src []byte, dir string, o Options) (*Config, error) {
	if len(src) > maxSource {
		return nil, unreadable(name, errTooLarge)
	}
	return evaluate(name, src, dir, o)
}

var errTooLarge = errors.New("it is larger than 256 KiB")

func readSource(f fs.File, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxSource+1))
	if err == nil && len(src) > maxSource {
		err = errTooLarge
	}
	return src, err
}

func unreadable(path string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	kind := job.Invalid
	if errors.Is(err, fs.ErrNotExist) {
		kind = job.NotFound
	}
	return job.Errorf(kind, "cannot read the config %s: %w", path, err).
		WithHint("name an existing file with --config, or leave it out for the built-in one")
}
