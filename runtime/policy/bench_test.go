package policy

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// benchTexts are the texts of bar P1.
func benchTexts() map[string]string {
	loop := `for f in src/*.go; do if [ -f "$f" ]; then n=$(wc -l < "$f"); echo "$f: $n"; fi; done
git log --oneline -5 | head -3 && echo "at $(git rev-parse --short HEAD)" || echo none
while read -r line; do printf '%s\n' "${line%.c}"; done < list
`
	return map[string]string{
		"50B":     "git log --oneline -20 | grep -i fix | head -5 | wc",
		"4KB":     strings.Repeat(loop, 4096/len(loop)),
		"heredoc": "cat > notes.txt <<'END'\n" + strings.Repeat("some text with (brackets), $dollars and `ticks`\n", 65536/48) + "END\n",
	}
}

func BenchmarkParse(b *testing.B) {
	for name, text := range benchTexts() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			p := syntax.NewParser()
			for b.Loop() {
				if _, err := p.Parse(strings.NewReader(text), ""); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	p := mustCompile(b, nil)
	for name, text := range benchTexts() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if d := p.Check(context.Background(), Input{Shell: "bash", Text: text}); d.Verdict != Allow {
					b.Fatal(d.summary())
				}
			}
		})
	}
}

// BenchmarkRules shows that rules which do not fire cost no allocation.
func BenchmarkRules(b *testing.B) {
	for _, n := range []int{0, 10, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := mustCompile(b, func(c *Config) { c.Rules = manyRules(n) })
			text := benchTexts()["50B"]
			b.ReportAllocs()
			for b.Loop() {
				p.Check(context.Background(), Input{Shell: "bash", Text: text})
			}
		})
	}
}

func manyRules(n int) Rules {
	var rules Rules
	for i := range n {
		rules = append(rules, &Rule{Name: fmt.Sprint("r", i), Program: []string{"git"}, Prefix: Prefix{{"push"}}, Any: []string{"-f", "--force*"}, Decision: "deny"})
	}
	return rules
}

// TestRulesAllocate: no allocation grows with the number of rules that do not fire.
func TestRulesAllocate(t *testing.T) {
	count := func(n int) float64 {
		p := mustCompile(t, func(c *Config) { c.Rules = manyRules(n) })
		return testing.AllocsPerRun(200, func() {
			p.Check(context.Background(), Input{Shell: "bash", Text: benchTexts()["50B"]})
		})
	}
	if few, many := count(1), count(200); many > few+1 {
		t.Errorf("%v allocations with one rule, %v with 200", few, many)
	}
}
