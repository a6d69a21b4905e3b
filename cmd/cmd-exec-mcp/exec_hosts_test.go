package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmd-exec-mcp/runtime/job"
)

// TestExecHosts: a group gives whole lines by host and a row for each, and a host that is not there hides no other.
func TestExecHosts(t *testing.T) {
	t.Parallel()
	s := servers(t)
	file := filepath.Join(t.TempDir(), "config.star")
	text := fmt.Sprintf(`shell_tool("execute_remote", policy=policy(mode="full"), groups={"web": ["prod", "lab"]},
    backend={"prod": %s, "lab": %s, "gone": ssh("nobody@127.0.0.1:1", known_hosts=False, ssh_config=None, key=%q)})
`, account(s, "cem-bash", ""), account(s, "cem-dash", ""), s["KEY"])
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool, command string
		code          int
		stdout        []string
		rows          []string
	}{
		{"remote@web", "whoami; printf end", 0, []string{"lab: cem-dash", "lab: end", "prod: cem-bash", "prod: end"}, []string{"prod  exit 0", "lab   exit 0"}},
		{"remote@lab,gone", "whoami; exit 3", exitFailed, []string{"lab: cem-dash"}, []string{"lab   exit 3", "gone  127.0.0.1:1"}},
		{"remote@lab", "whoami", 0, []string{"cem-dash"}, nil},
	} {
		stdout, stderr := scratch(t), scratch(t)
		a := &app{configFlag: file, dataFlag: t.TempDir(), stdout: stdout, stderr: stderr}
		err := a.exec(t.Context(), c.tool, c.command, execFlags{})
		code := 0
		if s, ok := errors.AsType[*status](err); ok {
			code = s.code
		} else if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(contents(t, stdout)), "\n")
		slices.Sort(lines)
		if code != c.code || !slices.Equal(lines, c.stdout) {
			t.Errorf("%s: status %d and %q, want %d and %q", c.tool, code, lines, c.code, c.stdout)
		}
		table := contents(t, stderr)
		for _, row := range c.rows {
			if !strings.Contains(table, row) {
				t.Errorf("%s: there is no row %q in\n%s", c.tool, row, table)
			}
		}
	}
}

func scratch(t *testing.T) *os.File {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func contents(t *testing.T, f *os.File) string {
	t.Helper()
	data, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestHostLines: two hosts that print pieces of lines never share one, and a line without an end is not waited for without bound.
func TestHostLines(t *testing.T) {
	var out bytes.Buffer
	h := &hostLines{terminal: terminal{stdout: &out, stderr: &out}, names: []string{"a", "b"}, rest: map[part][]byte{}}
	for _, e := range []job.Event{
		{Stream: job.Stdout, Data: []byte("one\ntw")},
		{Stream: job.Stdout, Data: []byte("x\n\ny"), Part: 1},
		{Stream: job.Stdout, Data: []byte("o\n")},
	} {
		h.Event(e)
	}
	h.flush()
	if got, want := out.String(), "a: one\nb: x\nb: \na: two\nb: y\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	out.Reset()
	h.Event(job.Event{Stream: job.Stdout, Data: bytes.Repeat([]byte("z"), longestLine+1)})
	if out.Len() < longestLine {
		t.Errorf("%d bytes of a long line were printed", out.Len())
	}
}
