package cmdexecmcp

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "cmd-exec-mcp"

// rooms says which rooms of this module each room may import. A room that is not listed may import nothing of ours.
// Adding a name here is a decision about the architecture: an arrow may point only to a lower level.
var rooms = map[string][]string{
	"runtime/job":    {},
	"runtime/stream": {"runtime/job"},
	"runtime/shell":  {"runtime/job"},
	"backends":       {"runtime/job"},
	"hooks":          {"runtime/job"},
	"mcp":            {"runtime/job"},

	"runtime/policy":       {"runtime/job", "runtime/shell"},
	"runtime/audit":        {"runtime/job"},
	"backends/backendtest": {"backends", "runtime/job"},
	"backends/*":           {"backends", "runtime/stream", "runtime/shell", "runtime/job"},
	"hooks/*":              {"hooks", "runtime/stream", "runtime/job"},
	"hooks/hooktest":       {"hooks", "hooks/wasm", "hooks/wasm/wat", "runtime/job"},
	"runtime/session":      {"backends", "hooks", "runtime/stream", "runtime/shell", "runtime/job"},

	"backends/ssh":         {"backends", "backends/ssh/resolve", "backends/ssh/trust", "backends/ssh/auth", "runtime/stream", "runtime/shell", "runtime/job"},
	"backends/ssh/resolve": {"runtime/job"},
	"backends/ssh/trust":   {"backends/ssh/resolve", "runtime/job"},
	"backends/ssh/auth":    {"backends/ssh/resolve", "runtime/job"},

	"backends/all":   {"backends", "backends/*"},
	"runtime/config": {"runtime/job", "runtime/shell", "runtime/stream", "backends", "hooks", "hooks/builtin", "runtime/policy", "runtime/session"},

	"runtime": {"runtime/config", "runtime/policy", "runtime/audit", "runtime/session", "runtime/stream", "runtime/shell", "hooks", "backends", "runtime/job"},

	"cmd/*": {"*"},
	".":     {},
}

// owners are the libraries that only some rooms may touch, so that changing one is changing one room.
var owners = map[string][]string{
	"go.starlark.net":                {"runtime/config"},
	"mvdan.cc/sh":                    {"runtime/shell", "runtime/policy"},
	"github.com/mark3labs/mcp-go":    {"mcp"},
	"github.com/tetratelabs/wazero":  {"hooks/wasm", "hooks/hooktest"},
	"github.com/docker/":             {"backends/docker"},
	"golang.org/x/crypto/ssh":        {"backends/ssh", "backends/ssh/trust", "backends/ssh/auth"},
	"github.com/spf13/cobra":         {"cmd/cmd-exec-mcp"},
	module + "/runtime\x00":          {"cmd/cmd-exec-mcp", "cmd/bench"},
	"github.com/creack/pty":          {"backends/local"},
	"gopkg.in/natefinch/lumberjack.": {"cmd/cmd-exec-mcp", "runtime/audit"},
}

// TestImports holds the arrows between the rooms: tests may reach wherever they like, the code may not.
func TestImports(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "examples" || name == "sdk" || name == "peers") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		checkFile(t, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkFile(t *testing.T, path string) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Error(err)
		return
	}
	room := filepath.ToSlash(filepath.Dir(path))
	allowed, ok := rooms[room]
	if !ok {
		allowed, ok = rooms[strings.SplitN(room, "/", 2)[0]+"/*"]
	}
	if !ok {
		t.Errorf("%s: no room is called %q: name it in imports_test.go and say what it may import", path, room)
	}
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		for library, rooms := range owners {
			if strings.HasPrefix(imported+"\x00", library) && !slices.Contains(rooms, room) {
				t.Errorf("%s imports %s: only %s may, so that replacing it changes one place", path, imported, strings.Join(rooms, " and "))
			}
		}
		target, ours := strings.CutPrefix(imported, module+"/")
		if ours && !permits(allowed, target) && target != room {
			t.Errorf("%s imports %s: %s may import only %v, since arrows point downwards", path, imported, room, allowed)
		}
	}
}

func permits(allowed []string, target string) bool {
	return slices.ContainsFunc(allowed, func(a string) bool {
		if prefix, ok := strings.CutSuffix(a, "*"); ok {
			return strings.HasPrefix(target, prefix)
		}
		return a == target
	})
}
