package docker

import (
	"testing"

	"cmd-exec-mcp/runtime/job"
)

// TestCommands runs ordinary commands in each kind of image that has a shell.
func TestCommands(t *testing.T) {
	for _, place := range []struct{ image, shell string }{{"cem-test/debian", ""}, {"cem-test/busybox", ""}, {"cem-test/user", "sh"}} {
		t.Run(place.image, func(t *testing.T) {
			b := open(t, func(c *Config) { c.Image, c.Shell = place.image, place.shell })
			value := "a'b \"c\" $d \\ `e`\nline\ttwo\x01\x7f é \xff!"
			for _, test := range []struct {
				name           string
				cmd            job.Command
				stdout, stderr string
				code           int
				signal         string
			}{
				{"streams", script("echo out; echo err >&2"), "out\n", "err\n", 0, ""},
				{"exit", script("exit 3"), "", "", 3, ""},
				{"exec exit", script("exec sh -c 'exit 7'"), "", "", 7, ""},
				{"signal", script("kill -9 $$"), "", "", 137, "KILL"},
				{"kills all", script("kill -9 -1; sleep 0.1; echo on"), "on\n", "", 0, ""},
				{"kills first", script("kill -9 1; echo on"), "on\n", "", 0, ""},
				{"kills parent", script("kill -9 $PPID; echo on"), "on\n", "", 0, ""},
				{"env", job.Command{Script: `printf '%s' "$A"`, Env: map[string]string{"A": value}}, value, "", 0, ""},
				{"dir", job.Command{Script: "pwd", Dir: "/tmp"}, "/tmp\n", "", 0, ""},
				{"input", job.Command{Script: "cat", Stdin: job.StdinBytes, Input: []byte("a\x00b\n")}, "a\x00b\n", "", 0, ""},
				{"no input", script("cat"), "", "", 0, ""},
				{"argv", job.Command{Argv: []string{"printf", "%s|", "a b", "$HOME", "'"}}, "a b|$HOME|'|", "", 0, ""},
				{"argv missing", job.Command{Argv: []string{"no-such"}}, "", "no-such: command not found\n", 127, ""},
				{"quotes", script(`echo "a  b"; printf '%s\n' "$((1+1))" '$HOME'`), "a  b\n2\n$HOME\n", "", 0, ""},
				{"lines", script("cat <<'E'\n\\n  x\n\nE\n"), "\\n  x\n\n", "", 0, ""},
			} {
				got := run(t, b, test.cmd)
				if got.stdout != test.stdout || got.stderr != test.stderr || got.exit.Code != test.code || got.exit.Signal != test.signal {
					t.Errorf("%s: got %q %q %d %q, want %q %q %d %q", test.name, got.stdout, got.stderr, got.exit.Code, got.exit.Signal, test.stdout, test.stderr, test.code, test.signal)
				}
				if len(got.exit.Notes) > 0 {
					t.Errorf("%s: notes %q, want none", test.name, got.exit.Notes)
				}
			}
		})
	}
}

// TestTerminal: a terminal in each kind of image with a shell.
func TestTerminal(t *testing.T) {
	for _, image := range []string{"cem-test/debian", "cem-test/busybox", "cem-test/user"} {
		b := open(t, func(c *Config) { c.Image, c.Prefix = image, "echo noise" })
		got := run(t, b, job.Command{Script: "test -t 0 && stty size; echo $A $TERM >&2; exit 5", Env: map[string]string{"A": "b"}, TTY: &job.Size{Cols: 91, Rows: 33}})
		if got.stdout != "33 91\r\nb xterm-256color\r\n" || got.stderr != "" || got.exit.Code != 5 {
			t.Errorf("%s: %+v", image, got)
		}
	}
}
