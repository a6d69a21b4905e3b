package cmdexecmcp

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

const (
	maxFileLines = 500
	maxFuncLines = 80
)

// TestSizes keeps files and functions small enough to be read at one sitting.
func TestSizes(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".go") {
			checkSizes(t, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkSizes(t *testing.T, path string) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return
	}
	lines := func(n ast.Node) int { return set.Position(n.End()).Line - set.Position(n.Pos()).Line + 1 }
	if n := set.File(file.Pos()).LineCount(); n > maxFileLines {
		t.Errorf("%s has %d lines: split it below %d", path, n, maxFileLines)
	}
	for _, decl := range file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && lines(fn) > maxFuncLines {
			t.Errorf("%s: %s has %d lines: split it below %d", path, fn.Name.Name, lines(fn), maxFuncLines)
		}
	}
}
