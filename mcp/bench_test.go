package mcp

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"cmd-exec-mcp/runtime/job"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// BenchmarkEncode compares one pass over a 1 MB result with the library's way to the same bytes on the wire.
func BenchmarkEncode(b *testing.B) {
	data := []byte(strings.Repeat("2026-07-30 12:00:00 [INFO] local: execute: echo \"hello\" of a usual length\n", 1<<20/74))
	r := job.Result{Exit: &job.Exit{}, Stdout: job.Text{Data: data}}
	made, err := newTool(local)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("ours", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			object, line := borrow(), borrow()
			out := &reply{tool: made}
			out.buf = *object
			out.result(r, false)
			response := appendCallResult(*line, []byte("1"), out.buf, false)
			giveBack(object, out.buf)
			giveBack(line, response)
		}
	})
	b.Run("library", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			value := map[string]any{"stdout": string(data), "stderr": "", "exit_code": 0, "duration": 0.0, "is_timeout": false, "command_echo": "", "output_file": ""}
			text, _ := json.Marshal(value)
			result := mcpgo.NewToolResultStructured(value, string(text))
			raw, err := json.Marshal(mcpgo.NewJSONRPCResultResponse(mcpgo.NewRequestId(1), result))
			if err != nil || len(raw) < len(data) {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkCall is a small call without its engine: parse, dispatch, encode.
func BenchmarkCall(b *testing.B) {
	e := newFake()
	e.quiet = true
	s := New(e, Options{})
	c := &conn{server: s, ctx: b.Context(), out: newWriter(&bytes.Buffer{}), running: map[string]*request{}}
	line := []byte(callLine("1", `{"command":"echo hi","cwd":"/tmp","timeout":30}`))
	b.ReportAllocs()
	for b.Loop() {
		c.message(line)
		for _, work := range c.pending {
			work()
		}
		c.pending = c.pending[:0]
		c.out.out.(*bytes.Buffer).Reset()
	}
}
