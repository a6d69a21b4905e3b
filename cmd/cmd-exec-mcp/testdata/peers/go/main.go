// The official Go client, driven line by line: one JSON object on stdin is one thing to do, one on stdout what came of it.
// Usage: peer SERVER ARGUMENT...
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type todo struct {
	Do        string          `json:"do"`
	URI       string          `json:"uri"`
	Arguments json.RawMessage `json:"arguments"`
	Progress  bool            `json:"progress"`
	Cancel    string          `json:"cancel"` // the file whose appearance ends the call
}

type answer struct {
	Result   any    `json:"result,omitempty"`
	Error    string `json:"error,omitempty"`
	Progress []any  `json:"progress,omitempty"`
}

type peer struct {
	session *mcp.ClientSession
	mu      sync.Mutex
	heard   []any
}

func main() {
	ctx := context.Background()
	var p peer
	client := mcp.NewClient(&mcp.Implementation{Name: "peer", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.heard = append(p.heard, r.Params)
		},
	})
	server := exec.Command(os.Args[1], os.Args[2:]...)
	server.Stderr = os.Stderr
	var err error
	if p.session, err = client.Connect(ctx, &mcp.CommandTransport{Command: server}, nil); err != nil {
		log.Fatal(err)
	}
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var t todo
		if in.Decode(&t) != nil {
			break
		}
		result, err := p.act(ctx, t)
		a := answer{Result: result}
		if err != nil {
			a = answer{Error: err.Error()}
		}
		p.mu.Lock()
		a.Progress, p.heard = p.heard, nil
		p.mu.Unlock()
		if err := out.Encode(a); err != nil {
			log.Fatal(err)
		}
	}
	if err := p.session.Close(); err != nil {
		log.Fatal(err)
	}
}

func (p *peer) act(ctx context.Context, t todo) (any, error) {
	switch t.Do {
	case "server":
		r := p.session.InitializeResult()
		return map[string]any{"info": r.ServerInfo, "instructions": r.Instructions}, nil
	case "ping":
		return map[string]any{}, p.session.Ping(ctx, nil)
	case "tools":
		return p.session.ListTools(ctx, nil)
	case "templates":
		return p.session.ListResourceTemplates(ctx, nil)
	case "read":
		return p.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: t.URI})
	case "call":
		return p.call(ctx, t)
	}
	return nil, fmt.Errorf("no verb %q", t.Do)
}

func (p *peer) call(ctx context.Context, t todo) (any, error) {
	params := &mcp.CallToolParams{Name: "execute_local", Arguments: t.Arguments}
	if t.Progress {
		params.SetProgressToken("peer")
	}
	if t.Cancel != "" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		go func() {
			defer cancel()
			for _, err := os.Stat(t.Cancel); err != nil; _, err = os.Stat(t.Cancel) {
				time.Sleep(10 * time.Millisecond)
			}
		}()
	}
	return p.session.CallTool(ctx, params)
}
