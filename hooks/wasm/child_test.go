package wasm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"cmd-exec-mcp/runtime/job"
)

// The worst guests together in a process of their own, where they could kill it: frozen at the next garbage collection by
// a loop that nothing ends, or out of memory.
func TestBombsDoNotKillTheProcess(t *testing.T) {
	if os.Getenv("CEM_WASM_CHILD") != "" {
		bombs(t)
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "-test.run=^TestBombsDoNotKillTheProcess$", "-test.v")
	cmd.Env = append(os.Environ(), "CEM_WASM_CHILD=1")
	out, err := cmd.CombinedOutput()
	if err != nil || ctx.Err() != nil {
		t.Fatalf("the child: %v\n%s", errors.Join(err, ctx.Err()), out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "resident") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

func bombs(t *testing.T) {
	before := resident()
	for _, tt := range hostile {
		h := hook(t, hostileText(tt.fields, tt.body))
		for range 3 {
			done := make(chan error, 1)
			go func() {
				_, _, err := begin(h, "!")
				done <- err
			}()
			runtime.GC() // waits for the guest; a loop without an end would stop here for ever
			if err := <-done; err == nil || job.KindOf(err) == job.Denied {
				t.Errorf("%s: got %v", tt.name, err)
			}
			if _, _, err := begin(h, "ls"); err != nil {
				t.Errorf("%s: the next call: %v", tt.name, err)
			}
		}
		h.Close(context.Background())
	}
	debug.FreeOSMemory()
	after := resident()
	fmt.Printf("resident %d MiB before, %d MiB after\n", before>>20, after>>20)
	if !raceEnabled && before > 0 && after > before+200<<20 {
		t.Errorf("%d MiB are still in use, %d before", after>>20, before>>20)
	}
}

// resident is the process's memory in bytes; 0 where there is no /proc.
func resident() int64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(b))
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}
