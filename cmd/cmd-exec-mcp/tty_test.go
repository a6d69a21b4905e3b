package main

import (
	"strings"
	"testing"
)

// terminal starts a command on a terminal and waits for its output to end as the pattern says.
func (w *wire) terminal(t *testing.T, command, pattern string, more ...args) any {
	t.Helper()
	r := w.run(t, command, append(more, args{"tty": true, "wait_for": pattern})...)
	r.has(t, "is_running", true, "stderr", "")
	return r.args["session_id"]
}

// TestTTY: cols and rows are the terminal's, its output is one stream, and a resize is seen.
func TestTTY(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	w.run(t, "test -t 0 && test -t 1 && test -t 2 && stty size", args{"tty": true}).has(t, "stdout", "24 80\n", "exit_code", 0)
	w.run(t, "stty size; echo err >&2", args{"tty": true, "cols": 100, "rows": "30"}).has(t, "stdout", "30 100\nerr\n", "stderr", "")
	w.run(t, "test -t 0 || test -t 1 || echo none").has(t, "stdout", "none\n")
	for _, bad := range []args{{"cols": 0}, {"rows": 0}, {"cols": 10001}} {
		w.run(t, "true", bad, args{"tty": true}).fails(t, "invalid", "must be from 1 to 10000")
	}
	id := w.terminal(t, `while :; do new=$(stty size); [ "$new" = "$old" ] || echo "$new"; old=$new; sleep 0.05; done`, "24 80\n")
	w.act(t, id, "send", args{"cols": 132, "rows": 50, "wait_for": "\n"}).has(t, "stdout", "50 132\n", "sent", 0)
	w.act(t, id, "send", args{"rows": 20, "wait_for": "\n"}).has(t, "stdout", "20 132\n") // the other one stays
	w.act(t, id, "send", args{"cols": 0}).fails(t, "invalid", "cols must be from 1")
	w.act(t, id, "kill").has(t, "killed", true)
	plain := w.session(t, "cat")
	w.act(t, plain, "send", args{"cols": 132}).fails(t, "invalid", "no terminal")
	w.act(t, plain, "kill")
}

// TestKeys: every key by its name, and what it sends.
func TestKeys(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	id := w.terminal(t, "stty raw -echo; echo ready; cat -v", "ready")
	names := []string{
		"enter", "tab", "shift-tab", "space", "escape", "backspace", "delete", "insert", "up", "down", "left", "right", "home", "end",
		"page-up", "page-down", "ctrl-up", "ctrl-down", "ctrl-left", "ctrl-right", "ctrl-space", "f1", "f4", "f5", "f12", "alt-x", "alt-X", "ctrl-\\", "ctrl-]", "a", "Z", ":", "é",
	}
	want := "^M\t^[[Z ^[^?^[[3~^[[2~^[[A^[[B^[[D^[[C^[[H^[[F^[[5~^[[6~^[[1;5A^[[1;5B^[[1;5D^[[1;5C^@^[OP^[OS^[[15~^[[24~^[x^[X^\\^]aZ:M-CM-)"
	for c := 'a'; c <= 'z'; c++ {
		names = append(names, "ctrl-"+string(c))
		want += map[rune]string{'i': "\t", 'j': "\n"}[c]
		if c != 'i' && c != 'j' {
			want += "^" + strings.ToUpper(string(c))
		}
	}
	w.act(t, id, "send", args{"keys": names, "wait_for": `\^Z`}).has(t, "stdout", want)
	w.act(t, id, "send", args{"keys": []string{"Esc", "Return", "PageUp", "page_down", "Ctrl+C", "C-c", "^c", "Control-C", "ArrowUp"}, "wait_for": `\[A`}).
		has(t, "stdout", "^[^M^[[5~^[[6~^C^C^C^C^[[A")
	for _, bad := range []string{"nope", "ctrl-", "ctrl-nope", "alt-", "f13"} {
		w.act(t, id, "send", args{"keys": []string{"a", bad}}).fails(t, "invalid", "no key is called").says(t, "hint", "enter", "ctrl-a to ctrl-z", "page-up", "command")
	}
	w.act(t, id, "read").has(t, "stdout", nil) // nothing was typed of what could not be
	w.call(t, args{"cwd": w.dir, "keys": []string{"enter"}}).fails(t, "invalid").says(t, "hint", "session_id")
	w.act(t, id, "kill").has(t, "killed", true)
}

// TestPlainKeys: without a terminal there are two.
func TestPlainKeys(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	id := w.session(t, "trap 'echo caught' INT; cat; echo ended")
	w.act(t, id, "send", args{"keys": []string{"up"}}).fails(t, "invalid", "without a terminal").says(t, "hint", "tty")
	w.act(t, id, "send", args{"keys": []string{"ctrl-d"}, "wait_for": "exit"}).has(t, "stdout", "ended\n", "exit_code", 0)
	id = w.session(t, "sleep 100")
	w.act(t, id, "send", args{"keys": []string{"Ctrl-C"}, "wait_for": "exit"}).has(t, "is_running", false, "signal", "INT", "exit_code", 130)
}

// TestScreen: while a program has taken the terminal over, stdout is the screen as it is and not what was written since.
func TestScreen(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	menu := `stty -echo; printf '\033[?1049h\033[H\033[Jmenu\r\n  one\r\n> two'; read x
printf '\033[2;1H> \033[3;1H  '; read x; printf '\033[?1049l'; echo chosen; read x`
	r := w.run(t, menu, args{"tty": true, "wait_for": "> two", "cols": 20, "rows": 5})
	r.has(t, "stdout", "menu\n  one\n> two\n").says(t, "notes", "stdout is the screen", "line 3, column 6")
	id := r.args["session_id"]
	w.act(t, id, "read").has(t, "stdout", "menu\n  one\n> two\n") // a look again shows it again
	w.act(t, id, "read", args{"raw": true, "offset": 0}).says(t, "stdout", "\x1b[?1049h")
	w.act(t, id, "send", args{"keys": []string{"enter"}, "wait_for": "> "}).has(t, "stdout", "menu\n> one\n  two\n")
	w.act(t, id, "send", args{"keys": []string{"enter"}, "wait_for": "chosen"}).has(t, "stdout", "chosen\n", "notes", nil)
	w.act(t, id, "kill")
}

// TestEditor: an agent may use vi.
func TestEditor(t *testing.T) {
	t.Parallel()
	needs(t, "vi")
	w := start(t, local)
	id := w.terminal(t, "vi -u NONE note.txt", "note.txt", args{"rows": 6, "cols": 40})
	w.act(t, id, "send", args{"command": "ihello\rworld", "wait_for": "world"}).says(t, "stdout", "hello\nworld\n~\n")
	w.act(t, id, "send", args{"keys": []string{"escape", "k", "d", "d"}, "wait_for": "output"})
	w.act(t, id, "send", args{"keys": []string{":", "w", "q", "enter"}, "wait_for": "exit"}).has(t, "exit_code", 0)
	if got := w.read(t, "note.txt"); got != "world\n" {
		t.Errorf("the file holds %q", got)
	}
}

// TestREPL: what an agent does with an interpreter: code, an endless loop, an interrupt, the end.
func TestREPL(t *testing.T) {
	t.Parallel()
	needs(t, "python3")
	w := start(t, local)
	prompt := args{"wait_for": ">>> $"}
	id := w.terminal(t, "PYTHONDONTWRITEBYTECODE=1 TERM=dumb python3 -q -i", ">>> $")
	w.act(t, id, "send", prompt, args{"command": "6*7\n"}).has(t, "sent", 4).says(t, "stdout", "\n42\n>>> ")
	w.act(t, id, "send", args{"command": "def f(x):\n    return x + 1\n\nf(1)\n", "wait_for": "2\n>>> $"}).says(t, "stdout", "\n2\n>>> ")
	w.act(t, id, "send", args{"command": "while True: pass\n", "wait": 0.2}).has(t, "is_running", true)
	w.act(t, id, "send", prompt, args{"keys": []string{"ctrl-c"}}).says(t, "stdout", "KeyboardInterrupt", ">>> ")
	w.act(t, id, "send", args{"keys": []string{"ctrl-d"}, "wait_for": "exit"}).has(t, "is_running", false)
}

// TestPassword: a prompt that turns the echo off shows nothing of the answer.
func TestPassword(t *testing.T) {
	t.Parallel()
	needs(t, "python3")
	w := start(t, local)
	id := w.terminal(t, `python3 -c 'import getpass; print(len(getpass.getpass()))'`, "assword: $")
	w.act(t, id, "send", args{"command": "hunter2\n", "wait_for": "exit"}).has(t, "stdout", "\n7\n", "exit_code", 0)
}

// TestQuestions: one prompt after the other, as ssh-keygen asks.
func TestQuestions(t *testing.T) {
	t.Parallel()
	needs(t, "ssh-keygen")
	w := start(t, local)
	id := w.terminal(t, "ssh-keygen -t ed25519 -f key", "passphrase.*: $")
	w.act(t, id, "send", args{"command": "secret\n", "wait_for": "again: $"}).has(t, "stdout", "\nEnter same passphrase again: ")
	w.act(t, id, "send", args{"command": "secret\n", "wait_for": "exit"}).has(t, "exit_code", 0).says(t, "stdout", "key.pub")
	w.read(t, "key.pub")
}

// TestJobControl: ctrl-z stops what runs in the foreground, ctrl-c interrupts it, and the shell goes on.
func TestJobControl(t *testing.T) {
	t.Parallel()
	needs(t, "bash")
	w := start(t, local)
	id := w.terminal(t, "PS1='ready> ' bash --norc --noprofile", "ready> $")
	ready := args{"wait_for": "ready> $"}
	w.act(t, id, "send", args{"command": "sleep 100\n", "wait": 0.3})
	w.act(t, id, "send", ready, args{"keys": []string{"ctrl-z"}}).says(t, "stdout", "Stopped", "sleep 100")
	w.act(t, id, "send", args{"command": "fg\n", "wait": 0.3})
	w.act(t, id, "send", ready, args{"keys": []string{"ctrl-c"}}).says(t, "stdout", "^C")
	w.act(t, id, "send", ready, args{"command": "jobs; echo $?\n"}).says(t, "stdout", "\n0\n")
	w.act(t, id, "send", args{"keys": []string{"ctrl-d"}, "wait_for": "exit"}).has(t, "is_running", false)
	w.empty(t)
}

// TestCheckedShellKeys: keys that edit a line would get past the policy that has seen it.
func TestCheckedShellKeys(t *testing.T) {
	t.Parallel()
	w := start(t, star{policy: `blacklist=["rm"]`})
	id := w.terminal(t, "bash --norc --noprofile", "[$#] $")
	for _, key := range []string{"up", "ctrl-a", "delete", "ctrl-m", "ctrl-j", "x", "tab", "alt-."} {
		w.act(t, id, "send", args{"keys": []string{key}}).fails(t, "denied", "could edit")
	}
	w.act(t, id, "send", args{"command": "rm x\n"}).fails(t, "denied")
	w.act(t, id, "send", args{"command": "echo $((40+2))", "wait": 0.1})
	w.act(t, id, "send", args{"keys": []string{"enter"}, "wait_for": `\n42`}).says(t, "stdout", "42")
	w.act(t, id, "send", args{"keys": []string{"ctrl-d"}, "wait_for": "exit"}).has(t, "is_running", false)
}

// TestPatternBeforeTimeout: who waits for a prompt that never comes gets the session, not a killed command.
func TestPatternBeforeTimeout(t *testing.T) {
	t.Parallel()
	w := start(t, star{defaults: "timeout=2"})
	r := w.run(t, "echo asked; sleep 100", args{"wait_for": "never"})
	r.has(t, "is_running", true, "stdout", "asked\n", "is_timeout", false)
	w.act(t, r.args["session_id"], "kill").has(t, "killed", true)
	w.run(t, "sleep 100", args{"wait_for": "never", "timeout": 1}).has(t, "is_timeout", true) // one that was asked for holds
}
