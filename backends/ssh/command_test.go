package ssh

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
)

func skip(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" || os.Getenv("CEM_NO_SKIP") == "1" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// A background process that holds the output is noted, lives on, and is not killed by what it prints afterwards.
func TestBackground(t *testing.T) {
	b := open(t, "cem-bash", nil)
	began := time.Now()
	got := run(t, b, job.Command{Script: "(for i in 1 2 3 4 5 6; do sleep 0.1; echo late; done; echo done >$HOME/late) & echo hi; exit 3"})
	if got.stdout != "hi\n" || got.exit.Code != 3 || len(got.exit.Notes) != 1 || !strings.Contains(got.exit.Notes[0], "background") {
		t.Errorf("%+v", got)
	}
	t.Logf("answered after %v", time.Since(began))
	eventually(t, "it has finished", 20*time.Second, func() bool {
		return run(t, b, script("cat $HOME/late 2>/dev/null; rm -f $HOME/late")).stdout == "done\n"
	})
	if quiet := run(t, b, script("sleep 0.3 >/dev/null 2>&1 & echo hi")); len(quiet.exit.Notes) > 0 {
		t.Errorf("one that holds nothing is noted: %+v", quiet)
	}
}

// No value of a variable and no text of the outer shell stands in any process's arguments, on either side.
func TestSecretsAreInNoArgv(t *testing.T) {
	const secret = "correct-horse-battery"
	b := open(t, "cem-bash", func(c *Config) { c.Env = map[string]string{"CONFIGURED": secret + "-1"} })
	for _, tty := range []*job.Size{nil, {Cols: 80, Rows: 24}} {
		for range 2 { // with a shell that waits and without
			var out safeBuffer
			p, err := try(t, b, job.Command{Script: `echo "$TOKEN $CONFIGURED"; sleep 300`, TTY: tty, Env: map[string]string{"TOKEN": secret}, Secret: []string{"TOKEN"}}, backends.IO{Stdout: &out})
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, "it runs", 10*time.Second, func() bool { return strings.Contains(out.String(), secret+" "+secret+"-1") })
			files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
			for _, file := range files {
				if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), secret) {
					t.Errorf("%s: %q", file, line)
				}
			}
			_ = p.Kill(t.Context())
		}
	}
}

// What the command sees of the environment is what was asked for: nothing that changes how a shell reads its text.
func TestEnvironmentIsExact(t *testing.T) {
	b := open(t, "cem-noisy", func(c *Config) { c.Env = map[string]string{"A": "config", "B": "config"} })
	value := "a'b \"c\" $d `e` \\ \n\t!\x01\x7fé"
	for _, tty := range []*job.Size{nil, {Cols: 80, Rows: 24}} {
		got := run(t, b, job.Command{Script: `env -0 | tr '\n\0' '\1\n'`, TTY: tty, Env: map[string]string{"A": "call", "V": value}})
		env := map[string]string{}
		for line := range strings.Lines(strings.ReplaceAll(got.stdout, "\r", "")) {
			name, v, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			env[name] = v
		}
		if env["A"] != "call" || env["B"] != "config" || env["V"] != strings.ReplaceAll(value, "\n", "\x01") || env["PAGER"] != "cat" || env["HOME"] == "" {
			t.Errorf("tty %v: %q", tty != nil, env)
		}
		for name := range env {
			if strings.HasPrefix(name, "BASH") || name == "ENV" || name == "PROMPT_COMMAND" {
				t.Errorf("%s is set", name)
			}
		}
	}
	// bash reads ~/.bashrc for a command of sshd's, but the alias there is not the command's.
	if got := run(t, b, script("alias; ls /proc/self/comm")); got.stdout != "/proc/self/comm\n" || got.stderr != "" {
		t.Errorf("%+v", got)
	}
}

// Both streams in one writer keep their order.
func TestMerged(t *testing.T) {
	b := open(t, "cem-bash", nil)
	var out safeBuffer
	p, err := try(t, b, script("for i in 1 2 3 4 5 6 7 8 9; do echo out$i; echo err$i >&2; done"), backends.IO{Stdout: &out, Stderr: &out})
	if err != nil {
		t.Fatal(err)
	}
	wait(t, p)
	want := ""
	for _, i := range "123456789" {
		want += "out" + string(i) + "\nerr" + string(i) + "\n"
	}
	if out.String() != want {
		t.Errorf("%q", out.String())
	}
}

// A command may end the shells around it, and all its user's processes: the user is one that no other package's tests use.
func TestOuterShellIsKilled(t *testing.T) {
	b := open(t, "cem-noisy", nil)
	for range 2 {
		if got := run(t, b, script("echo hi; kill -9 $PPID; sleep 0.1; echo more")); !strings.HasPrefix(got.stdout, "hi\n") || got.exit.Code != 137 {
			t.Errorf("%+v", got)
		}
	}
	p, out, _ := begin(t, b, job.Command{Script: "echo hi; sleep 0.3; kill -9 -1; sleep 300", Env: map[string]string{"CEM_LAST": "yes"}})
	exit, err := waitErr(t, p)
	if err == nil && exit.Code != 137 || err != nil && job.KindOf(err) != job.Lost || out.String() != "hi\n" {
		t.Errorf("%+v %v %q", exit, err, out)
	}
	// The control shell was among them.
	q, _, _ := begin(t, b, script("sleep 300"))
	if err := q.Kill(t.Context()); err != nil {
		t.Error(err)
	}
	if exit := wait(t, q); exit.Code != 137 || exit.Cause != job.Killed {
		t.Errorf("%+v", exit)
	}
	if list := left("CEM_LAST=yes"); len(list) > 0 {
		t.Errorf("the killer itself, which nobody watched any more, is left: %v", list)
	}
}

// The login shell's files are read when that is asked for, and only then.
func TestLogin(t *testing.T) {
	b := open(t, "cem-dash", nil)
	home := strings.TrimSpace(run(t, b, script("echo $HOME")).stdout)
	if err := os.WriteFile(filepath.Join(home, ".profile"), []byte("export FROM_PROFILE=yes\necho noise\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Remove(filepath.Join(home, ".profile")) }()
	for range 2 {
		if got := run(t, b, job.Command{Script: "echo $FROM_PROFILE", Login: true}); got.stdout != "yes\n" {
			t.Errorf("%+v", got)
		}
		if got := run(t, b, script("echo $FROM_PROFILE")); got.stdout != "\n" {
			t.Errorf("%+v", got)
		}
	}
}

// Both ways to send a password, and an encrypted key.
func TestWaysIn(t *testing.T) {
	s := sshd(t)
	for _, test := range []struct {
		name   string
		change func(*Config)
	}{
		{"password", func(c *Config) {
			c.Key, c.Password = "", s["PASSWORD"]
			c.Target = "cem-bash@127.0.0.1:" + s["PASSWORD_PORT"]
		}},
		{"key as password", func(c *Config) { c.Key = s["PASSWORD"]; c.Target = "cem-bash@127.0.0.1:" + s["PASSWORD_PORT"] }},
		{"encrypted key", func(c *Config) { c.Key, c.Passphrase = s["KEY_ENCRYPTED"], s["PASSPHRASE"] }},
		{"user and port given apart", func(c *Config) {
			port := 0
			for _, d := range s["SSH_PORT"] {
				port = port*10 + int(d-'0')
			}
			c.Target, c.User, c.Port = "127.0.0.1", "cem-bash", &port
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := open(t, "cem-bash", test.change)
			if got := run(t, b, script("id -un")); got.stdout != "cem-bash\n" {
				t.Errorf("%+v", got)
			}
		})
	}
}
