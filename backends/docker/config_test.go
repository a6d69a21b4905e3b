package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
)

func TestValidate(t *testing.T) {
	for _, test := range []struct {
		change func(*Config)
		words  string
	}{
		{func(c *Config) {}, ""},
		{func(c *Config) { c.Image, c.Images = "", []string{"a", "b"} }, ""},
		{func(c *Config) { c.Image = "" }, "image"},
		{func(c *Config) { c.Images = []string{} }, "images"},
		{func(c *Config) { c.Networks = []string{} }, "networks"},
		{func(c *Config) { c.Pull = "sometimes" }, "sometimes"},
		{func(c *Config) { c.Memory = 1000 }, "6 MiB"},
		{func(c *Config) { c.CPUs = -1 }, "negative"},
		{func(c *Config) { c.Pool = 1000 }, "1000"},
		{func(c *Config) { c.Workdir = "work" }, "workdir"},
		{func(c *Config) { c.Shell = "/bin/bash" }, "/bin/bash"},
		{func(c *Config) { c.Env = map[string]string{"a-b": ""} }, "a-b"},
		{func(c *Config) { c.Mounts = []Mount{{Host: "/a", Container: "b"}} }, `"b"`},
		{func(c *Config) { c.Mounts = []Mount{{Host: "/a", Container: "/"}} }, `"/"`},
		{func(c *Config) { c.Tmpfs = map[string]string{"tmp": ""} }, "tmpfs"},
	} {
		c := New()
		c.Image = "debian"
		test.change(c)
		err := c.Validate()
		if (err == nil) != (test.words == "") || err != nil && !strings.Contains(err.Error(), test.words) {
			t.Errorf("got %v, want %q", err, test.words)
		}
		if e, ok := errors.AsType[*job.Error](err); err != nil && (!ok || e.Hint == "" || e.Kind != job.Invalid) {
			t.Errorf("%v has no hint or the wrong kind", err)
		}
	}
}

func TestChoices(t *testing.T) {
	c := New()
	c.Image = "a"
	b, err := c.Open(t.Context(), backends.Env{})
	if err != nil {
		t.Fatal(err)
	}
	if p := b.Properties(); p.Images != nil || p.Networks != nil {
		t.Errorf("a choice that the config does not give: %v %v", p.Images, p.Networks)
	}
	c.Images, c.Networks = []string{"b", "c"}, []string{"bridge", "none"}
	p := b.Properties()
	if fmt.Sprint(p.Images, p.Networks) != "[a b c] [bridge none]" {
		t.Errorf("got %v %v", p.Images, p.Networks)
	}
}

// K12: where the engine is, and who says so.
func TestLocate(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("DOCKER_CONFIG", dir)
	t.Setenv("DOCKER_HOST", "")
	t.Setenv("DOCKER_CONTEXT", "")
	sum := sha256.Sum256([]byte("far"))
	meta := filepath.Join(dir, "contexts", "meta", hex.EncodeToString(sum[:]))
	write(t, filepath.Join(meta, "meta.json"), `{"Name":"far","Endpoints":{"docker":{"Host":"tcp://far:2375"}}}`)
	look := func(configured, want string) {
		t.Helper()
		if e, err := locate(configured); err != nil || e.host != want {
			t.Errorf("got %+v %v, want %s", e, err, want)
		}
	}
	look("unix:///x", "unix:///x")
	t.Setenv("DOCKER_CONTEXT", "far")
	look("", "tcp://far:2375")
	t.Setenv("DOCKER_HOST", "tcp://near:1")
	look("", "tcp://near:1")
	t.Setenv("DOCKER_HOST", "")
	t.Setenv("DOCKER_CONTEXT", "")
	write(t, filepath.Join(dir, "config.json"), `{"currentContext":"far"}`)
	look("", "tcp://far:2375")
	t.Setenv("DOCKER_CONTEXT", "nowhere")
	if _, err := locate(""); job.KindOf(err) != job.Unavailable || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("an unknown context: %v", err)
	}
	if _, err := connect("ssh://host"); job.KindOf(err) != job.Unsupported {
		t.Errorf("ssh: %v", err)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOwner(t *testing.T) {
	me := newOwner("i_me")
	if o, ok := parseOwner(me.String()); !ok || o != me {
		t.Fatalf("%+v does not survive its label: %+v", me, o)
	}
	other := me
	other.Host = "elsewhere"
	other.PID = 1 << 30
	dead := me
	dead.PID = 1 << 30
	again := me
	again.Start = "1"
	rebooted := me
	rebooted.Boot = "earlier"
	for _, test := range []struct {
		name string
		o    owner
		gone bool
	}{{"me", me, false}, {"another host", other, false}, {"dead", dead, true}, {"another process with its pid", again, true}, {"an earlier boot", rebooted, true}} {
		if got := test.o.gone(me); got != test.gone {
			t.Errorf("%s: gone %v, want %v", test.name, got, test.gone)
		}
	}
}
