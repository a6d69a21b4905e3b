package sdk

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"cmd-exec-mcp/hooks/hooktest"
)

// A new project builds by the line in its README, and passes its own tests and its cases.
func TestProjects(t *testing.T) {
	for _, lang := range Languages() {
		t.Run(lang, func(t *testing.T) {
			if lang == "go" && outside(t) {
				return
			}
			dir := filepath.Join(t.TempDir(), "my-hook")
			written, err := Write(dir, lang, "my-hook")
			if err != nil || len(written) < 4 {
				t.Fatalf("wrote %v, %v", written, err)
			}
			module := buildProject(t, dir, lang)
			b, err := os.ReadFile(filepath.Join(dir, "cases.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			cases, err := hooktest.ReadCases(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			results, err := hooktest.Run(t.Context(), module, cases, hooktest.Options{Hook: patient})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range results {
				if r.Failure != "" {
					t.Errorf("%s: %s", r.Name, r.Failure)
				}
			}
		})
	}
}

func buildProject(t *testing.T, dir, lang string) string {
	t.Helper()
	switch lang {
	case "go":
		run(t, dir, nil, "go", "vet", "./...")
		run(t, dir, nil, "go", "test", "./...")
		run(t, dir, []string{"GOOS=wasip1", "GOARCH=wasm"}, "go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", "my-hook.wasm", ".")
	case "rust":
		cargo := tool(t, "CARGO")
		env := []string{"RUSTC=" + tool(t, "RUSTC")}
		run(t, dir, env, cargo, "test", "--offline")
		env = append(env, "RUSTFLAGS=-Clinker="+tool(t, "WASM_LD")+" -Clink-self-contained=no")
		run(t, dir, env, cargo, "build", "--offline", "--release", "--target=wasm32-unknown-unknown")
		return filepath.Join(dir, "target/wasm32-unknown-unknown/release/my_hook.wasm")
	case "as":
		// Instead of npm install, which is `npm run build`'s only other need, the compiler that is here.
		asc := tool(t, "ASC")
		if err := os.Symlink(filepath.Dir(filepath.Dir(asc)), filepath.Join(dir, "node_modules")); err != nil {
			t.Fatal(err)
		}
		run(t, dir, nil, "npm", "run", "build")
	case "c":
		tool(t, "WASM_LD")
		run(t, dir, nil, tool(t, "CLANG"), "--target=wasm32", "-O2", "-Wall", "-nostdlib", "-ffreestanding", "-mbulk-memory",
			"-Wl,--no-entry", "-Wl,--strip-all", "-o", "my-hook.wasm", "hook.c")
	}
	return filepath.Join(dir, "my-hook.wasm")
}
