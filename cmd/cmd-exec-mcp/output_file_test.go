package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOutputFileKeepsTheMode replaces a private file and a program: neither becomes readable by all, nor loses its x.
func TestOutputFileKeepsTheMode(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	for name, mode := range map[string]fs.FileMode{"private": 0o600, "tool.sh": 0o755} {
		path := w.write(t, name, "old")
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		w.run(t, "echo new", args{"output_file": name}).has(t, "exit_code", 0.0)
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != mode || w.read(t, name) != "new\n" {
			t.Errorf("%s: %v, mode %v, %q; want %v and new", name, err, info.Mode(), w.read(t, name), mode)
		}
	}
}

// TestOutputFileSparesTheServer tries what the server itself lives on: its program, under this and another name, its
// data, and the config that the next start would believe.
func TestOutputFileSparesTheServer(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	w := start(t, local, "XDG_CONFIG_HOME="+home)
	program, err := exec.LookPath("cmd-exec-mcp")
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(home, "cmd-exec-mcp", "config.star")
	if err := os.MkdirAll(filepath.Dir(config), 0o755); err != nil {
		t.Fatal(err)
	}
	locks, err := filepath.Glob(filepath.Join(w.data, "instances", "*", "lock"))
	if err != nil || len(locks) != 1 {
		t.Fatalf("%v, %v: want one lock file", locks, err)
	}
	own := []string{program, config, locks[0], filepath.Join(filepath.Dir(locks[0]), "new")}
	link := w.path("other-name")
	if os.Link(program, link) == nil {
		own = append(own, link)
	}
	for _, path := range own {
		before, _ := os.Stat(path)
		w.run(t, "echo new", args{"output_file": path}).fails(t, "denied", "belongs to this server")
		after, _ := os.Stat(path)
		if (before == nil) != (after == nil) || before != nil && before.Size() != after.Size() {
			t.Errorf("%s was touched", path)
		}
	}
}

// TestOutputFileNames holds names at the system's limit, and that one beyond it is refused before anything runs.
func TestOutputFileNames(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	longest := strings.Repeat("n", 255)
	w.run(t, "echo hi", args{"output_file": longest}).has(t, "exit_code", 0.0)
	if got := w.read(t, longest); got != "hi\n" {
		t.Errorf("got %q", got)
	}
	w.run(t, "touch ran", args{"output_file": longest + "n"}).fails(t, "invalid", "too long")
	if _, err := os.Stat(w.path("ran")); err == nil {
		t.Error("it ran all the same")
	}
	if left, _ := filepath.Glob(w.path(".cmd-exec-mcp.*")); left != nil {
		t.Errorf("%v are left", left)
	}
}

// TestMergedKeepsTheOrder prints to both streams without a pause: only one pipe for both keeps their order. An output
// file has what the reply calls stdout.
func TestMergedKeepsTheOrder(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	var want strings.Builder
	for range 200 {
		want.WriteString("out\nerr\n")
	}
	mixed := "for i in {1..200}; do echo out; echo err >&2; done"
	w.run(t, mixed, args{"merged": true}).has(t, "stdout", want.String(), "stderr", "")
	w.run(t, mixed, args{"merged": true, "output_file": "both.log"}).has(t, "stdout", want.String(), "stderr", "")
	if got := w.read(t, "both.log"); got != want.String() {
		t.Errorf("the file has %d bytes, want %d", len(got), want.Len())
	}
	w.run(t, "echo one; nosuch", args{"merged": true}).has(t, "exit_code", 127.0)
}
