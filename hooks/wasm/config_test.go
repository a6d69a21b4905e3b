package wasm

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/runtime/job"
	"github.com/rs/zerolog"
)

func TestValidate(t *testing.T) {
	hash := strings.Repeat("0", 64)
	for _, tt := range []struct {
		name string
		edit func(c *Config)
		kind job.Kind
		want string
	}{
		{"missing", func(c *Config) { c.File += "x" }, job.NotFound, "no such file"},
		{"a folder", func(c *Config) { c.File = filepath.Dir(c.File) }, job.Invalid, "is no file"},
		{"malformed", func(c *Config) { os.WriteFile(c.File, []byte("MZ"), 0o600) }, job.Invalid, "cannot be loaded"},
		{"another host's", func(c *Config) {
			b, _ := os.ReadFile(c.File)
			os.WriteFile(c.File, []byte(strings.ReplaceAll(string(b), "hook1", "hook2")), 0o600)
		}, job.Invalid, "imports hook2.get, hook2.set, hook2.read, hook2.write, hook2.log; this server provides hook1 1.0"},
		{"pinned", func(c *Config) { c.SHA256 = &hash }, job.Invalid, "is not the file that sha256= names: its hash is"},
		{"on_error", func(c *Config) { c.OnError = "open" }, job.Invalid, `on_error is "open"`},
		{"timeout", func(c *Config) { c.Timeout = 0 }, job.Invalid, "timeout is 0s"},
		{"unlimited", func(c *Config) { c.Timeout = job.Unlimited }, job.Invalid, "timeout is"},
		{"memory", func(c *Config) { c.Memory = pageSize }, job.Invalid, "starts with 131072 bytes"},
		{"no memory", func(c *Config) { c.Memory = 0 }, job.Invalid, "memory is 0 bytes"},
		{"pool", func(c *Config) { c.Pool = 0 }, job.Invalid, "pool is 0"},
		{"queue", func(c *Config) { c.QueueTimeout = -1 }, job.Invalid, "queue_timeout"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := config(t, text(echo))
			tt.edit(c)
			err := c.Validate()
			if err == nil || job.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v (%s), want %s %q", err, job.KindOf(err), tt.kind, tt.want)
			}
			if err.(*job.Error).Hint == "" {
				t.Error("no hint")
			}
		})
	}
}

func TestPin(t *testing.T) {
	c := config(t, text(echo))
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	pin := strings.ToUpper(c.digest)
	c.SHA256 = &pin
	if err := c.Validate(); err != nil {
		t.Errorf("the right hash: %v", err)
	}
	os.WriteFile(c.File, assemble(t, pre(`(i32.const 0)`)), 0o600)
	if _, err := c.Open(context.Background(), hooks.Env{}); job.KindOf(err) != job.Invalid {
		t.Errorf("got %v: a file that changed after the config was read", err)
	}
}

func TestCache(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "wasm")
	old := filepath.Join(folder, "wazero-v0.0.1-arch-os")
	if err := os.MkdirAll(old, 0o755); err != nil {
		t.Fatal(err)
	}
	run := func() {
		named, err := config(t, text(echo)).Open(context.Background(), hooks.Env{Cache: dir, Log: zerolog.Nop()})
		if err != nil {
			t.Fatal(err)
		}
		if err := named.Hook.(*Hook).Ready(context.Background()); err != nil {
			t.Fatal(err)
		}
		named.Close(context.Background())
	}
	run()
	info, err := os.Stat(folder)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("mode %o, want 700", info.Mode().Perm())
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("another version's code is still there")
	}
	files, _ := filepath.Glob(filepath.Join(folder, "*", "*"))
	if len(files) == 0 {
		t.Fatal("nothing is kept")
	}
	for _, f := range files { // what is broken is compiled again
		if err := os.WriteFile(f, []byte("broken"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run()
}

func TestInspect(t *testing.T) {
	c := config(t, text(echo))
	i, err := Inspect(c.File)
	if err != nil || i.Refused != "" || strings.Join(i.Events, " ") != "filter" || len(i.Imports) != 5 || i.Pages != 2 || i.SHA256 == "" {
		t.Errorf("got %+v, %v", i, err)
	}
	os.WriteFile(c.File, assemble(t, `(module (func (export "main")))`), 0o600)
	if i, err := Inspect(c.File); err != nil || !strings.Contains(i.Refused, "none of pre_exec") {
		t.Errorf("got %+v, %v", i, err)
	}
	if _, err := Inspect(c.File + "x"); job.KindOf(err) != job.NotFound {
		t.Errorf("got %v", err)
	}
}

// Both limits are there, and the counter's is the one in use.
func TestUnmeteredTimesOut(t *testing.T) {
	c := config(t, hostileText("", `(loop $l (br $l))`))
	c.Unmetered, c.Timeout = true, 100*time.Millisecond
	h := open(t, c)
	if _, _, err := begin(h, "!"); err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("got %v", err)
	}
	if _, _, err := begin(h, "ls"); err != nil {
		t.Errorf("the next call: %v", err)
	}
}
