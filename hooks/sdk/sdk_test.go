package sdk

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"cmd-exec-mcp/runtime/job"
)

func TestFiles(t *testing.T) {
	for lang, want := range map[string][]string{
		"go":   {"README.md", "cases.jsonl", "go.mod", "hook/call.go", "hook/fake.go", "hook/hook.go", "hook/wasm.go", "main.go", "main_test.go"},
		"rust": {"Cargo.toml", "README.md", "cases.jsonl", "src/hook.rs", "src/lib.rs"},
		"as":   {"README.md", "cases.jsonl", "hook.ts", "index.ts", "package.json", "tsconfig.json"},
		"c":    {"README.md", "cases.jsonl", "hook.c", "hook.h"},
	} {
		project, err := Files(lang, "my-hook")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range want {
			if len(project[name]) == 0 {
				t.Errorf("%s: %s is missing or empty", lang, name)
			}
		}
		for name, content := range project {
			if left := regexp.MustCompile(`\{\{\w+\}\}|cmd-exec-mcp/hooks|\.tmpl`).Find(content); left != nil || regexp.MustCompile(`\.tmpl|hook_test\.go`).MatchString(name) {
				t.Errorf("%s: %s holds %q", lang, name, left)
			}
		}
	}
	if !slices.Equal(Languages(), []string{"go", "rust", "as", "c"}) {
		t.Errorf("languages %v", Languages())
	}
}

func TestWriteRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "precious"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		dir, lang, name string
		want            job.Kind
	}{
		{dir, "go", "x", job.Invalid},
		{filepath.Join(dir, "precious"), "go", "x", job.Invalid},
		{t.TempDir(), "cobol", "x", job.NotFound},
		{t.TempDir(), "go", "../x", job.Invalid},
		{t.TempDir(), "go", "", job.Invalid},
		{t.TempDir(), "go", "My Hook", job.Invalid},
	} {
		written, err := Write(tt.dir, tt.lang, tt.name)
		if job.KindOf(err) != tt.want || written != nil {
			t.Errorf("%s %q: wrote %v, %v", tt.lang, tt.name, written, err)
		}
	}
}
