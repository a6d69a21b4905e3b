package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cmd-exec-mcp/runtime/policy"
	"github.com/rs/zerolog"
)

const examplesDir = "../../examples"

// TestExamplesLoad evaluates every example config: its hooks are there, its rules' own examples hold.
func TestExamplesLoad(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(examplesDir, "*.star"))
	if err != nil || len(files) < 4 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			a := &app{configFlag: file}
			if _, err := a.load(zerolog.Nop()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestExamplePolicies(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"whitelist.star", "ls -l | grep x", "allow"},
		{"whitelist.star", "ls && python3 -c 1", "deny"},
		{"whitelist.star", "/tmp/ls", "deny"},
		{"rules.star", "git push", "allow"},
		{"rules.star", "git -C x push --force", "deny"},
		{"rules.star", "echo key >> ~/.ssh/authorized_keys", "deny"},
		{"rules.star", "runas-ci -u me prod rm x", "deny"},
		{"rules.star", "runas-ci -u me prod ls", "allow"},
	} {
		a := &app{configFlag: filepath.Join(examplesDir, c.file)}
		p, err := a.policy(policyFlags{})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Check(context.Background(), policy.Input{Shell: "bash", Text: c.text, Dir: "/"}).Verdict.String(); got != c.want {
			t.Errorf("%s: %q is %s, want %s", c.file, c.text, got, c.want)
		}
	}
}

// configText is a config as it stands in a file.
type configText string

func (c configText) String() string { return string(c) }

// TestExampleTool runs the tool of run_tests.star on a module of one test.
func TestExampleTool(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile(filepath.Join(examplesDir, "run_tests.star"))
	if err != nil {
		t.Fatal(err)
	}
	cache, err := exec.Command("go", "env", "GOCACHE").Output() // a cold one would compile the standard library first
	if err != nil {
		t.Fatal(err)
	}
	w := start(t, configText(source), "GOCACHE="+strings.TrimSpace(string(cache)))
	for name, text := range map[string]string{
		"go.mod":    "module one\n\ngo 1.26\n",
		"x_test.go": "package one\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {}\n\nfunc TestTwo(t *testing.T) { t.Error(\"two\") }\n",
	} {
		if err := os.WriteFile(filepath.Join(w.home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	params := func(filter string) args {
		return args{"name": "run_tests", "arguments": args{"filter": filter, "package": "."}}
	}
	w.callWith(t, params("One")).has(t, "exit_code", 0)
	w.callWith(t, params("Two; touch hacked")).has(t, "exit_code", 0).says(t, "stdout", "no tests to run")
	w.callWith(t, params("Two")).has(t, "exit_code", 1)
	if _, err := os.Stat(filepath.Join(w.home, "hacked")); err == nil {
		t.Error("a parameter was read by a shell")
	}
}
