package sdk

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
)

// toolchains installs what can be installed, once, and returns what there is.
var toolchains = sync.OnceValues(func() (map[string]string, string) {
	var said bytes.Buffer
	cmd := exec.Command("../../.ci/services/wasm")
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		said.WriteString(err.Error())
	}
	found := map[string]string{}
	for line := range strings.Lines(string(out)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		found[key] = value
	}
	return found, said.String()
})

// tool is a toolchain's program. Without it the test skips; in CI it fails.
func tool(t *testing.T, name string) string {
	t.Helper()
	found, said := toolchains()
	if found[name] == "" {
		if os.Getenv("CI") == "true" || os.Getenv("CEM_NO_SKIP") == "1" {
			t.Fatalf("no %s: .ci/services/wasm says: %s", name, said)
		}
		t.Skipf("no %s: .ci/services/wasm says: %s", name, said)
	}
	return found[name]
}

// modules are the guests that were built, in a folder that goes with the test binary.
var modules struct {
	folder string
	built  map[string]string
}

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "sdk")
	if err != nil {
		panic(err)
	}
	modules.folder, modules.built = folder, map[string]string{}
	code := m.Run()
	os.RemoveAll(folder)
	os.Exit(code)
}

// guest is the module of a role in a language.
func guest(t *testing.T, lang, role string) string {
	t.Helper()
	name := lang + "-" + role + ".wasm"
	if modules.built[name] == "" {
		out := filepath.Join(modules.folder, name)
		build(t, lang, source(lang, role), out)
		modules.built[name] = out
	}
	return modules.built[name]
}

// build makes a module of a source file, as the language's users do.
func build(t *testing.T, lang, source, out string) {
	t.Helper()
	switch lang {
	case "go":
		run(t, ".", []string{"GOOS=wasip1", "GOARCH=wasm"}, "go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", out, "./"+source)
	case "rust":
		run(t, ".", nil, tool(t, "RUSTC"), "--edition=2021", "--target=wasm32-unknown-unknown", "-O", "-Dwarnings", "-Cpanic=abort", "-Clto", "-Cstrip=symbols",
			"--crate-type=cdylib", "-Clink-self-contained=no", "-Clinker="+tool(t, "WASM_LD"), "-o", out, source)
	case "as":
		run(t, ".", nil, tool(t, "ASC"), source, "-O3", "--exportStart", "_initialize", "-o", out)
	case "c":
		tool(t, "WASM_LD")
		run(t, ".", nil, tool(t, "CLANG"), "--target=wasm32", "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-nostdlib", "-ffreestanding", "-mbulk-memory",
			"-Wl,--no-entry", "-Wl,--strip-all", "-o", out, source)
	}
}

// run runs a program in a folder, with some variables more.
func run(t *testing.T, dir string, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}

// source is where the guest of a role stands.
func source(lang, role string) string {
	switch lang {
	case "go":
		return "go/" + role
	case "rust":
		return "rust/" + role + ".rs"
	case "as":
		return "assemblyscript/" + role + ".ts"
	}
	return "c/" + role + ".c"
}

// outside runs a test once more in a test binary without the race detector, if this one has it, and says whether it did. To
// compile a Go guest takes twenty seconds of work with it and two without, and a kit that runs one call after another has no
// races; TestSharedPool has, and stays.
func outside(t *testing.T) bool {
	t.Helper()
	info, ok := debug.ReadBuildInfo()
	race := ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
	if !race || os.Getenv("CEM_SDK_OUTSIDE") != "" { // the second: never twice, whatever GOFLAGS says
		return false
	}
	pattern := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
	run(t, ".", []string{"CEM_SDK_OUTSIDE=1"}, "go", "test", "-count=1", "-run", pattern, ".")
	return true
}
