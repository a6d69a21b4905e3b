package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"cmd-exec-mcp/runtime/job"
	"github.com/rs/zerolog"
)

func TestArguments(t *testing.T) {
	yes, no := true, false
	cases := []struct {
		args string
		got  func(*fakeBox) any
		want any
	}{
		{``, func(b *fakeBox) any { return b.Image }, "img"},
		{``, func(b *fakeBox) any { return b.Memory }, int64(2 << 30)},
		{`memory=None`, func(b *fakeBox) any { return b.Memory }, int64(2 << 30)},
		{`memory=3*MiB`, func(b *fakeBox) any { return b.Memory }, int64(3 << 20)},
		{`memory=1.5*GiB`, func(b *fakeBox) any { return b.Memory }, int64(3 << 29)},
		{`cpus=1`, func(b *fakeBox) any { return b.CPUs }, 1.0},
		{``, func(b *fakeBox) any { return b.Init }, (*bool)(nil)},
		{`init=None`, func(b *fakeBox) any { return b.Init }, (*bool)(nil)},
		{`init=False`, func(b *fakeBox) any { return b.Init }, &no},
		{`init=True`, func(b *fakeBox) any { return b.Init }, &yes},
		{``, func(b *fakeBox) any { return b.Idle }, time.Minute},
		{`idle=0.25`, func(b *fakeBox) any { return b.Idle }, 250 * time.Millisecond},
		{`idle=-1`, func(b *fakeBox) any { return b.Idle }, job.Unlimited},
		{`idle=-1.0`, func(b *fakeBox) any { return b.Idle }, job.Unlimited},
		{``, func(b *fakeBox) any { return b.CapAdd }, []string{"CHOWN"}},
		{`cap_add=[]`, func(b *fakeBox) any { return b.CapAdd }, []string{}},
		{`cap_add=("A", "B")`, func(b *fakeBox) any { return b.CapAdd }, []string{"A", "B"}},
		{`mounts=[mount("/a", "/b", readonly=True)]`, func(b *fakeBox) any { return *b.Mounts[0] }, fakeMount{"/a", "/b", true}},
		{`root=mount("/a", "/b")`, func(b *fakeBox) any { return b.Root }, fakeMount{"/a", "/b", false}},
		{`verify=False`, func(b *fakeBox) any { return b.Verify }, fakeVerify("false")},
		{`verify="accept-new"`, func(b *fakeBox) any { return b.Verify }, fakeVerify("accept-new")},
		{
			`extra={"a": [1, 2.5, "x", None, True], "b": struct(c=1)}`, func(b *fakeBox) any { return b.Extra },
			map[string]any{"a": []any{int64(1), 2.5, "x", nil, true}, "b": map[string]any{"c": int64(1)}},
		},
		{`**{"pids": 7}`, func(b *fakeBox) any { return b.Pids }, 7},
		{`pids=len([x for x in range(3) if x * 2 > 1])`, func(b *fakeBox) any { return b.Pids }, 2},
		{`password=secret("PW")`, func(b *fakeBox) any { return b.Password }, "hunter2"},
		{`password=secret("UNSET")`, func(b *fakeBox) any { return b.Password }, ""},
		{`password=getenv("UNSET", "d")`, func(b *fakeBox) any { return b.Password }, "d"},
		{`password=getenv("EMPTY", "d")`, func(b *fakeBox) any { return b.Password }, ""},
		{`password=quote("it's")`, func(b *fakeBox) any { return strings.Contains(b.Password, "it") }, true},
		{`password=json.encode({"a": 1})`, func(b *fakeBox) any { return b.Password }, `{"a":1}`},
		{`password=host.os`, func(b *fakeBox) any { return b.Password }, runtime.GOOS},
	}
	for _, c := range cases {
		t.Run(c.args, func(t *testing.T) {
			if got := c.got(boxOf(t, c.args, "PW=hunter2", "EMPTY=")); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %#v, want %#v", got, c.want)
			}
		})
	}
}

func TestPaths(t *testing.T) {
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	for _, c := range []struct{ path, want string }{
		{"keys/id", filepath.Join(dir, "keys", "id")},
		{"../id", filepath.Join(filepath.Dir(dir), "id")},
		{"~/id", filepath.Join(home, "id")},
		{"~", home},
		{"~other/id", filepath.Join(dir, "~other", "id")},
		{"/etc/id", "/etc/id"},
	} {
		src := `shell_tool("t", backend=box("i", key="` + c.path + `"))`
		cfg, err := Parse("config.star", []byte(src), dir, options("HOME="+home))
		if err != nil {
			t.Fatal(err)
		}
		if got := cfg.Tools[0].Targets[0].Backend.(*fakeBox).Key; got != c.want {
			t.Errorf("%s: got %q, want %q", c.path, got, c.want)
		}
	}
}

func TestTargetsKeepOrderAndSharing(t *testing.T) {
	cfg := parse(t, `
b = box("x")
shell_tool("a", backend={"zeta": local(), "alpha": b, "mid": local()}, groups={"g": ["alpha", "zeta"]})
file_tool("a_file", backend=b)
`)
	var names []string
	for _, target := range cfg.Tools[0].Targets {
		names = append(names, target.Name)
	}
	if want := []string{"zeta", "alpha", "mid"}; !slices.Equal(names, want) {
		t.Errorf("got targets %v, want %v", names, want)
	}
	if cfg.Tools[0].Targets[1].Backend != cfg.Tools[1].Targets[0].Backend {
		t.Error("the same value in two tools is not the same pointer")
	}
	if cfg.Tools[0].Targets[0].Backend == cfg.Tools[0].Targets[2].Backend {
		t.Error("two values became one pointer")
	}
	if got := cfg.Tools[0].Pos; got != "config.star:3:1" {
		t.Errorf("got position %s", got)
	}
	if cfg.Tools[0].Policy == nil || cfg.Tools[0].Policy != cfg.Tools[1].Policy {
		t.Error("tools without a policy do not share the default one")
	}
	if cfg.Tools[0].Redact == nil {
		t.Error("a tool without redact= has no rules")
	}
}

func TestDefaults(t *testing.T) {
	cfg := parse(t, `shell_tool("a", backend=local())`)
	if !reflect.DeepEqual(cfg.Defaults, newDefaults()) || cfg.Server != newServer() {
		t.Errorf("got %+v, %+v", cfg.Defaults, cfg.Server)
	}
	cfg = parse(t, `
server(log_file="", audit_file="audit.log")
defaults(timeout=-1, max_timeout=None, wait=5, fields={"stdout": True}, session_max_lines=0)
shell_tool("a", backend=local(), params={"timeout": {"default": 60}, "stdin": None}, annotations={"title": "T", "readOnlyHint": True})
`)
	if d := cfg.Defaults; d.Timeout != job.Unlimited || d.Wait != 5*time.Second || d.SessionMaxLines != 0 || !d.Fields["stdout"] {
		t.Errorf("got %+v", d)
	}
	if s := cfg.Server; s.LogFile != "" || s.AuditFile != filepath.Join(cfg.Dir, "audit.log") {
		t.Errorf("got %+v", s)
	}
	p := cfg.Tools[0].Params
	if v, ok := p["stdin"]; !ok || v != nil || p["timeout"]["default"] != int64(60) {
		t.Errorf("got params %#v", p)
	}
	if a := cfg.Tools[0].Annotations; a != (job.Annotations{Title: "T", ReadOnly: true, OpenWorld: true}) {
		t.Errorf("got %+v", a)
	}
}

func TestNoTool(t *testing.T) {
	want := `config.star:1:1: the config declares no tool: write shell_tool("execute_local", backend=local())`
	if got := mistakesOf(t, "x = 1"); !slices.Equal(got, []string{want}) {
		t.Errorf("got %q", got)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "in", "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	in := filepath.Join(dir, "in")
	write(t, filepath.Join(dir, "outside.star"), `x = 1`)
	write(t, filepath.Join(in, "sub", "a.star"), "load(\"b.star\", \"image\")\ndef make(): return box(image)")
	write(t, filepath.Join(in, "b.star"), `image = "from-b"`)
	write(t, filepath.Join(in, "wrong.star"), "\nbox(imag=1)\nx = 1")
	write(t, filepath.Join(in, "c1.star"), `load("c2.star", "x")`)
	write(t, filepath.Join(in, "c2.star"), `load("c1.star", "x")`)
	main := filepath.Join(in, "config.star")

	write(t, main, "load(\"sub/a.star\", \"make\")\nload(\"b.star\", \"image\")\nshell_tool(\"a\", backend=make())")
	cfg, err := Load(main, options())
	if err != nil {
		t.Fatal(err)
	}
	if got := cfg.Tools[0].Targets[0].Backend.(*fakeBox).Image; got != "from-b" {
		t.Errorf("got image %q", got)
	}
	want := []string{main, filepath.Join(in, "sub", "a.star"), filepath.Join(in, "b.star")}
	if !slices.Equal(cfg.Files, want) {
		t.Errorf("got files %q, want %q", cfg.Files, want)
	}

	for _, c := range []struct{ src, want string }{
		{`load("wrong.star", "x")`, "wrong.star:2:5: box: there is no argument imag: did you mean image?"},
		{`load("c1.star", "x")`, "c2.star:1:1: cannot load c1.star: c1.star loads itself, by way of others"},
		{`load("config.star", "x")`, "is not a file in or below the config's folder"},
		{`load("../outside.star", "x")`, "is not a file in or below the config's folder"},
		{`load("sub/../../outside.star", "x")`, "is not a file in or below the config's folder"},
		{`load("link.star", "x")`, "escapes from parent"},
		{`load("sub", "x")`, "config.star:1:1: cannot load sub: "},
	} {
		if strings.Contains(c.src, "link") {
			if err := os.Symlink(filepath.Join(dir, "outside.star"), filepath.Join(in, "link.star")); err != nil {
				continue // Windows without the right to make one
			}
		}
		write(t, main, c.src)
		_, err := Load(main, options())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.src, err, c.want)
		}
	}
}

func TestLoadUnreadable(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "none.star"), options())
	if job.KindOf(err) != job.NotFound {
		t.Errorf("got kind %v: %v", job.KindOf(err), err)
	}
	big := filepath.Join(t.TempDir(), "big.star")
	write(t, big, strings.Repeat("#", maxSource+1))
	if _, err := Load(big, options()); job.KindOf(err) != job.Invalid {
		t.Errorf("got kind %v: %v", job.KindOf(err), err)
	}
	if err := (Errors{{}}); job.KindOf(err) != job.Invalid {
		t.Errorf("Errors have kind %v", job.KindOf(err))
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	env := func(vars map[string]string) func(string) (string, bool) {
		return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	}
	t.Chdir(dir) // a config.star in the working directory is somebody else's
	write(t, filepath.Join(dir, "config.star"), "")
	file := filepath.Join(dir, "cmd-exec-mcp", "config.star")
	for _, c := range []struct {
		name, flag string
		env        map[string]string
		make       bool
		want       string
	}{
		{"nothing", "", nil, false, ""},
		{"flag", "x.star", map[string]string{"CMD_EXEC_MCP_CONFIG": "y.star"}, false, "x.star"},
		{"variable", "", map[string]string{"CMD_EXEC_MCP_CONFIG": "y.star", "XDG_CONFIG_HOME": dir}, false, "y.star"},
		{"folder without one", "", map[string]string{"XDG_CONFIG_HOME": dir}, false, ""},
		{"folder", "", map[string]string{"XDG_CONFIG_HOME": dir}, true, file},
		{"relative folder", "", map[string]string{"XDG_CONFIG_HOME": "."}, true, ""},
	} {
		if c.make {
			_ = os.MkdirAll(filepath.Dir(file), 0o700)
			write(t, file, "")
		}
		path, ok := Find(c.flag, env(c.env))
		if path != c.want || ok != (c.want != "") {
			t.Errorf("%s: got %q %v, want %q", c.name, path, ok, c.want)
		}
	}
}

func TestSecrets(t *testing.T) {
	cfg := parse(t, `shell_tool("a", backend=box("i", password=secret("PW"), extra={"x": "p:" + secret("PW")}), description=secret("PW"))
secret("LATER")`, "PW=hunter2hunter2")
	if want := []string{"PW", "LATER"}; !slices.Equal(cfg.Secrets, want) {
		t.Errorf("got %v, want %v", cfg.Secrets, want)
	}
	if want := []string{"hunter2hunter2"}; !slices.Equal(cfg.SecretValues, want) {
		t.Errorf("got %v, want %v", cfg.SecretValues, want)
	}
	if text := describe(t, cfg); strings.Contains(text, "hunter2") {
		t.Errorf("the description shows the secret:\n%s", text)
	}
}

func TestErrorsAreSortedAndOnce(t *testing.T) {
	got := mistakesOf(t, "for i in range(5):\n    box(i)\nbox('x', pid=1)\n")
	if len(got) != 6 || !slices.IsSorted(got[:5]) || !strings.HasPrefix(got[5], "config.star:3:10: box: there is no argument pid") {
		t.Errorf("got %q", got)
	}
	got = mistakesOf(t, "for i in range(1000):\n    box('x', idle='s')\n")
	if len(got) != 1 {
		t.Errorf("got %d messages, want one", len(got))
	}
	if got := mistakesOf(t, "for i in range(1000):\n    box(i)\n"); len(got) != maxErrors {
		t.Errorf("got %d messages, want %d", len(got), maxErrors)
	}
}

var _ error = Errors(nil)

func itoa(n int) string { return word(n) }

func TestErrorsUnwrap(t *testing.T) {
	_, err := Parse("config.star", []byte("x ="), "", options())
	if list, ok := errors.AsType[Errors](err); !ok || len(list) != 1 || list[0].Line != 1 {
		t.Errorf("got %v", err)
	}
}

func TestPrint(t *testing.T) {
	var log strings.Builder
	o := options("PW=hunter2hunter2")
	o.Log = zerolog.New(&log)
	if _, err := Parse("config.star", []byte("print('pw', secret('PW'))\nshell_tool('a', backend=local())"), "", o); err != nil {
		t.Fatal(err)
	}
	if got := log.String(); !strings.Contains(got, "pw [redacted]") || strings.Contains(got, "hunter2") {
		t.Errorf("got %s", got)
	}
}
