package wasm

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/hooks/wasm/wat"
	"cmd-exec-mcp/runtime/job"
	"github.com/rs/zerolog"
)

// imports declares all of hook1 for a guest's text.
const imports = `
(import "hook1" "get" (func $get (param i32 i32 i32 i32 i32) (result i32)))
(import "hook1" "set" (func $set (param i32 i32 i32 i32 i32) (result i32)))
(import "hook1" "read" (func $read (param i32 i32) (result i32)))
(import "hook1" "write" (func $write (param i32 i32) (result i32)))
(import "hook1" "log" (func $log (param i32 i32 i32 i32 i32) (result i32)))
`

// text is a module with the imports, a memory of two pages and what is given.
func text(fields string) string {
	return "(module " + imports + `(memory (export "memory") 2) ` + fields + ")"
}

func assemble(t testing.TB, src string) []byte {
	t.Helper()
	b, err := wat.Assemble(src)
	if err != nil {
		t.Fatalf("%v in\n%s", err, src)
	}
	return b
}

// config is a hook of a guest's text, with its limits as config.star would have them.
func config(t testing.TB, src string) *Config {
	t.Helper()
	c := Driver().New().(*Config)
	c.File = filepath.Join(t.TempDir(), "guest.wasm")
	if err := os.WriteFile(c.File, assemble(t, src), 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

// open opens c; the hook is closed at the test's end.
func open(t testing.TB, c *Config) *Hook {
	t.Helper()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	named, err := c.Open(context.Background(), hooks.Env{Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	h := named.Hook.(*Hook)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return h
}

func hook(t testing.TB, src string) *Hook { t.Helper(); return open(t, config(t, src)) }

// begin runs the pre hook over a command.
func begin(h *Hook, script string) (job.Request, hooks.Tap, error) {
	return h.Begin(context.Background(), job.Request{Tool: "t", Command: job.Command{Script: script, Shell: "bash"}})
}

// filtered sends chunks through a tap and ends the stream.
func filtered(t testing.TB, tap hooks.Tap, chunks ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	for i, chunk := range chunks {
		var f hooks.Flags
		if i == len(chunks)-1 {
			f = hooks.Final
		}
		b, err := tap.Output(context.Background(), job.Stdout, []byte(chunk), f)
		out.Write(b)
		if err != nil {
			return out.String(), err
		}
	}
	return out.String(), nil
}

// pre is a guest whose pre_exec is body.
func pre(body string) string { return text(`(func (export "pre_exec") (result i32) ` + body + `)`) }

// echo is a filter that passes everything on.
const echo = `(func (export "filter") (param $s i32) (param $f i32) (result i32) (local $n i32)
  (loop $more
    (local.set $n (call $read (i32.const 1024) (i32.const 65536)))
    (if (local.get $n) (then
      (drop (call $write (i32.const 1024) (local.get $n)))
      (br $more))))
  (i32.const 0))`
