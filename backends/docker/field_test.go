package docker

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
)

// G1: what looks like a substitution, or like the end of a quoted string, acts in the container only.
func TestNothingRunsOnTheHost(t *testing.T) {
	b := open(t, func(c *Config) { c.Image = "cem-test/user" })
	if got := run(t, b, script("echo $(id -un)")); got.stdout != "agent\n" {
		t.Errorf("got %q, want the container's user", got.stdout)
	}
	file := "/tmp/PWNED-" + strconv.Itoa(os.Getpid())
	got := run(t, b, script(`x"; touch `+file+`; echo "`))
	if exists(file) {
		t.Error("a command reached the host")
	}
	if got.exit.Code == 0 && got.stdout == "" {
		t.Errorf("%+v", got)
	}
}

// I10 and the images' own PATH, which Debian's profile throws away.
func TestEnvironment(t *testing.T) {
	b := open(t, func(c *Config) {
		c.Env = map[string]string{"FROM_CONFIG": "a b"}
		c.Prefix = "echo noise; echo noise >&2; export FROM_PREFIX=yes; f() { :; }; export -f f; cat; alias ls=false"
	})
	for text, want := range map[string]string{
		`printf 'é'`:        "é",
		`echo $LANG`:        "C.UTF-8\n",
		`cem-tool`:          "tool\n",
		`echo $CEM_IMAGE`:   "debian\n",
		`echo $FROM_CONFIG`: "a b\n",
		`echo $FROM_PREFIX`: "yes\n",
		`type f 2>&1 | wc -l; env | grep -c BASH_FUNC`: "1\n0\n",
		`echo $- $0 $#`:                      "hBc bash 0\n",
		`pwd`:                                "/root\n",
		`shopt login_shell`:                  "login_shell    \toff\n",
		`ls -l /proc/self/fd | grep -c pipe`: "2\n",
	} {
		if got := run(t, b, script(text)); got.stdout != want || got.stderr != "" {
			t.Errorf("%s: got %q %q, want %q", text, got.stdout, got.stderr, want)
		}
	}
	got := run(t, b, job.Command{Script: `echo $FROM_CONFIG $PATH`, Env: map[string]string{"FROM_CONFIG": "call", "PATH": "/x"}})
	if got.stdout != "call /x\n" {
		t.Errorf("the call's variables do not win: %q", got.stdout)
	}
	got = run(t, b, job.Command{Script: `echo done`, Env: map[string]string{"UID": "5", "SHELLOPTS": "xtrace"}})
	if got.stdout != "done\n" || got.stderr != "" {
		t.Errorf("names that bash keeps for itself: %+v", got)
	}
}

// I9: the answer says which shell ran.
func TestShellOfImage(t *testing.T) {
	for image, want := range map[string]string{"cem-test/debian": "bash", "cem-test/busybox": "sh"} {
		b := open(t, func(c *Config) { c.Image = image })
		cmd, err := b.Resolve(t.Context(), script("[[ a == a ]] && echo y"))
		if err != nil || cmd.Shell != want {
			t.Errorf("%s: %q %v, want %s", image, cmd.Shell, err, want)
		}
	}
}

// K11: a command that needed too much memory says so, with a terminal too.
func TestOutOfMemory(t *testing.T) {
	b := open(t, func(c *Config) { c.Memory = 64 << 20 })
	for _, cmd := range []job.Command{script("tail /dev/zero"), script("tail /dev/zero; exit 5"), {Script: "tail /dev/zero", TTY: &job.Size{Cols: 80, Rows: 24}}} {
		exit := run(t, b, cmd).exit
		if !strings.Contains(strings.Join(exit.Notes, " "), "OOM-killed") || exit.Code == 137 && exit.Cause != job.OOM {
			t.Errorf("%q: %+v", cmd.Script, exit)
		}
	}
}

func TestBoundedHarm(t *testing.T) {
	b := open(t, func(c *Config) { c.Pids = 64 })
	p, _, _ := begin(t, b, script(`bomb() { bomb | bomb & }; bomb; sleep 300`))
	time.Sleep(500 * time.Millisecond)
	if err := p.Kill(t.Context()); err != nil {
		t.Error(err)
	}
	if exit := wait(t, p); exit.Code != 137 || exit.Cause != job.Killed {
		t.Errorf("a fork bomb: %+v", exit)
	}
	if got := run(t, b, script("yes > /dev/full")); got.exit.Code == 0 || !strings.Contains(got.stderr, "No space left") {
		t.Errorf("yes > /dev/full: %+v", got)
	}
}

// A11: a background process neither holds the answer nor outlives it unseen.
func TestBackground(t *testing.T) {
	b := open(t, nil)
	// Until it has started, a background process has the shell's name.
	got := run(t, b, script("sleep 300 & setsid sleep 300 & sleep 1; echo ok"))
	if got.stdout != "ok\n" || len(got.exit.Notes) != 1 || !strings.Contains(got.exit.Notes[0], "sleep") {
		t.Errorf("%+v", got)
	}
}

// K10: no zombies, and TERM ends what it would end elsewhere.
func TestFirstProcess(t *testing.T) {
	b := open(t, nil)
	got := run(t, b, script(`for i in 1 2 3; do (sleep 0.01 &) ; done; sleep 0.3; ps -eo stat= | grep -c Z`))
	if got.stdout != "0\n" {
		t.Errorf("%q zombies", got.stdout)
	}
	for _, cmd := range []job.Command{script("sleep 300"), {Script: "sleep 300", Stdin: job.StdinPipe}, {Script: "sleep 300", TTY: &job.Size{Cols: 80, Rows: 24}}} {
		p, _, _ := begin(t, b, cmd)
		if err := p.Signal(t.Context(), job.Terminate); err != nil {
			t.Error(err)
		}
		if exit := wait(t, p); exit.Code != 143 || exit.Signal != "TERM" {
			t.Errorf("%+v", exit)
		}
	}
}

// K8: whose files a mount gets.
func TestMountUser(t *testing.T) {
	for user, want := range map[string]int{"host": os.Getuid(), "1234:1234": 1234} {
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		b := open(t, func(c *Config) {
			c.User, c.Mounts = user, []Mount{{Host: dir, Container: "/work"}, {Host: "/etc", Container: "/host-etc", Readonly: true}}
		})
		got := run(t, b, job.Command{Script: "touch a; touch /host-etc/cem 2>/dev/null || echo refused; id -u", Dir: "/work"})
		info, err := os.Stat(filepath.Join(dir, "a"))
		if err != nil || got.stdout != "refused\n"+strconv.Itoa(want)+"\n" {
			t.Fatalf("%+v %v", got, err)
		}
		if uid := ownerOf(info); uid != want {
			t.Errorf("user=%q: the file belongs to %d, want %d", user, uid, want)
		}
	}
}

// TestHardening looks at what the engine was told, for a command and for a terminal.
func TestHardening(t *testing.T) {
	b := open(t, nil)
	for _, cmd := range []job.Command{
		{Script: "sleep 300", Env: map[string]string{"TOKEN": "hidden-value"}, Secret: []string{"TOKEN"}},
		{Script: "sleep 300", TTY: &job.Size{Cols: 80, Rows: 24}},
	} {
		p, _, _ := begin(t, b, cmd)
		got, err := b.api.ContainerInspect(t.Context(), p.(*process).id)
		if err != nil {
			t.Fatal(err)
		}
		h := got.HostConfig
		slices.Sort(h.CapAdd)
		if caps := strings.Join(h.CapAdd, " "); caps != "CHOWN DAC_OVERRIDE FOWNER SETGID SETUID" && caps != "CAP_CHOWN CAP_DAC_OVERRIDE CAP_FOWNER CAP_SETGID CAP_SETUID" {
			t.Errorf("capabilities %s", caps)
		}
		if h.NetworkMode != "none" || strings.Join(h.CapDrop, "") != "ALL" || !slices.Contains(h.SecurityOpt, "no-new-privileges") || h.PidsLimit == nil || *h.PidsLimit != 512 ||
			h.Memory != 2<<30 || h.MemorySwap != 2<<30 || h.NanoCPUs != 2e9 || h.LogConfig.Type != "none" || h.Privileged || len(h.Binds)+len(h.Mounts) > 0 {
			t.Errorf("%+v", h)
		}
		raw, err := json.Marshal(got)
		if err != nil || strings.Contains(string(raw), "hidden-value") {
			t.Error("the value of a secret is in what docker inspect shows")
		}
		if _, err := parseOwner(got.Config.Labels[labelOwner]); !err {
			t.Errorf("labels %v", got.Config.Labels)
		}
		if err := p.Kill(t.Context()); err != nil {
			t.Error(err)
		}
	}
	got := run(t, b, script("grep -E 'CapEff|NoNewPrivs' /proc/self/status; ls /sys/class/net"))
	if !strings.Contains(got.stdout, "00000000000000cb") || !strings.Contains(got.stdout, "NoNewPrivs:\t1") || !strings.HasSuffix(got.stdout, "\nlo\n") {
		t.Errorf("%q", got.stdout)
	}
}

func TestDirectories(t *testing.T) {
	b := open(t, func(c *Config) { c.Workdir = "/usr/lib" })
	if got := run(t, b, script("pwd")); got.stdout != "/usr/lib\n" {
		t.Errorf("workdir: %q", got.stdout)
	}
	if got := run(t, b, job.Command{Script: "pwd", Dir: "~"}); got.stdout != "/root\n" {
		t.Errorf("~: %q", got.stdout)
	}
	for _, tty := range []*job.Size{nil, {Cols: 80, Rows: 24}} {
		_, err := try(t, b, job.Command{Script: "echo ran", Dir: "/usr/lib/no/such", TTY: tty}, backends.IO{Stdout: fatal{t}, Stderr: fatal{t}})
		if job.KindOf(err) != job.NotFound || !strings.Contains(hint(err), "/usr/lib") {
			t.Errorf("%v (%s)", err, hint(err))
		}
	}
	_, err := try(t, b, job.Command{Script: "echo ran", Dir: "usr"}, backends.IO{})
	if job.KindOf(err) != job.Invalid {
		t.Errorf("a relative directory: %v", err)
	}
}

// fatal is where nothing may be written.
type fatal struct{ t *testing.T }

func (f fatal) Write(p []byte) (int, error) {
	f.t.Errorf("written in spite of the error: %q", p)
	return len(p), nil
}

func hint(err error) string {
	if e, ok := err.(*job.Error); ok {
		return e.Hint
	}
	return ""
}

// An image without a shell runs programs, and says what it cannot.
func TestNoShell(t *testing.T) {
	b := open(t, func(c *Config) { c.Image = "cem-test/distroless" })
	_, err := try(t, b, script("echo hi"), backends.IO{})
	if job.KindOf(err) != job.Unsupported || hint(err) == "" {
		t.Errorf("text: %v", err)
	}
	for _, test := range []struct {
		argv   []string
		dir    string
		stdout string
		code   int
	}{
		{[]string{"echo", "a b", "$c"}, "", "a b $c\n", 0},
		{[]string{"/app/cat"}, "/app", "in", 0},
		{[]string{"no-such"}, "", "", 127},
		{[]string{"/app/text"}, "", "", 126},
	} {
		cmd := job.Command{Argv: test.argv, Dir: test.dir, Stdin: job.StdinBytes, Input: []byte("in")}
		if got := run(t, b, cmd); got.stdout != test.stdout || got.exit.Code != test.code {
			t.Errorf("%v: %+v", test.argv, got)
		}
	}
	_, err = try(t, b, job.Command{Argv: []string{"echo"}, Dir: "/app/none"}, backends.IO{})
	if job.KindOf(err) != job.NotFound || !strings.Contains(hint(err), "/app") {
		t.Errorf("directory: %v", err)
	}
	p, _, _ := begin(t, b, job.Command{Argv: []string{"sleep", "300"}})
	if err := p.Signal(t.Context(), job.Terminate); err != nil {
		t.Error(err)
	}
	if exit := wait(t, p); exit.Code != 143 {
		t.Errorf("TERM: %+v", exit)
	}
}

// A container's other options reach the engine, and do what they say.
func TestOptions(t *testing.T) {
	b := open(t, func(c *Config) {
		c.ReadonlyRoot, c.Tmpfs, c.Entrypoint = true, map[string]string{"/tmp": "size=1m"}, []string{"/usr/bin/env", "ENTRY=yes"}
		c.Images, c.Networks = []string{"cem-test/debian", "cem-test/busybox"}, []string{"none", "bridge"}
	})
	got := run(t, b, script(`touch /x 2>/dev/null || echo readonly; head -c 2000000 /dev/zero 2>/dev/null >/tmp/x || echo small; echo $ENTRY`))
	if got.stdout != "readonly\nsmall\nyes\n" {
		t.Errorf("%+v", got)
	}
	b = open(t, func(c *Config) {
		c.Images, c.Networks = []string{"cem-test/debian", "cem-test/busybox"}, []string{"none", "bridge"}
	})
	got = run(t, b, job.Command{Script: "busybox | head -n 1 | cut -c 1-7; ls /sys/class/net", Image: "cem-test/busybox", Network: "bridge"})
	if !strings.HasPrefix(got.stdout, "BusyBox\neth0\n") {
		t.Errorf("%+v", got)
	}
	for _, cmd := range []job.Command{{Script: "true", Image: "other"}, {Script: "true", Network: "host"}} {
		if _, err := b.Resolve(t.Context(), cmd); job.KindOf(err) != job.NotFound || !strings.Contains(hint(err), "one of [") {
			t.Errorf("%+v: %v", cmd, err)
		}
	}
	b = open(t, func(c *Config) { c.Prefix = "exit 3" })
	if _, err := try(t, b, script("echo hi"), backends.IO{}); job.KindOf(err) != job.Unavailable || !strings.Contains(hint(err), "prefix") {
		t.Errorf("a prefix that ends the shell: %v", err)
	}
	b = open(t, func(c *Config) { c.Mounts = []Mount{{Host: "/no/such/folder", Container: "/x"}} })
	if _, err := try(t, b, script("echo hi"), backends.IO{}); err == nil || !strings.Contains(hint(err), "mount") {
		t.Errorf("a mount of nothing: %v (%s)", err, hint(err))
	}
}
