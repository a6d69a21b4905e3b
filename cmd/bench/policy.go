//go:build linux

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cmd-exec-mcp/runtime/policy"
	"cmd-exec-mcp/runtime/shell"
)

// script is ordinary shell text of about 4 KB.
func script() string {
	var b strings.Builder
	for i := 0; b.Len() < 4<<10; i++ {
		fmt.Fprintf(&b, "for f in src/*.go; do\n\tif grep -q 'TODO %d' \"$f\"; then echo \"$f: $(wc -l < \"$f\")\" >> out/report.txt; fi\ndone\ngit log --oneline -n %d | head -5 && make -C build%d test 2>&1 | tail -20\n", i, i, i)
	}
	return b.String()
}

// policyCheck is P1: the whole check against the mere parsing of the same text.
func policyCheck(l *lab) error {
	p, err := policy.NewConfig().Compile()
	if err != nil {
		return err
	}
	texts := []struct {
		id, what, text string
		limit          limit
		times          int
	}{
		{"P1.50B", "50 bytes", "git status --short && ls -la src | head -n 20 >out", limit{bar: 4, goal: 2.5}, 200},
		{"P1.4K", "4 KB of script", script(), limit{bar: 4, goal: 3}, 5},
		{"P1.64K", "a heredoc of 64 KB", "cat > notes.txt <<'EOF'\n" + strings.Repeat("some text that a model wrote, of no interest\n", 64<<10/45) + "EOF\n", limit{bar: 3, goal: 2}, 5},
	}
	for _, t := range texts {
		check := func() (time.Duration, error) {
			began := time.Now()
			for range t.times {
				d := p.Check(context.Background(), policy.Input{Shell: "bash", Dir: "/", Text: t.text})
				if d.Verdict != policy.Allow {
					return 0, d.Err()
				}
			}
			return time.Since(began), nil
		}
		parse := func() (time.Duration, error) {
			began := time.Now()
			for range t.times {
				if _, err := shell.Parse(t.text, "bash"); err != nil {
					return 0, err
				}
			}
			return time.Since(began), nil
		}
		result, err := alternate(l.rounds(300), check, parse)
		if err != nil {
			return err
		}
		n := float64(t.times) / 1e6
		report(t.id, result.ratio(), t.limit, "the whole policy check of %s / parsing it (%.1f us; parsing %.1f us)", t.what, median(result.ours)/n, median(result.other)/n)
	}
	return nil
}
