package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"cmd-exec-mcp/runtime/job"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// BenchmarkRoundTrip is a call without execution over real pipes, ours and the library's own server, small and 1 MB.
func BenchmarkRoundTrip(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"small", 3}, {"1MB", 1 << 20}} {
		data := strings.Repeat("a line of a usual length, with \"quotes\" and an end\n", size.bytes/50+1)
		b.Run(size.name+"/ours", func(b *testing.B) {
			e := newFake()
			e.quiet = true
			e.result.Stdout = text8(data)
			e.exec = func(context.Context, job.Request, job.Sink) (job.Result, error) { return e.result, nil }
			s := New(e, Options{})
			roundTrips(b, func(ctx context.Context, in, out *os.File) { _ = s.Serve(ctx, in, out) })
		})
		b.Run(size.name+"/library", func(b *testing.B) {
			lib := server.NewMCPServer("stock", "1")
			lib.AddTool(mcpgo.NewTool("execute_local", mcpgo.WithString("command")), func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
				value := map[string]any{"stdout": data, "stderr": "", "exit_code": 0, "duration": 0.0, "is_timeout": false, "command_echo": "", "output_file": ""}
				text, err := json.Marshal(value)
				return mcpgo.NewToolResultStructured(value, string(text)), err
			})
			roundTrips(b, func(ctx context.Context, in, out *os.File) { _ = server.NewStdioServer(lib).Listen(ctx, in, out) })
		})
	}
}

func roundTrips(b *testing.B, serve func(ctx context.Context, in, out *os.File)) {
	b.Helper()
	in, toServer, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	fromServer, out, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		serve(ctx, in, out)
		out.Close()
	}()
	answers := bufio.NewReaderSize(fromServer, 1<<20)
	line := []byte(callLine("1", `{"command":"echo hi"}`) + "\n")
	for b.Loop() {
		if _, err := toServer.Write(line); err != nil {
			b.Fatal(err)
		}
		for {
			_, err := answers.ReadSlice('\n')
			if err == nil {
				break
			}
			if err != bufio.ErrBufferFull {
				b.Fatal(err)
			}
		}
	}
	toServer.Close()
	cancel()
	<-done
	fromServer.Close()
	in.Close()
}
