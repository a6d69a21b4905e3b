package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// client is the smallest MCP client that shows what one sees: it starts a server and calls tools.
type client struct {
	cmd      *exec.Cmd
	in       io.WriteCloser
	progress func(message string)

	mu      sync.Mutex
	next    int
	waiting map[int]chan response
}

// response is a JSON-RPC response or notification, as far as a demo needs it.
type response struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Params struct {
		Message string `json:"message"`
	} `json:"params"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// startServer starts this very program as a server with the given flags.
func startServer(ctx context.Context, stderr io.Writer, flags ...string) (*client, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &client{cmd: exec.CommandContext(ctx, self, flags...), waiting: map[int]chan response{}}
	c.cmd.Stderr = stderr
	c.cmd.Cancel = func() error { return c.cmd.Process.Signal(os.Interrupt) }
	c.cmd.WaitDelay = closeWithin
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	go c.listen(out)
	return c, c.initialize(ctx)
}

func (c *client) initialize(ctx context.Context) error {
	_, err := c.request(ctx, "initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "demo", "version": "1"},
	})
	if err != nil {
		return err
	}
	return c.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
}

func (c *client) listen(out io.Reader) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var r response
		if json.Unmarshal(line, &r) != nil {
			continue
		}
		if r.Method == "notifications/progress" && c.progress != nil {
			c.progress(r.Params.Message)
			continue
		}
		c.mu.Lock()
		waiting := c.waiting[r.ID]
		delete(c.waiting, r.ID)
		c.mu.Unlock()
		if waiting != nil {
			waiting <- r
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, waiting := range c.waiting {
		close(waiting)
	}
	c.waiting = nil
}

func (c *client) send(message any) error {
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = c.in.Write(append(line, '\n'))
	return err
}

func (c *client) request(ctx context.Context, method string, params any) (json.RawMessage, error) {
	answer := make(chan response, 1)
	c.mu.Lock()
	c.next++
	id := c.next
	if c.waiting == nil {
		c.mu.Unlock()
		return nil, fmt.Errorf("the server has gone")
	}
	c.waiting[id] = answer
	c.mu.Unlock()
	if err := c.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params}); err != nil {
		return nil, err
	}
	select {
	case r, ok := <-answer:
		if !ok {
			return nil, fmt.Errorf("the server went away during %s", method)
		}
		if r.Error != nil {
			return nil, fmt.Errorf("%s: %s (%d)", method, r.Error.Message, r.Error.Code)
		}
		return r.Result, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// call calls a tool with a progress token and returns its structured content.
func (c *client) call(ctx context.Context, tool string, args map[string]any) (map[string]any, error) {
	raw, err := c.request(ctx, "tools/call", map[string]any{
		"name": tool, "arguments": args, "_meta": map[string]any{"progressToken": time.Now().UnixNano()},
	})
	if err != nil {
		return nil, err
	}
	var result struct {
		Structured map[string]any `json:"structuredContent"`
	}
	return result.Structured, json.Unmarshal(raw, &result)
}

// close ends the input, which ends the server.
func (c *client) close() error {
	c.in.Close()
	return c.cmd.Wait()
}
