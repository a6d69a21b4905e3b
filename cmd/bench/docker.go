//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// containers are D1 to D4. They need an engine, so they stand as Go benchmarks beside the backend's tests, which start
// one; here they are run and held against their bars. Without an engine one line says so.
func containers(l *lab) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	out, err := goBench(root, l.rounds(12), "./backends/docker", "PoolHit|PoolMiss|Output|Left")
	if err != nil {
		fmt.Printf("%-6s no engine: %v\n", "D1-D4", err)
		return nil
	}
	return held(out, []metric{
		{"D1", "PoolHit", "of-docker-run", "a command in a fresh container from the pool / docker run", limit{bar: 0.02, goal: 0.012}},
		{"D1.sh", "PoolHit", "of-host-bash", "the same / bash on the host", limit{bar: 2.5, goal: 2}},
		{"D2", "PoolMiss", "of-docker-run", "without the pool / docker run", limit{bar: 0.85, goal: 0.75}},
		{"D3", "Output", "times-json-file", "rate of output / with the engine's usual log", limit{bar: 3, goal: 6, atLeast: true}},
		{"D4", "Left", "ms-until-gone", "milliseconds after SIGKILL of an idle server until no container is left", limit{bar: 2000, goal: 1000}},
	})
}

// metric is what a Go benchmark reports under a unit, and its bar.
type metric struct {
	id, benchmark, unit, what string
	limit                     limit
}

// held prints a line for each metric.
func held(out map[string]float64, list []metric) error {
	for _, m := range list {
		value, ok := out[m.benchmark+" "+m.unit]
		if !ok {
			return fmt.Errorf("the benchmark %s gave no %s", m.benchmark, m.unit)
		}
		report(m.id, value, m.limit, "%s", m.what)
	}
	return nil
}

// goBench runs Go benchmarks and returns their metrics by name and unit.
func goBench(root string, rounds int, pkg, names string) (map[string]float64, error) {
	cmd := exec.Command("go", "test", "-run", "^$", "-bench", "^Benchmark("+names+")$", "-benchtime", strconv.Itoa(rounds)+"x", pkg)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CEM_NO_SKIP=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return nil, errors.New(lines[0])
	}
	metrics := map[string]float64{}
	for _, line := range strings.Split(string(out), "\n") {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := benchName.FindStringSubmatch(fields[0])
		for i := 2; i+1 < len(fields) && name != nil; i += 2 {
			if value, err := strconv.ParseFloat(fields[i], 64); err == nil {
				metrics[name[1]+" "+fields[i+1]] = value
			}
		}
	}
	return metrics, nil
}

var benchName = regexp.MustCompile(`^Benchmark(\w+?)(-\d+)?$`)
