//go:build linux

// Command bench measures the server against what the machine can do at best (the floor, in C) and against the server that
// anybody would write first (cmd/bench/peers).
//
// Machines differ and are shared, so only ratios are compared: each benchmark runs ours and the other alternately, takes the
// ratio of each round, and of three blocks of rounds the one with the lowest median. A line says id, value, bar, goal,
// "ok" or "short" and what it is. The exit status does not depend on the values.
//
//	go run ./cmd/bench [-run REGEXP] [-short]
//	go run ./cmd/bench -soak [-short]
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

// benchmark measures and reports one or several lines.
type benchmark struct {
	id  string
	run func(*lab) error
}

var benchmarks = []benchmark{
	{"L1", runner},
	{"L2", overStdio},
	{"L4", cpuPerCall},
	{"L5", sideBySide},
	{"L6", keeping},
	{"L7", gigabyte},
	{"L8", background},
	{"L9", escapes},
	{"L10", overshoot},
	{"M1", withoutExec},
	{"M2", encoding},
	{"B1", sessionBuffer},
	{"B2", sessionLines},
	{"U1", startup},
	{"P1", policyCheck},
	{"D", containers},
	{"S", remotes},
}

func main() {
	run := flag.String("run", "", "only the benchmarks whose id matches this regular expression")
	short := flag.Bool("short", false, "a few rounds of each, to see that they work; the values mean nothing then")
	soak := flag.Bool("soak", false, "instead, run thousands of calls, timeouts, cancels and sessions, and look for what is left")
	flag.Parse()
	if err := bench(*run, *short, *soak); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

func bench(run string, short, soak bool) error {
	which, err := regexp.Compile(run)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	l, err := newLab(short)
	if err != nil {
		return err
	}
	defer l.close()
	if soak {
		return l.soak()
	}
	fmt.Printf("%-6s %10s %10s %10s %-5s %s\n", "id", "value", "bar", "goal", "", "what")
	for _, b := range benchmarks {
		if !which.MatchString(b.id) {
			continue
		}
		if err := b.run(l); err != nil {
			return fmt.Errorf("%s: %w", b.id, err)
		}
	}
	return nil
}

// lab is what the benchmarks share: the programs, built once, and a folder to work in.
type lab struct {
	dir          string // temporary
	work         string // the commands' working directory, below dir
	ours, stock  string // binaries
	short        bool
	floorProcess *floor // nil until the first use
}

func newLab(short bool) (*lab, error) {
	dir, err := os.MkdirTemp("", "cmd-exec-mcp-bench-")
	if err != nil {
		return nil, err
	}
	l := &lab{
		dir: dir, work: filepath.Join(dir, "work"), short: short,
		ours: filepath.Join(dir, "cmd-exec-mcp"), stock: filepath.Join(dir, "stock"),
	}
	root, err := moduleRoot()
	if err == nil {
		err = os.Mkdir(l.work, 0o755)
	}
	if err == nil {
		err = build(root, l.ours, "./cmd/cmd-exec-mcp")
	}
	if err == nil {
		err = build(filepath.Join(root, "cmd", "bench", "peers"), l.stock, ".")
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *lab) close() {
	if l.floorProcess != nil {
		l.floorProcess.close()
	}
	os.RemoveAll(l.dir)
}

// moduleRoot looks upwards, so that the command works in any folder of the checkout.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "cmd", "bench", "peers", "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("run it in the checkout: cmd/bench/peers is built from source")
		}
		dir = filepath.Dir(dir)
	}
}

func build(dir, to, what string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", to, what)
	cmd.Dir, cmd.Stderr, cmd.Env = dir, os.Stderr, append(os.Environ(), "CGO_ENABLED=0") // as the Makefile builds
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building %s: %w", filepath.Base(to), err)
	}
	return nil
}

// rounds is n, or a few.
func (l *lab) rounds(n int) int {
	if l.short {
		return min(n, 6)
	}
	return n
}

// environment is small and the same for everything that is compared.
func environment() []string {
	return []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/tmp", "LANG=C.UTF-8"}
}
