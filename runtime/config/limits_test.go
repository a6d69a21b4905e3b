package config

import (
	"strings"
	"testing"
	"time"
)

// TestEnds is P7: whatever a config does, evaluation ends with a message, and soon.
func TestEnds(t *testing.T) {
	deep := func(open, end string, n int) string {
		return "x = " + strings.Repeat(open, n) + "1" + strings.Repeat(end, n)
	}
	for _, c := range []struct{ name, src, want string }{
		{"steps", "for i in range(1000000):\n for j in range(1000000):\n  pass", "takes more steps than a config may"},
		{"repeat string", `x = "x"*1000000000`, "more than a config may hold"},
		{"repeat list", `x = [0]*1000000000`, "more than a config may hold"},
		{"repeat by a variable", "n = 1000000000\nx = 'ab'\nx *= n", "more than a config may hold"},
		{"repeat in a function", "def f(a, b=[1] * 1000000000): return a\n", "more than a config may hold"},
		{"repeat in a lambda", "f = lambda n: [n * x for x in [[0]]]\nf(1000000000)", "more than a config may hold"},
		{"powers", "x = 3\nfor i in range(40):\n x = x*x", "4096 bits"},
		{"range", "x = list(range(1000000000))", "a range of more than"},
		{"doubling strings", "x = 'x'*1000000\nfor i in range(40):\n x = x + x", "more than a config may hold"},
		{"doubling lists", "x = [0]*1000000\nfor i in range(40):\n x += x", "more than a config may hold"},
		{"many large strings", "x = {}\nfor i in range(10000):\n x[i] = 'x' * 1000000", "more memory than a config may"},
		{"plus", "x = 1" + strings.Repeat("+1", 100_000), "declares no tool"},
		{"recursion", "def f(n): return f(n)\nf(1)", "called recursively"},
		{"recursion by another", "def f(n): return g(n)\ndef g(n): return f(n)\nf(1)", "called recursively"},
		{"printing a list that holds itself", "l = []\nl.append(l)\nprint(l)", "declares no tool"},
		{"a tower of lists", "l = []\nfor i in range(100000):\n l = [l]\nshell_tool('a', backend=box('i', extra={'l': l}))", "nested too deep"},
		{"brackets", deep("(", ")", 100_000), "excessive nesting"},
		{"lists", deep("[", "]", 100_000), "excessive nesting"},
		{"minus", "x = " + strings.Repeat("-", 200_000) + "1", "excessive nesting"},
		{"not", "x = " + strings.Repeat("not ", 60_000) + "1", "excessive nesting"},
		{"sum", "x = 1" + strings.Repeat("-1", 100_000), "declares no tool"},
		{"dots", "x = y" + strings.Repeat(".a", 100_000), "y is not defined"},
		{"lambdas", "x = " + strings.Repeat("lambda:", 30_000) + "1", "excessive nesting"},
		{"conditions", "x = " + strings.Repeat("1 if 1 else ", 20_000) + "1", "excessive nesting"},
		{"invalid UTF-8", "x = '\xff'", "valid UTF-8"},
		{"NUL", "x = 1\x00", "config.star:1"},
		{"no newline in a string", "x = 'abc", "config.star:1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := options()
			o.Limits = &Limits{Steps: DefaultLimits.Steps, Time: 3 * time.Minute, Memory: DefaultLimits.Memory} // a busy machine, -race
			_, err := Parse("config.star", []byte(c.src), "", o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestAbandoned: a single step that never ends does not hold Load up.
func TestAbandoned(t *testing.T) {
	o := options()
	o.Limits = &Limits{Steps: 10_000_000, Time: 100 * time.Millisecond, Memory: 1 << 40}
	// Printing a list of 2^26 lists is one step that Starlark cannot be stopped in.
	src := "l = [0]\nfor i in range(26):\n l = [l, l]\nx = str(l)"
	start := time.Now()
	_, err := Parse("config.star", []byte(src), "", o)
	if err == nil || !strings.Contains(err.Error(), "takes longer than") {
		t.Errorf("got %v", err)
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("took %v", d)
	}
}

func FuzzConfig(f *testing.F) {
	f.Add(`shell_tool("a", backend=local(env={"A": "b"}))`)
	f.Add(`server(log_file="x")` + "\n" + `defaults(timeout=1, fields={"stdout": True})`)
	f.Add(commandSource)
	f.Add(`shell_tool("a", backend={"x": box("i", mounts=[mount("a", "b")])}, groups={"g": ["x"]}, policy=policy(rules=[rule(name="r", program=["git"], decision="deny", match=["git x"])]))`)
	f.Add(`x = [y * 2 for y in range(10) if y % 2]; x *= 3; print("%s" % x, **{"a": 1})`)
	f.Add(`load("lib/ok.star", "x"); file_tool("f", backend=box(image="i", verify=True), annotations={"title": "x"})`)
	f.Fuzz(func(t *testing.T, src string) {
		o := options("A=b")
		o.Limits = &Limits{Steps: 100_000, Time: 5 * time.Second, Memory: 512 << 20}
		cfg, err := Parse("config.star", []byte(src), "testdata", o)
		switch {
		case err == nil && len(cfg.Tools) == 0:
			t.Error("neither a mistake nor a tool")
		case err == nil:
			_ = describe(t, cfg)
		case err.Error() == "":
			t.Error("an empty message")
		}
		if err != nil && strings.Contains(err.Error(), "internal: ") {
			t.Errorf("a panic: %v", err)
		}
	})
}
