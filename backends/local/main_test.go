package local

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/backends/backendtest"
)

// children are the roles this test binary plays when it is its own child.
var children = map[string]func(){"server": serverRole, "first": firstRole, "terminal": terminalRole}

func TestMain(m *testing.M) {
	if role, ok := children[os.Getenv("CEM_TEST_ROLE")]; ok {
		role()
		os.Exit(0)
	}
	goroutines, system := runtime.NumGoroutine(), ofSystem()
	code := m.Run()
	if code == 0 {
		if left := leaks(goroutines, system); left != "" {
			fmt.Fprintln(os.Stderr, "leaked:", left)
			code = 1
		}
	}
	os.Exit(code)
}

// leaks waits for what is on its way out, then names what is still there: goroutines, descriptors and children.
func leaks(goroutines int, system map[string]bool) string {
	var left string
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		left = ""
		if n := runtime.NumGoroutine(); n > goroutines {
			buf := make([]byte, 1<<20)
			left = fmt.Sprintf("%d goroutines, %d before\n%s", n, goroutines, buf[:runtime.Stack(buf, true)])
		}
		for name := range ofSystem() {
			if !system[name] {
				left += name + "\n"
			}
		}
		if left == "" || time.Now().After(deadline) {
			return strings.TrimSpace(left)
		}
	}
}

func open(t testing.TB) *backend {
	t.Helper()
	return openWith(t, Config{})
}

func openWith(t testing.TB, c Config) *backend {
	t.Helper()
	be, err := c.Open(t.Context(), backends.Env{})
	if err != nil {
		t.Fatal(err)
	}
	return be.(*backend)
}

func TestBackend(t *testing.T) {
	backendtest.Run(t, func(t *testing.T) backends.Backend { return open(t) }, backendtest.Options{})
}
