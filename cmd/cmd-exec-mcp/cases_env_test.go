package main

import (
	"os"
	"strings"
	"testing"
)

// TestI2: a profile that ends the shell is no success.
func TestI2(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	home := args{"login": true, "env": args{"HOME": w.dir}}
	w.write(t, ".bash_profile", "exec true\n")
	w.run(t, "touch ran; echo hi", home).fails(t, "unavailable", "login shell").says(t, "hint", "profile")
	w.write(t, ".bash_profile", "exit 0\n")
	w.run(t, "echo hi", home).fails(t, "unavailable", "login shell")
	w.run(t, "echo hi", args{"env": args{"HOME": w.dir}}).has(t, "stdout", "hi\n")
}

// TestI3: what profiles print is not the command's.
func TestI3(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	for _, name := range []string{".bashrc", ".bash_profile", ".profile"} {
		w.write(t, name, "echo hello\necho hello >&2\nset -e; false\n")
	}
	w.run(t, "echo hi", args{"env": args{"HOME": w.dir}}).has(t, "stdout", "hi\n", "stderr", "")
	for _, name := range []string{".bashrc", ".bash_profile", ".profile"} {
		w.write(t, name, "echo hello\necho hello >&2\nexport FROM=profile\n")
	}
	w.run(t, "echo $FROM", args{"login": true, "env": args{"HOME": w.dir}}).has(t, "stdout", "profile\n", "stderr", "")
}

// TestI4: a bad working directory is said to be one.
func TestI4(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	w.run(t, "pwd", args{"cwd": "/no/such"}).fails(t, "notfound", "cwd /no/such does not exist").says(t, "hint", "/")
	file := w.write(t, "file", "")
	w.run(t, "pwd", args{"cwd": file}).fails(t, "notfound", "cwd "+file+" is a file")
	if os.Getuid() == 0 {
		return // root may enter any
	}
	if err := os.Mkdir(w.path("closed"), 0); err != nil {
		t.Fatal(err)
	}
	w.run(t, "pwd", args{"cwd": w.path("closed")}).fails(t, "notfound", "permission")
}

// TestI5: every spelling of a directory works, and the answer says where it was if that is not what was asked for.
func TestI5(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	odd := w.path("my dir é")
	if err := os.MkdirAll(odd, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(odd, w.path("link")); err != nil {
		t.Fatal(err)
	}
	w.run(t, "pwd -P", args{"cwd": "~/work/my dir é"}).has(t, "stdout", odd+"\n", "cwd", odd)
	w.run(t, "pwd -P", args{"cwd": odd}).has(t, "stdout", odd+"\n", "cwd", nil)
	w.run(t, "pwd -P", args{"cwd": odd + "/"}).has(t, "stdout", odd+"\n")
	w.run(t, "pwd -P", args{"cwd": w.path("link")}).has(t, "stdout", odd+"\n")
	w.run(t, "pwd", args{"cwd": odd + "/../link/.."}).has(t, "stdout", w.dir+"\n", "cwd", w.dir)
	w.run(t, "pwd", args{"cwd": "./work"}).fails(t, "invalid", "relative")
}

// TestI7: the server's secrets are not the commands'.
func TestI7(t *testing.T) {
	t.Parallel()
	env := []string{"FOO_TOKEN=hunter2hunter2", "AWS_SECRET_ACCESS_KEY=verysecretvalue", "JAVA_HOME=/opt/java", "BASH_ENV=/tmp/evil"}
	w := start(t, local, env...)
	got := w.run(t, "env").text("stdout")
	for _, absent := range []string{"FOO_TOKEN", "AWS_SECRET", "JAVA_HOME", "BASH_ENV", "hunter2", "verysecret"} {
		if strings.Contains(got, absent) {
			t.Errorf("the environment has %s:\n%s", absent, got)
		}
	}
	for _, present := range []string{"PATH=", "HOME="} {
		if !strings.Contains(got, present) {
			t.Errorf("the environment lacks %s", present)
		}
	}
	w = start(t, star{local: `env_pass=["JAVA_HOME", "FOO_*"]`}, env...)
	r := w.run(t, "echo $JAVA_HOME; echo ${#FOO_TOKEN}; echo $FOO_TOKEN")
	r.says(t, "stdout", "/opt/java\n14\n")
	if strings.Contains(r.text("stdout"), "hunter2") {
		t.Errorf("its value was shown: %v", r)
	}
}

// TestI8: names that are none are refused; those that load code are policy's to judge.
func TestI8(t *testing.T) {
	t.Parallel()
	w := start(t, local.restricted())
	for _, name := range []string{"A=B", "", "1A", "A B", "A-B", "É"} {
		w.run(t, "true", args{"env": args{name: "1"}}).fails(t, "invalid")
	}
	w.run(t, "true", args{"env": args{"A": "x\x00y"}}).fails(t, "invalid", "NUL")
	w.run(t, `printf %s "$A" | wc -l`, args{"env": args{"A": "two\nlines\n"}}).says(t, "stdout", "2")
	for name, value := range map[string]string{"GIT_SSH_COMMAND": "rm x", "BASH_ENV": "$(rm x)", "PAGER": "rm x"} {
		w.run(t, "git status", args{"env": args{name: value}}).fails(t, "denied", "rm")
	}
	w = start(t, star{policy: `list="whitelist"`})
	for _, name := range []string{"LD_PRELOAD", "BASH_ENV", "GIT_SSH_COMMAND", "PATH"} {
		w.run(t, "git status", args{"env": args{name: "./x"}}).fails(t, "denied").says(t, "findings", name)
	}
	w.run(t, "echo $A", args{"env": args{"A": "x"}}).has(t, "stdout", "x\n")
}

// restricted is the config with the default policy.
func (s star) restricted() star {
	s.policy = `mode="restricted"`
	return s
}

// TestI9: the answer says which shell ran where that is not the usual one.
func TestI9(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	w.run(t, "[[ a == a ]] && echo y").has(t, "stdout", "y\n", "shell", nil)
	w.run(t, "echo y", args{"shell": "sh"}).has(t, "stdout", "y\n", "shell", "sh")
	w = start(t, star{local: `shell="sh"`})
	w.run(t, `echo "[$0]"`).says(t, "stdout", "sh]").has(t, "shell", nil)
	w.run(t, "[[ a == a ]] && echo y", args{"shell": "bash"}).has(t, "stdout", "y\n", "shell", "bash")
}

// TestI10: programs print UTF-8.
func TestI10(t *testing.T) {
	t.Parallel()
	w := start(t, local, "LC_ALL=", "LANG=")
	w.run(t, "printf 'é\\n'").has(t, "stdout", "é\n")
	needs(t, "python3")
	w.run(t, `python3 -c 'print("é")'`).has(t, "stdout", "é\n", "exit_code", 0)
}

// TestN1: a death by a signal is told as one.
func TestN1(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	w.run(t, "kill -9 $$").has(t, "exit_code", 137, "signal", "KILL", "is_timeout", false)
	w.run(t, "ulimit -c 0; kill -SEGV $$").has(t, "exit_code", 139, "signal", "SEGV")
	w.run(t, "kill -TERM $$").has(t, "exit_code", 143, "signal", "TERM")
	w.run(t, "exit 137").has(t, "exit_code", 137, "signal", nil)
	w.run(t, "exit 255").has(t, "exit_code", 255)
}

// TestN3: what cannot be run is told with what to do about it.
func TestN3(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	w.run(t, "/etc/passwd").has(t, "exit_code", 126).says(t, "hint", "x")
	if w.run(t, "nosuchcmd-xyz").has(t, "exit_code", 127).text("hint") == "" {
		t.Error("no hint")
	}
	w.run(t, "gti status").has(t, "exit_code", 127).says(t, "hint", "git")
	w.run(t, "sh -c 'exit 127'").has(t, "exit_code", 127)
}
