package wasm

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/hooks/wasm/wat"
	"cmd-exec-mcp/runtime/job"
)

func reference(b *testing.B, role string) []byte {
	src, err := os.ReadFile("../hooktest/guests/" + role + ".wat")
	if err != nil {
		b.Fatal(err)
	}
	module, err := wat.Assemble(string(src))
	if err != nil {
		b.Fatal(err)
	}
	return module
}

func referenceHook(b *testing.B, role string, unmetered bool) *Hook {
	c := config(b, text(echo))
	c.Unmetered = unmetered
	if err := os.WriteFile(c.File, reference(b, role), 0o600); err != nil {
		b.Fatal(err)
	}
	c.Config = map[string]any{"mirror": "https://mirror.example/simple"}
	h := open(b, c)
	if err := h.Ready(context.Background()); err != nil {
		b.Fatal(err)
	}
	return h
}

// unlimited is an instance without any limit on its calls: what the limits are measured against.
func unlimited(b *testing.B, module []byte) *instance {
	m, err := scan(module)
	if err != nil {
		b.Fatal(err)
	}
	g, err := compileWith(context.Background(), m, m.bare(), limits{timeout: time.Second, pages: 512}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(g.close)
	i, _, err := g.start(context.Background(), &call{event: eventInit, hook: &Hook{}})
	if err != nil {
		b.Fatal(err)
	}
	return i
}

// BenchmarkPre is one command through the reference mirror guest; BenchmarkEmpty what no host can do without: an empty
// export and a copy of the request.
func BenchmarkPre(b *testing.B) {
	h := referenceHook(b, "mirror", false)
	req := benchRequest()
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := h.Begin(context.Background(), req.Clone()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEmpty(b *testing.B) {
	module, err := wat.Assemble(pre(`(i32.const 0)`))
	if err != nil {
		b.Fatal(err)
	}
	i := unlimited(b, module)
	req := benchRequest()
	b.ReportAllocs()
	for b.Loop() {
		copied := req.Clone()
		if err := i.pre.CallWithStack(i.ctx, i.stack[:]); err != nil || copied.Command.Script == "" {
			b.Fatal(err)
		}
	}
}

func benchRequest() job.Request {
	r := request()
	r.Command.Script = "pip install " + strings.Repeat("package ", 23)
	for n := range 10 {
		r.Command.Env["NAME"+string(rune('A'+n))] = "value"
	}
	return r
}

// BenchmarkFilter is the reference redactor over windows of several sizes: as it runs, without any limit, and with the
// engine's own deadline.
func BenchmarkFilter(b *testing.B) {
	line := "2024-05-01T12:00:00Z INFO worker: request done in 12ms status=200 path=/api/v1/items\n"
	for _, size := range []int{100, 8 << 10, 64 << 10, 1 << 20} {
		input := []byte(strings.Repeat(line, size/len(line)+1)[:size])
		name := map[int]string{100: "100B", 8 << 10: "8K", 64 << 10: "64K", 1 << 20: "1M"}[size]
		for _, unmetered := range []bool{false, true} {
			b.Run(map[bool]string{false: "fuel/", true: "deadline/"}[unmetered]+name, func(b *testing.B) {
				h := referenceHook(b, "redact", unmetered)
				_, tap, err := begin(h, "ls")
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := tap.Output(context.Background(), job.Stdout, input, 0); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		if size > hooks.Window {
			continue
		}
		b.Run("unlimited/"+name, func(b *testing.B) {
			i := unlimited(b, reference(b, "redact"))
			c := &call{event: eventFilter, hook: &Hook{}}
			b.SetBytes(int64(size))
			for b.Loop() {
				c.reset()
				c.event, c.in = eventFilter, input
				if _, f := i.run(c); f != nil {
					b.Fatal(f)
				}
			}
		})
	}
}
