package mcp

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"cmd-exec-mcp/runtime/job"
	libclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// TestLibraryClient has a client that we did not write go through a session of ours: it asks for a newer revision first,
// falls back, and wants progress.
func TestLibraryClient(t *testing.T) {
	e := newFake()
	e.exec = func(_ context.Context, _ job.Request, sink job.Sink) (job.Result, error) {
		sink.Event(job.Event{Stream: job.Stdout, Data: []byte("half way\n")})
		time.Sleep(2 * progressEvery)
		return job.Result{Exit: &job.Exit{}, Stdout: text8("done")}, nil
	}
	s := New(e, Options{Version: "1", Instructions: "Be careful."})
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- s.Serve(context.Background(), in, out)
		out.Close()
	}()
	c := libclient.NewClient(transport.NewIO(fromServer, toServer, io.NopCloser(strings.NewReader(""))))
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	progress := make(chan mcpgo.JSONRPCNotification, 100)
	c.OnNotification(func(n mcpgo.JSONRPCNotification) { progress <- n })
	hello, err := c.Initialize(t.Context(), mcpgo.InitializeRequest{})
	if err != nil || hello.ServerInfo.Name != "cmd-exec-mcp" || hello.Instructions != "Be careful." {
		t.Fatalf("got %+v, %v", hello, err)
	}
	tools, err := c.ListTools(t.Context(), mcpgo.ListToolsRequest{})
	if err != nil || len(tools.Tools) != 5 {
		t.Fatalf("got %+v, %v", tools, err)
	}
	call := mcpgo.CallToolRequest{}
	call.Params.Name, call.Params.Arguments = "execute_local", map[string]any{"command": "x", "cwd": "/"}
	call.Params.Meta = &mcpgo.Meta{ProgressToken: "p1"}
	result, err := c.CallTool(t.Context(), call)
	if err != nil || result.IsError || len(result.Content) != 1 {
		t.Fatalf("got %+v, %v", result, err)
	}
	object, _ := result.StructuredContent.(map[string]any)
	if object["stdout"] != "done" || object["exit_code"] != 0.0 {
		t.Errorf("got %v", object)
	}
	select {
	case n := <-progress:
		if n.Method != "notifications/progress" || n.Params.AdditionalFields["message"] != "half way" {
			t.Errorf("got %+v", n)
		}
	case <-time.After(10 * time.Second):
		t.Error("no progress came")
	}
	toServer.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	c.Close()
}
