//go:build unix

package local

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
)

// sink collects a stream, slowly if it is told to.
type sink struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	delay time.Duration
}

func (s *sink) Write(p []byte) (int, error) {
	time.Sleep(s.delay)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *sink) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

type answer struct {
	exit     job.Exit
	out, err string
	took     time.Duration
}

func do(t testing.TB, b *backend, cmd job.Command) (answer, error) {
	t.Helper()
	cmd, err := b.Resolve(t.Context(), cmd)
	if err != nil {
		return answer{}, err
	}
	var out, errs sink
	start := time.Now()
	p, err := b.Start(t.Context(), cmd, backends.IO{Stdout: &out, Stderr: &errs})
	if err != nil {
		return answer{}, err
	}
	exit, err := p.Wait()
	return answer{exit, out.String(), errs.String(), time.Since(start)}, err
}

func must(t testing.TB, b *backend, cmd job.Command) answer {
	t.Helper()
	a, err := do(t, b, cmd)
	if err != nil {
		t.Fatalf("%q: %v", cmd.Script, err)
	}
	return a
}

func closed(t testing.TB, b *backend) *backend {
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return b
}

func TestA1BackgroundChildHoldsThePipe(t *testing.T) {
	b := closed(t, open(t))
	for range 20 {
		a := must(t, b, job.Command{Script: "sleep 100 & echo hi"})
		if a.out != "hi\n" || a.exit.Code != 0 || a.took > 5*time.Second {
			t.Errorf("%+v", a)
		}
		if len(a.exit.Notes) != 1 || !strings.Contains(a.exit.Notes[0], "a background process (pid ") || !strings.Contains(a.exit.Notes[0], ") still holds the output") {
			t.Errorf("notes %q", a.exit.Notes)
		}
	}
}

func TestA3SurvivorIsNotKilledByItsNextWrite(t *testing.T) {
	b := closed(t, open(t))
	made := filepath.Join(t.TempDir(), "ok")
	must(t, b, job.Command{Script: `(for i in 1 2 3 4 5; do sleep 0.1; echo $i; head -c 200000 /dev/zero; done; touch "$F") & echo hi`, Env: map[string]string{"F": made}})
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(made); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the survivor did not get to its end")
		}
	}
}

// What the leader had written before it ended is delivered, however slowly we take it, and `> >(tee)` ends after it.
func TestOutputBeforeTheEndIsNeverLost(t *testing.T) {
	b := closed(t, open(t))
	cmd, err := b.Resolve(t.Context(), job.Command{Script: "sleep 100 & head -c 900000 /dev/zero", Shell: "bash"})
	if err != nil {
		t.Fatal(err)
	}
	out := &sink{delay: 60 * time.Millisecond}
	p, err := b.Start(t.Context(), cmd, backends.IO{Stdout: out, Stderr: out})
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(); err != nil || exit.Code != 0 {
		t.Errorf("%+v %v", exit, err)
	}
	if got := len(out.String()); got != 900000 {
		t.Errorf("%d bytes of 900000", got)
	}
	for range 20 {
		if a := must(t, b, job.Command{Script: "echo hi > >(cat)", Shell: "bash"}); a.out != "hi\n" {
			t.Errorf("%+v", a)
		}
	}
}

func TestC6BackgroundProcessLivesOnAndIsNamed(t *testing.T) {
	b := closed(t, open(t))
	a := must(t, b, job.Command{Script: "nohup sleep 100 >/dev/null 2>&1 & echo $!"})
	pid := strings.TrimSpace(a.out)
	if len(a.exit.Notes) != 1 || !strings.Contains(a.exit.Notes[0], "(pid "+pid+", ") || !strings.Contains(a.exit.Notes[0], "still running") {
		t.Errorf("notes %q", a.exit.Notes)
	}
	if a := must(t, b, job.Command{Script: "kill -0 " + pid + " && kill " + pid}); a.exit.Code != 0 {
		t.Errorf("it did not live on: %+v", a)
	}
}

func TestD1AsksNobody(t *testing.T) {
	b := closed(t, open(t))
	a := must(t, b, job.Command{Script: `read -p 'Continue? ' a; echo "<$a>"; (read b </dev/tty) 2>/dev/null || echo no tty`, Shell: "bash"})
	if a.out != "<>\nno tty\n" || a.exit.Code != 0 {
		t.Errorf("%+v", a)
	}
}

func profileHome(t *testing.T, text string) map[string]string {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".bash_profile"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string]string{"HOME": home}
}

func TestI2ProfileThatNeverReachesTheCommand(t *testing.T) {
	b := closed(t, open(t))
	for _, profile := range []string{"exec true", "exit 0", "exec sh -c 'echo fake=1'"} {
		_, err := do(t, b, job.Command{Script: "echo ran", Shell: "bash", Login: true, Env: profileHome(t, profile)})
		if job.KindOf(err) != job.Unavailable || err == nil {
			t.Errorf("%q: %v", profile, err)
		}
	}
}

func TestI2ProfileThatHangs(t *testing.T) {
	b := closed(t, open(t))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	cmd := job.Command{Script: "echo ran", Shell: "bash", Login: true, Env: profileHome(t, "sleep 300")}
	_, err := b.Start(ctx, cmd, backends.IO{Stdout: &sink{}, Stderr: &sink{}})
	if err == nil || job.KindOf(err) != job.Timeout {
		t.Errorf("%v", err)
	}
}

func TestI3LoginNoiseStaysOut(t *testing.T) {
	b := closed(t, open(t))
	profile := `echo noise; echo noise >&2; export FROM_PROFILE='a
b'; export PATH="/from/profile:$PATH"; ls() { echo fake; }; export -f ls; export BASH_ENV=/no/such; alias cat=false; export GIVEN=profile; set -eu`
	env := profileHome(t, profile)
	env["GIVEN"] = "call"
	a := must(t, b, job.Command{Script: `echo "$FROM_PROFILE" "${PATH%%:*}" "$GIVEN" "${BASH_ENV-none}"; type ls | head -1; shopt -q login_shell || echo plain`, Shell: "bash", Login: true, Env: env})
	want := "a\nb /from/profile call none\nls is /"
	if !strings.HasPrefix(a.out, want) || !strings.HasSuffix(a.out, "plain\n") || a.err != "" || a.exit.Code != 0 {
		t.Errorf("%+v", a)
	}
	env["HOME"] = t.TempDir()
	if err := os.WriteFile(filepath.Join(env["HOME"], ".bashrc"), []byte("echo noise"), 0o600); err != nil {
		t.Fatal(err)
	}
	if a := must(t, b, job.Command{Script: "echo hi", Shell: "bash", Env: env}); a.out != "hi\n" || a.err != "" {
		t.Errorf("%+v", a)
	}
}

func TestPathFromLoginShell(t *testing.T) {
	env := profileHome(t, "PATH=/from/login:$PATH")
	t.Setenv("HOME", env["HOME"])
	t.Setenv("SHELL", "/bin/bash")
	b := closed(t, openWith(t, Config{PathFromLoginShell: true}))
	a := must(t, b, job.Command{Script: `echo "${PATH%%:*}"`})
	if a.out != "/from/login\n" {
		t.Errorf("%+v", a)
	}
}

func TestI4AndI5Directories(t *testing.T) {
	b := closed(t, open(t))
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", base)
	dir := filepath.Join(base, "my dir é")
	file, link := filepath.Join(base, "file"), filepath.Join(base, "link")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	os.WriteFile(file, nil, 0o600)
	os.Symlink(dir, link)
	for ask, want := range map[string]string{
		"~": base, "~/": base, "~/my dir é": dir, dir + "/": dir, link: link, link + "/..": base, dir + "//": dir,
	} {
		if a, err := do(t, b, job.Command{Script: "pwd", Dir: ask}); err != nil || a.out != want+"\n" {
			t.Errorf("%q: %q %v, want %q", ask, a.out, err, want)
		}
	}
	for ask, want := range map[string]struct {
		kind job.Kind
		text string
		hint string
	}{
		base + "/no/such":     {job.NotFound, "does not exist", base},
		file:                  {job.NotFound, "is a file", base},
		"some/where":          {job.Invalid, "is relative", "~"},
		"~no_such_user_here/": {job.NotFound, "no such user", "home"},
	} {
		_, err := do(t, b, job.Command{Script: "pwd", Dir: ask})
		e, _ := err.(*job.Error)
		if e == nil || e.Kind != want.kind || !strings.Contains(e.Error(), want.text) || !strings.Contains(e.Hint, want.hint) {
			t.Errorf("%q: %+v", ask, e)
		}
	}
	// The directory may go between Resolve and Start.
	cmd, err := b.Resolve(t.Context(), job.Command{Script: "pwd", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(dir)
	_, err = b.Start(t.Context(), cmd, backends.IO{Stdout: &sink{}, Stderr: &sink{}})
	if job.KindOf(err) != job.NotFound || !strings.Contains(fmt.Sprint(err), "my dir") {
		t.Errorf("%v", err)
	}
}

func TestI7ServersKeysStayWithTheServer(t *testing.T) {
	for name, value := range map[string]string{"FOO_TOKEN": "t", "PASSED_ON": "p", "PASSED_SECRET": "s", "BASH_ENV": "/no/such", "LC_TEST": "x", "CDPATH": "/", "BASH_FUNC_ls%%": "() { echo fake; }"} {
		t.Setenv(name, value)
	}
	be, err := (&Config{EnvPass: []string{"PASSED_*", "BASH*", "CDPATH"}, Env: map[string]string{"OWN": "o"}}).Open(t.Context(), backends.Env{Secrets: []string{"PASSED_SECRET"}})
	if err != nil {
		t.Fatal(err)
	}
	b := closed(t, be.(*backend))
	a := must(t, b, job.Command{Script: "env"})
	for _, want := range []string{"PASSED_ON=p", "OWN=o", "LC_TEST=x", "NO_COLOR=1", "TERM=dumb", "PAGER=cat", "GIT_TERMINAL_PROMPT=0", "PWD="} {
		if !strings.Contains("\n"+a.out, "\n"+want) {
			t.Errorf("no %s in %s", want, a.out)
		}
	}
	for _, unwanted := range []string{"FOO_TOKEN", "PASSED_SECRET", "BASH_ENV", "CDPATH", "BASH_FUNC", "CEM_"} {
		if strings.Contains(a.out, unwanted) {
			t.Errorf("%s in %s", unwanted, a.out)
		}
	}
	if a := must(t, b, job.Command{Script: "echo $NO_COLOR $TERM", Env: map[string]string{"NO_COLOR": "", "TERM": "vt100"}}); a.out != "vt100\n" {
		t.Errorf("%+v", a)
	}
}

func TestN3NearName(t *testing.T) {
	b := closed(t, open(t))
	a := must(t, b, job.Command{Argv: []string{"ehco", "x"}})
	if a.exit.Code != 127 || a.exit.Hint != "did you mean echo?" || a.err != "ehco: command not found\n" {
		t.Errorf("%+v", a)
	}
}

func TestN3HintOfAShell(t *testing.T) {
	b := closed(t, open(t))
	for script, want := range map[string]string{
		"ehco x": "did you mean echo?", "true; ehco": "did you mean echo?", "/etc/passwd": "chmod",
		"/bin/echo $(head -c 3000000 /dev/zero | tr '\\0' a)": "on stdin", "exit 127": "", "echo hi": "",
	} {
		for _, shell := range []string{"bash", "sh"} {
			if a := must(t, b, job.Command{Script: script, Shell: shell}); !strings.Contains(a.exit.Hint, want) || want == "" && a.exit.Hint != "" {
				t.Errorf("%s %q: %+v", shell, script, a)
			}
		}
	}
}

// A command without any of the terminal open is not hung up on.
func TestTerminalThatNobodyHasOpen(t *testing.T) {
	b := closed(t, open(t))
	a := must(t, b, job.Command{Script: "exec </dev/null >/dev/null 2>&1; sleep 0.2; echo back >/dev/tty; exit 3", TTY: &job.Size{Cols: 80, Rows: 24}})
	if a.exit.Code != 3 || a.out != "back\r\n" {
		t.Errorf("%+v", a)
	}
}

func TestConfigMistakes(t *testing.T) {
	for _, c := range []Config{{Shell: "fish"}, {Env: map[string]string{"A=B": ""}}, {Env: map[string]string{"A": "\x00"}}, {EnvPass: []string{"[x"}}, {EnvPass: []string{""}}} {
		if err := c.Validate(); job.KindOf(err) != job.Invalid || err == nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := Driver.New().Validate(); err != nil {
		t.Error(err)
	}
}
