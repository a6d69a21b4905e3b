package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
)

// fakeLocal and fakeBox are backends of the test's language: every shape of argument that a driver may have.
type fakeLocal struct {
	Shell   string            `star:"shell" doc:"the shell"`
	Env     map[string]string `star:"env" doc:"variables"`
	EnvPass []string          `star:"env_pass" doc:"names passed on"`
}

func (*fakeLocal) Validate() error { return nil }
func (*fakeLocal) Open(context.Context, backends.Env) (backends.Backend, error) {
	return nil, errors.ErrUnsupported
}

type fakeBox struct {
	Image    string         `star:"image,positional,required" doc:"the image"`
	Memory   int64          `star:"memory,size" doc:"bytes"`
	CPUs     float64        `star:"cpus" doc:"how many"`
	Pids     int            `star:"pids" doc:"how many"`
	Init     *bool          `star:"init" doc:"an init process"`
	Idle     time.Duration  `star:"idle" doc:"seconds"`
	Key      string         `star:"key,path" doc:"a file"`
	Mounts   []*fakeMount   `star:"mounts" doc:"folders"`
	Root     fakeMount      `star:"root" doc:"the root folder"`
	CapAdd   []string       `star:"cap_add" doc:"capabilities"`
	Extra    map[string]any `star:"extra" doc:"anything"`
	Verify   fakeVerify     `star:"verify" doc:"True, False or a word"`
	Password string         `star:"password" doc:"a password"`
	When     Func           `star:"when" doc:"a function"`
}

func (b *fakeBox) Validate() error {
	if b.Pids < 0 {
		return job.Errorf(job.Invalid, "pids is %d", b.Pids).WithHint("write 0 or more")
	}
	return nil
}

func (*fakeBox) Open(context.Context, backends.Env) (backends.Backend, error) {
	return nil, errors.ErrUnsupported
}

type fakeMount struct {
	Source   string `star:"source,positional,required,path" doc:"on the host"`
	Target   string `star:"target,positional,required" doc:"inside"`
	ReadOnly bool   `star:"readonly" doc:"no writing"`
}

type fakeVerify string

func (f *fakeVerify) FromConfig(v any) error {
	switch v := v.(type) {
	case bool:
		*f = fakeVerify(fmt.Sprint(v))
	case string:
		if v != "accept-new" {
			return job.Errorf(job.Invalid, "verify is %q", v).WithHint(`write True, False or "accept-new"`)
		}
		*f = fakeVerify(v)
	default:
		return job.Errorf(job.Invalid, "verify is a %T", v).WithHint(`write True, False or "accept-new"`)
	}
	return nil
}

func drivers() []backends.Driver {
	return []backends.Driver{
		{Name: "local", Doc: "this host", New: func() backends.Config { return &fakeLocal{} }},
		{
			Name: "box", Doc: "a box", New: func() backends.Config {
				return &fakeBox{Memory: 2 << 30, CPUs: 2, CapAdd: []string{"CHOWN"}, Idle: time.Minute}
			},
			Values: []backends.Value{{Name: "mount", Doc: "a folder", New: func() any { return &fakeMount{} }}},
		},
	}
}

func options(env ...string) Options {
	return Options{Backends: drivers(), Getenv: func(name string) (string, bool) {
		for _, e := range env {
			if k, v, _ := strings.Cut(e, "="); k == name {
				return v, true
			}
		}
		return "", false
	}}
}

// parse evaluates src, which must be right.
func parse(t *testing.T, src string, env ...string) *Config {
	t.Helper()
	cfg, err := Parse("config.star", []byte(src), t.TempDir(), options(env...))
	if err != nil {
		t.Fatalf("the config has mistakes:\n%v", err)
	}
	return cfg
}

// boxOf evaluates one box(...).
func boxOf(t *testing.T, args string, env ...string) *fakeBox {
	t.Helper()
	cfg := parse(t, `shell_tool("t", backend=box("img", `+args+`))`, env...)
	return cfg.Tools[0].Targets[0].Backend.(*fakeBox)
}

// mistakesOf evaluates src, which must be wrong, and returns its lines.
func mistakesOf(t *testing.T, src string, env ...string) []string {
	t.Helper()
	_, err := Parse("config.star", []byte(src), t.TempDir(), options(env...))
	if err == nil {
		t.Fatalf("no mistake was found in:\n%s", src)
	}
	list, ok := errors.AsType[Errors](err)
	if !ok {
		t.Fatalf("got a %T, want Errors: %v", err, err)
	}
	var lines []string
	for _, e := range list {
		lines = append(lines, e.Error())
	}
	return lines
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
