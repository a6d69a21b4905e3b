package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// refused checks that each text is denied, with findings, and that nothing of it ran.
func refused(t *testing.T, w *wire, texts ...string) {
	t.Helper()
	w.write(t, "x", "")
	for _, text := range texts {
		r := w.run(t, text)
		if r.fails(t, "denied"); r.args["findings"] == nil || r.text("retry") == "" || r.text("hint") == "" {
			t.Errorf("%q: no findings, retry or hint: %v", text, r)
		}
		if _, err := os.Stat(w.path("x")); err != nil {
			t.Fatalf("%q: it ran: %v", text, r)
		}
	}
}

// TestF1: a listed name is found wherever it stands in a list or a pipe.
func TestF1(t *testing.T) {
	t.Parallel()
	w := start(t, local.restricted())
	refused(t, w, "rm x", "ls; rm x", "ls && rm x", "ls | rm x", "ls & rm x", "ls |& rm x", "ls || rm x", "{ rm x; }", "(rm x)", "$(rm x)", "if rm x; then :; fi", "! rm x")
}

// TestF2: a newline ends a command.
func TestF2(t *testing.T) {
	t.Parallel()
	w := start(t, local.restricted())
	refused(t, w, "ls\nrm x", "ls # c\nrm x", "ls \\\n; rm x", "ls\r\nrm x")
}

// TestF6: quotes and backslashes are not part of a name.
func TestF6(t *testing.T) {
	t.Parallel()
	w := start(t, local.restricted())
	refused(t, w, `"rm" x`, `r'm' x`, `r\m x`, `\rm x`, `r""m x`, `$'\x72m' x`, `/bin/rm x`, "r\\\nm x")
}

// TestF7: what a shell expands to a name is refused too.
func TestF7(t *testing.T) {
	t.Parallel()
	w := start(t, local.restricted())
	refused(t, w, `/bin/r? x`, `/bin/[r]m x`, `{rm,x}`, `{r,R}m x`, `A=rm; $A x`, `${A:-rm} x`, `$(echo rm) x`)
}

// TestF9: programs that run programs are looked through.
func TestF9(t *testing.T) {
	t.Parallel()
	w := start(t, local.restricted())
	refused(t, w, "env rm x", "FOO=1 rm x", "nohup rm x", "timeout 5 rm x", "nice -n 5 rm x", "stdbuf -o0 rm x", "setsid rm x", "time rm x", "command rm x",
		"exec rm x", "builtin rm x", "sudo -u a rm x", "su-exec a rm x", "gosu a rm x", "run0 rm x", "doas rm x", "busybox rm x", "xargs rm < f", "parallel rm ::: x",
		"watch rm x", "find . -exec rm {} +", "bash -c 'rm x'", "eval rm x", `sh -c "sh -c 'rm x'"`)
}

// TestF13: a here-document hides nothing.
func TestF13(t *testing.T) {
	t.Parallel()
	w := start(t, local.restricted())
	refused(t, w, "cat <<'E' | sh\nrm x\nE", "sh <<E\nrm x\nE", "bash <<< 'rm x'", "echo 'rm x' | sh")
	w.run(t, "cat <<E\nrm x\nE").has(t, "stdout", "rm x\n")
}

// TestF14: what is typed into a shell is checked as whole statements, however it is cut.
func TestF14(t *testing.T) {
	t.Parallel()
	w := start(t, local.restricted())
	w.write(t, "x", "")
	id := w.session(t, "bash")
	w.act(t, id, "send", args{"command": "echo ok\n", "wait_for": "ok"}).has(t, "stdout", "ok\n")
	w.act(t, id, "send", args{"command": "rm x\n"}).fails(t, "denied", "rm")
	w.act(t, id, "send", args{"command": "r"}).says(t, "notes", "held")
	w.act(t, id, "send", args{"command": "m x\n"}).fails(t, "denied", "rm")
	w.act(t, id, "send", args{"command": "\n", "wait": 0})
	w.act(t, id, "send", args{"command": "echo still here\n", "wait_for": "here", "wait": 20}).says(t, "stdout", "still here\n")
	w.act(t, id, "send", args{"command": "if true; then\n"}).says(t, "notes", "held")
	w.act(t, id, "send", args{"command": "rm x; fi\n"}).fails(t, "denied", "rm")
	w.act(t, id, "kill").has(t, "killed", true)
	if _, err := os.Stat(w.path("x")); err != nil {
		t.Error("it ran")
	}
}

// TestShellStdinDenied: where the owner wants no shells that are typed into, there are none.
func TestShellStdinDenied(t *testing.T) {
	t.Parallel()
	w := start(t, star{policy: `shell_stdin="deny"`})
	for _, more := range []args{{"detach": true}, {"wait_for": "x", "timeout": 5}, {"stdin": "echo hi"}} {
		w.run(t, "bash", more).fails(t, "denied")
		w.run(t, "env sh -s", more).fails(t, "denied")
	}
	w.run(t, "bash -c 'echo hi'", args{"stdin": "data"}).has(t, "stdout", "hi\n")
	id := w.session(t, "cat")
	w.act(t, id, "send", args{"command": "data\n", "wait_for": "data"}).has(t, "stdout", "data\n")
}

// TestF17: words that are no commands are no reason to refuse.
func TestF17(t *testing.T) {
	t.Parallel()
	w := start(t, local.restricted())
	w.write(t, "script", "rm -rf /\n")
	for _, text := range []string{"echo rm", `grep -r "rm -rf" .`, "echo last reboot", "echo man shutdown", "ls # rm x", "git --version; echo 'rm x; rm y'", "printf '%s\\n' dd format"} {
		r := w.run(t, text)
		r.has(t, "exit_code", 0, "error", nil)
	}
	if r := w.run(t, "last reboot; man shutdown"); r.isError {
		t.Errorf("got %v", r)
	}
}

// TestF20: without any config the lists apply.
func TestF20(t *testing.T) {
	t.Parallel()
	w := start(t, text(builtin()))
	refused(t, w, "rm x", "dd if=/dev/zero of=x", "shutdown now")
	w.run(t, "echo hi").has(t, "stdout", "hi\n")
}

// text is a config as it is.
type text string

func (s text) String() string { return string(s) }

// TestF21: an empty list allows nothing.
func TestF21(t *testing.T) {
	t.Parallel()
	w := start(t, star{policy: `list="whitelist", whitelist=[]`})
	refused(t, w, "ls", "echo hi", "git status")
	w = start(t, star{policy: `list="whitelist", whitelist=["ls", "cat", "git", "find"]`})
	w.run(t, "ls").has(t, "exit_code", 0)
	refused(t, w, "rm x", "python3 -c 1", "./ls", "ls; touch y", "find . -delete; touch y", "cat x | sh")
}

// TestF22: text made to take long is refused soon.
func TestF22(t *testing.T) {
	w := start(t, local.restricted())
	for _, c := range []struct{ name, text string }{
		{"letters", strings.Repeat("a", 1<<20)},
		{"brackets", strings.Repeat("(", 1<<20)},
		{"substitutions", strings.Repeat("$(", 1<<19)},
		{"braces", strings.Repeat("{ ", 10_000)},
		{"expansion", "echo " + strings.Repeat("{a,b}", 40)},
		{"quotes", strings.Repeat(`"$(`, 100_000)},
	} {
		r := w.run(t, c.text)
		if !r.isError {
			t.Errorf("%s: got %v", c.name, r)
		}
		if r.took > 2*time.Second { // 100 ms without the race detector
			t.Errorf("%s: it took %v", c.name, r.took)
		}
	}
}

// TestF23: characters that readers and shells see differently are refused.
func TestF23(t *testing.T) {
	t.Parallel()
	w := start(t, local.restricted())
	w.run(t, "r\x00m x").fails(t, "invalid", "NUL")
	w.write(t, "x", "")
	for _, text := range []string{"rm\rx", "r\u200bm x", "r\u202em x", "\uff52\uff4d x", "echo \x1b[2J", "echo \x7f"} {
		w.run(t, text).fails(t, "denied")
	}
	w.callWith(t, callParams(args{"cwd": w.dir, "command": "echo é 你好"})).has(t, "stdout", "é 你好\n")
}

// TestF25: there is one check, and no way around it.
func TestF25(t *testing.T) {
	t.Parallel()
	w := start(t, local.restricted())
	w.write(t, "x", "")
	w.call(t, args{"cwd": w.dir, "commands": []string{"touch y", "rm x"}}).fails(t, "denied", "part 2 of 2", "none was started")
	w.run(t, "touch y && rm x", args{"parallel": true}).fails(t, "denied", "rm")
	w.run(t, "rm x", args{"detach": true}).fails(t, "denied")
	for _, script := range []string{"rm x", "echo a\nrm x\n", "if true; then\nrm x\nfi", "sh -c 'rm x'"} {
		w.run(t, "sh", args{"stdin": script}).fails(t, "denied", "rm")
		w.run(t, "env bash -s", args{"stdin": script}).fails(t, "denied", "rm")
		w.run(t, "cat", args{"stdin": script}).has(t, "stdout", script) // data
	}
	w.run(t, "bash", args{"stdin": "echo a\r\nread b\necho b"}).says(t, "stdout", "a\n")
	w.run(t, "rm x", args{"login": true}).fails(t, "denied")
	w.run(t, "$A x", args{"env": args{"A": "rm"}}).fails(t, "denied")
	if r := w.run(t, "ls"); r.text("stdout") != "x\n" {
		t.Errorf("something ran: %v", r)
	}
	folder := t.TempDir()
	secrets := filepath.Join(folder, "secrets")
	if err := os.Mkdir(secrets, 0o755); err != nil {
		t.Fatal(err)
	}
	guarded := start(t, star{policy: fmt.Sprintf(`rules=[write_rule(name="keep", under=[%q], decision="deny", reason="they are not to be overwritten")]`, secrets)})
	for _, file := range []string{"secrets/a", secrets + "/a", "x/../secrets/a"} {
		guarded.run(t, "echo hi", args{"cwd": folder, "output_file": file}).fails(t, "denied", "overwritten")
		guarded.run(t, "echo hi > "+file, args{"cwd": folder}).fails(t, "denied", "overwritten")
	}
	guarded.run(t, "echo hi", args{"cwd": folder, "output_file": "public"}).has(t, "stdout", "hi\n")
}
