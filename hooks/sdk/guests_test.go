package sdk

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/hooks/hooktest"
	"cmd-exec-mcp/hooks/wasm"
	"cmd-exec-mcp/runtime/job"
)

// Every language's guests do what the role's suite says, over every one- and two-point cut, metered and unmetered.
func TestGuests(t *testing.T) {
	for _, lang := range Languages() {
		for _, role := range hooktest.Roles() {
			t.Run(lang+"/"+role, func(t *testing.T) {
				if lang == "go" && outside(t) {
					return
				}
				passes(t, guest(t, lang, role), role)
			})
		}
	}
}

// passes runs a role's suite.
func passes(t *testing.T, module, role string) {
	t.Helper()
	cases, err := hooktest.Suite(role)
	if err != nil {
		t.Fatal(err)
	}
	results, err := hooktest.Run(t.Context(), module, cases, hooktest.Options{Budget: true, Hook: patient})
	if err != nil {
		t.Fatal(err)
	}
	var fuel, memory int64
	runs := 0
	for _, r := range results {
		if r.Failure != "" {
			t.Errorf("%s: %s", r.Name, r.Failure)
		}
		fuel, memory, runs = max(fuel, r.Fuel), max(memory, r.Memory), runs+r.Runs
	}
	info, err := os.Stat(module)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, %d cuts, at most %d units of fuel and %d KiB of memory", info.Size(), runs, fuel, memory>>10)
}

// patient gives compilation more time: under the race detector a Go guest takes ten times as long.
func patient(c *wasm.Config) { c.CompileTime = 10 * time.Minute }

// Broken variants of the C guest, as an author might write them: the kit must notice each.
func TestMutantsAreCaught(t *testing.T) {
	header, err := os.ReadFile("c/hook.h")
	if err != nil {
		t.Fatal(err)
	}
	redact, err := os.ReadFile("c/redact.c")
	if err != nil {
		t.Fatal(err)
	}
	cases, err := hooktest.Suite("redact")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, old, new string }{
		{"keeps nothing", "if (size < 0) break;", "if (size < 0) size = 0;"},
		{"keeps a byte too few", "return (int32_t)(len - at);", "return (int32_t)(len - at - (at < len));"},
		{"keeps at the end", "&& !final", "&& (!final || 1)"},
		{"loses what stood before", "hook_write(text + shown, at - shown);\n    hook_write(t->mask", "hook_write(t->mask"},
		{"remembers in a variable", "size_t len = 0, shown", "static size_t calls; if (++calls % 50 == 0) return 0;\n  size_t len = 0, shown"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			broken := strings.Replace(string(header), tt.old, tt.new, 1)
			if broken == string(header) {
				t.Fatal("the text to change is not there")
			}
			dir := t.TempDir()
			write(t, filepath.Join(dir, "hook.h"), broken)
			write(t, filepath.Join(dir, "redact.c"), strings.Replace(string(redact), "(void)stream;", "(void)stream; (void)flags;", 1))
			module := filepath.Join(dir, "redact.wasm")
			build(t, "c", filepath.Join(dir, "redact.c"), module)
			results, err := hooktest.Run(t.Context(), module, cases, hooktest.Options{})
			if err != nil {
				t.Fatal(err)
			}
			failures := 0
			for _, r := range results {
				if r.Failure != "" {
					failures++
				}
			}
			if failures == 0 {
				t.Error("nothing was noticed")
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// open opens a module as a server does, with two instances. Compiled code is shared by the tests of this package.
func open(t *testing.T, module string, change func(*wasm.Config)) hooks.Hook {
	t.Helper()
	c := wasm.Driver().New().(*wasm.Config)
	c.File, c.Pool, c.QueueTimeout = module, 2, time.Minute
	patient(c)
	change(c)
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	named, err := c.Open(t.Context(), hooks.Env{Cache: modules.folder})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { named.Close(context.Background()) })
	if err := named.Hook.(*wasm.Hook).Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return named.Hook
}

// Eight jobs at once share two instances, and each gets its own output, whatever the pieces; with the fuel counter and without.
func TestSharedPool(t *testing.T) {
	for _, lang := range Languages() {
		for _, unmetered := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/unmetered=%v", lang, unmetered), func(t *testing.T) {
				h := open(t, guest(t, lang, "redact"), func(c *wasm.Config) { c.Unmetered = unmetered })
				var jobs sync.WaitGroup
				for n := range uint64(8) {
					jobs.Go(func() { printNoise(t, h, rand.New(rand.NewPCG(n, 1))) })
				}
				jobs.Wait()
			})
		}
	}
}

func printNoise(t *testing.T, h hooks.Hook, random *rand.Rand) {
	for range 20 {
		text := noise(random)
		got, err := pieces(t.Context(), h, text, random)
		if want := key.ReplaceAllString(text, "[aws-key]"); err != nil || got != want {
			t.Errorf("%v: %q\nbecame %q\nwant   %q", err, text, got, want)
			return
		}
	}
}

var key = regexp.MustCompile(`AKIA[A-Z0-9]{16}`)

// noise is a text full of keys and what looks like them.
func noise(random *rand.Rand) string {
	var b strings.Builder
	for range 5 + random.IntN(40) {
		b.WriteString([]string{"AKIA", "AKIAIOSFODNN7EXAMPLE", "A", "AK", "IA", "0123456789", "x", "\n", "\xff\x00", "AKIAAKIA"}[random.IntN(10)])
	}
	return b.String()
}

// pieces is one job that prints a text in pieces of any size.
func pieces(ctx context.Context, h hooks.Hook, text string, random *rand.Rand) (string, error) {
	_, tap, err := h.Begin(ctx, job.Request{Command: job.Command{Script: "x"}})
	if err != nil {
		return "", err
	}
	var got strings.Builder
	for {
		n := min(random.IntN(30), len(text))
		var flags hooks.Flags
		if n == len(text) {
			flags = hooks.Final
		}
		out, err := tap.Output(ctx, job.Stdout, []byte(text[:n]), flags)
		if err != nil {
			return "", err
		}
		got.Write(out)
		if text = text[n:]; flags != 0 {
			return got.String(), nil
		}
	}
}

// A Go guest's garbage is collected although its exports never block: an instance does not grow with its calls.
func TestGoGuestDoesNotLeak(t *testing.T) {
	var mu sync.Mutex
	var most int64
	h := open(t, guest(t, "go", "redact"), func(c *wasm.Config) {
		c.Trace = func(u wasm.Usage) {
			mu.Lock()
			defer mu.Unlock()
			most = max(most, u.Memory)
		}
	})
	_, tap, err := h.Begin(t.Context(), job.Request{Command: job.Command{Script: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	keys := bytes.Repeat([]byte("AKIAIOSFODNN7EXAMPLE"), 1000) // each one a mask of 16 bytes, 16 KB a call
	for n := range 2000 {                                      // 32 MB of garbage
		if _, err := tap.Output(t.Context(), job.Stdout, keys, 0); err != nil {
			t.Fatalf("call %d: %v", n, err)
		}
	}
	if most > 16<<20 {
		t.Errorf("the guest grew to %d MiB", most>>20)
	}
	t.Logf("%d KiB", most>>10)
}
