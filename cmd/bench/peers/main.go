// Command peers is what ours is compared with: the server that anybody would write first, with mcp-go's ServeStdio and
// os/exec. With the argument "encode" it measures itself instead: for each line it reads it encodes a result of a
// megabyte and answers how long that took, in nanoseconds.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// blob is a megabyte of a log.
var blob = strings.Repeat("2026-01-02T03:04:05Z INFO worker: job \"build\" step 17 of 40 done in 1.25 s\n", 1<<20/76)

func main() {
	s := server.NewMCPServer("stock", "1", server.WithToolCapabilities(true))
	s.AddTool(mcp.NewTool("execute_local", mcp.WithString("command", mcp.Required()), mcp.WithString("cwd")), execute)
	s.AddTool(mcp.NewTool("nothing"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultStructuredOnly(map[string]any{"sessions": []any{}}), nil
	})
	s.AddTool(mcp.NewTool("blob"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultStructuredOnly(map[string]any{"stdout": blob}), nil
	})
	if len(os.Args) > 1 && os.Args[1] == "encode" {
		encode(s)
		return
	}
	if err := server.ServeStdio(s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func execute(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	began := time.Now()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "bash", "-c", r.GetString("command", ""))
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.GetString("cwd", ""), &stdout, &stderr
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return mcp.NewToolResultError(err.Error()), nil
	}
	return mcp.NewToolResultStructuredOnly(map[string]any{
		"stdout": stdout.String(), "stderr": stderr.String(), "exit_code": cmd.ProcessState.ExitCode(), "duration": time.Since(began).Seconds(),
	}), nil
}

// encode is the way of a result through the library, up to the bytes of its line.
func encode(s *server.MCPServer) {
	s.HandleMessage(context.Background(), json.RawMessage(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`))
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		began := time.Now()
		answer := s.HandleMessage(context.Background(), json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"blob"}}`))
		line, err := json.Marshal(answer)
		if err != nil || len(line) < 2<<20 {
			fmt.Fprintln(os.Stderr, "the result was not encoded:", err)
			os.Exit(1)
		}
		fmt.Println(time.Since(began).Nanoseconds())
	}
}
