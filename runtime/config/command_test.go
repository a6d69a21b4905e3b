package config

import (
	"context"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"cmd-exec-mcp/runtime/job"
)

const commandSource = `
calls = []
def run_tests(p):
    if p.filter == "bad":
        fail("no test is called", p.filter)
    if p.filter == "loop":
        for i in range(1000000):
            for j in range(1000000):
                pass
    if p.filter == "number":
        return 7
    if p.filter == "mutate":
        calls.append(1)
    if p.filter == "declare":
        shell_tool("late", backend=local())
    if p.filter == "text":
        return "go test " + quote("a b")
    return ["go", "test", "-run", p["filter"] or ".", p.package, str(p.get("nothing", "d"))]

command_tool("run_tests", backend=local(), description="Run Go tests",
    params={"package": param("string", "Go package pattern", default="./..."), "filter": param("string", "test name regexp"),
            "kind": param("string", "k", enum=["a", "b"], required=True), "list": param("array", "l", items="integer")},
    command=run_tests, cwd="src")
`

func TestCommandTool(t *testing.T) {
	cfg := parse(t, strings.Replace(commandSource, `quote("a b")`, `"x"`, 1))
	tool := cfg.Tools[0]
	wantSchema := map[string]any{
		"type": "object", "required": []any{"kind"},
		"properties": map[string]any{
			"package": map[string]any{"type": "string", "description": "Go package pattern", "default": "./..."},
			"filter":  map[string]any{"type": "string", "description": "test name regexp"},
			"kind":    map[string]any{"type": "string", "description": "k", "enum": []any{"a", "b"}},
			"list":    map[string]any{"type": "array", "description": "l", "items": map[string]any{"type": "integer"}},
		},
	}
	if !reflect.DeepEqual(tool.Schema, wantSchema) {
		t.Errorf("got schema %#v", tool.Schema)
	}
	if want := filepath.Join(cfg.Dir, "src"); tool.Dir != want {
		t.Errorf("got dir %q, want %q", tool.Dir, want)
	}
	for _, c := range []struct {
		args   map[string]any
		script string
		argv   []string
		kind   job.Kind
		err    string
	}{
		{args: nil, argv: []string{"go", "test", "-run", ".", "./...", "d"}},
		{args: map[string]any{"filter": "A", "package": "./x"}, argv: []string{"go", "test", "-run", "A", "./x", "d"}},
		{args: map[string]any{"filter": "text"}, script: "go test x"},
		{args: map[string]any{"filter": "bad"}, kind: job.Invalid, err: "no test is called bad"},
		{args: map[string]any{"filter": "number"}, kind: job.Internal, err: "neither shell text nor a list of strings"},
		{args: map[string]any{"filter": "loop"}, kind: job.Internal, err: "more than 1000000 steps"},
		{args: map[string]any{"filter": "mutate"}, kind: job.Internal, err: "frozen list"},
		{args: map[string]any{"filter": "declare"}, kind: job.Internal, err: "works only while config.star is read"},
	} {
		script, argv, err := tool.Command(context.Background(), c.args)
		if c.err != "" {
			if err == nil || job.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v: got %v (%v), want %v %q", c.args, err, job.KindOf(err), c.kind, c.err)
			}
			continue
		}
		if err != nil || script != c.script || !slices.Equal(argv, c.argv) {
			t.Errorf("%v: got %q %q %v", c.args, script, argv, err)
		}
	}
}

// TestConcurrentCalls is P9: calls share nothing that can change.
func TestConcurrentCalls(t *testing.T) {
	cfg := parse(t, `
table = {"a": [1, 2, 3]}
def run(p):
    total = 0
    for x in table["a"]:
        total += x * p.n
    return str(total)
command_tool("c", backend=local(), description="d", params={"n": param("integer", "n")}, command=run)
`)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for range 50 {
				script, _, err := cfg.Tools[0].Command(t.Context(), map[string]any{"n": i + 1})
				if want := (i + 1) * 6; err != nil || script != itoa(want) {
					t.Errorf("got %q %v, want %d", script, err, want)
				}
			}
		})
	}
	wg.Wait()
}

func TestCanceledCall(t *testing.T) {
	cfg := parse(t, "def run(p):\n    return 'x'\ncommand_tool('c', backend=local(), description='d', command=run)")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := cfg.Tools[0].Command(ctx, nil); err != nil && !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("got %v", err)
	}
}
