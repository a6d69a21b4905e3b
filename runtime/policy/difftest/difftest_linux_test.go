// Package difftest looks for texts that the policy allows and that start a listed command in a real shell all the same.
//
//	CEM_DIFFTEST=1m go test ./runtime/policy/difftest -v -timeout 0
//
// It mutates the corpus and a list of seeds, and runs what the policy allows in real bash and dash inside a chroot where
// the listed names are stubs that leave a mark. It needs root, for the chroot and its namespaces. Each text found is
// appended to CEM_DIFFTEST_FOUND, or printed.
package difftest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cmd-exec-mcp/runtime/policy"
)

// batch is how many texts share a namespace: making one costs more than running a text.
const batch = 20

const inside = "CEM_DIFFTEST_INSIDE"

// TestDifferential runs for CEM_DIFFTEST; without it for two seconds, so that the harness itself stays alive.
func TestDifferential(t *testing.T) {
	for _, tool := range []string{"bash", "dash", "ldd"} {
		if _, err := exec.LookPath(tool); err != nil {
			skip(t, tool+" is not installed")
		}
	}
	if os.Getuid() != 0 {
		skip(t, "a chroot needs root")
	}
	if os.Getenv(inside) == "" {
		again(t)
		return
	}
	length := 2 * time.Second
	if v := os.Getenv("CEM_DIFFTEST"); v != "" {
		var err error
		if length, err = time.ParseDuration(v); err != nil {
			t.Fatal(err)
		}
	}
	fuzz(t, length)
}

func skip(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" || os.Getenv("CEM_NO_SKIP") == "1" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// again runs this test in a mount namespace of its own, so that no mount outlives it.
func again(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestDifferential$", "-test.v", "-test.timeout=0")
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if err := cmd.Run(); err != nil {
		if errors.Is(err, syscall.EPERM) {
			skip(t, "no permission for a mount namespace")
		}
		t.Fatal(err)
	}
}

func fuzz(t *testing.T, length time.Duration) {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		skip(t, "cannot make mounts private: "+err.Error())
	}
	p, err := policy.NewConfig().Compile()
	if err != nil {
		t.Fatal(err)
	}
	seeds := loadSeeds(t)
	var stats struct{ made, allowed, ran, found atomic.Int64 }
	seen := sync.Map{}
	end := time.Now().Add(length)
	var workers sync.WaitGroup
	for n := range 2 {
		root := newRoot(t)
		for _, shell := range []string{"bash", "sh"} {
			for _, program := range programs(shell) {
				if root.run(program, "echo a; rm b") == "" {
					t.Fatalf("a plain rm leaves no mark in %s: the harness sees nothing", program)
				}
			}
		}
		workers.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), uint64(n)))
			for time.Now().Before(end) {
				for _, shell := range []string{"bash", "sh"} {
					var texts []string
					for tries := 0; len(texts) < batch && tries < 50*batch; tries++ {
						text := mutate(rng, seeds)
						if _, old := seen.LoadOrStore(shell+text, true); old || strings.ContainsRune(text, 0) {
							continue
						}
						stats.made.Add(1)
						if d := p.Check(context.Background(), policy.Input{Shell: shell, Text: text}); d.Verdict == policy.Allow {
							texts = append(texts, d.Text)
						}
					}
					stats.allowed.Add(int64(len(texts)))
					for _, program := range programs(shell) {
						stats.ran.Add(int64(len(texts)))
						for i, mark := range root.find(program, texts) {
							stats.found.Add(1)
							report(t, shell, program, texts[i], mark)
						}
					}
				}
			}
		})
	}
	workers.Wait()
	fmt.Printf("%d texts made, %d allowed, %d runs, %d bypasses\n", stats.made.Load(), stats.allowed.Load(), stats.ran.Load(), stats.found.Load())
}

func programs(shell string) []string {
	if shell == "bash" {
		return []string{"/bin/bash --noprofile --norc -c"}
	}
	return []string{"/bin/dash -c", "/bin/bash --posix -c"}
}

func report(t *testing.T, shell, program, text, mark string) {
	t.Errorf("%s runs %q: %q", program, strings.TrimSpace(mark), text)
	path := os.Getenv("CEM_DIFFTEST_FOUND")
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	line, _ := json.Marshal(policy.Case{ID: fmt.Sprintf("found-%x", time.Now().UnixNano()), Shell: shell, Mode: "blacklist", Command: text, Expect: "deny", Why: "started " + strings.TrimSpace(mark) + " in " + program})
	f.Write(append(line, '\n'))
}

// loadSeeds takes the commands of all corpora and the seeds of this package.
func loadSeeds(t *testing.T) []string {
	seeds := strings.Split(strings.TrimSpace(seedText), "\n---\n")
	files, err := filepath.Glob("../testdata/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no corpus", err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 4<<20)
		for lines.Scan() {
			var c policy.Case
			if json.Unmarshal(lines.Bytes(), &c) == nil && len(c.Command) < 400 && (c.Shell == "bash" || c.Shell == "sh") {
				seeds = append(seeds, c.Command)
			}
		}
		f.Close()
	}
	return seeds
}
