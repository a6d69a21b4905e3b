// Package mcp speaks the Model Context Protocol: it shows the engine's tools to a client, turns calls into the types of
// runtime/job, and results into JSON. Messages other than tool calls go to mcp-go's MCPServer; the stdio transport is ours,
// since a server that runs commands must cancel what has not yet begun, answer pings while 64 commands run, and end when
// its client goes away.
package mcp

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"cmd-exec-mcp/runtime/job"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/rs/zerolog"
)

// Engine is what the tools stand for. Its methods are called concurrently. A call ends when its ctx does, by then or soon
// after; errors are *job.Error, and a Result may accompany one.
type Engine interface {
	Tools() []job.Tool
	Exec(ctx context.Context, req job.Request, sink job.Sink) (job.Result, error)
	// Group returns the targets that a tool's group stands for.
	Group(tool, name string) ([]string, error)
	// ExecAll runs several requests side by side, or one that has Parallel or Commands and is split by the engine. Outcomes
	// are in order; an error means that nothing was started.
	ExecAll(ctx context.Context, reqs []job.Request, sink job.Sink) ([]job.Outcome, error)
	SessionRead(ctx context.Context, r job.Read) (job.Result, error)
	SessionSend(ctx context.Context, in job.Input) (job.Result, error)
	SessionKill(ctx context.Context, tool, id string) (job.Result, error)
	Sessions(tool string) []job.SessionInfo
	Files(ctx context.Context, r job.FileRequest) (job.FileResult, error)
}

// Options are what a server is made with.
type Options struct {
	Version      string
	Instructions string             // for the model, sent with initialize
	Log          zerolog.Logger     // never gets arguments or output, which may hold secrets
	Ending       func()             // called when calls are cancelled since their client is gone; nil: nothing. It must not block
	Load         func(requests int) // called with 1 when a request begins and with -1 when it ends; nil: nothing. It must not block
}

// Server serves one engine to any number of connections. Its methods may be called concurrently.
type Server struct {
	engine   Engine
	log      zerolog.Logger
	ending   func()
	load     func(requests int)
	lib      *server.MCPServer
	tools    atomic.Pointer[map[string]*tool]
	conns    atomic.Int64 // connections so far: each has a name of its own
	forwards atomic.Int64 // requests given to the library so far: each has an id of its own there
}

// New makes a server. A tool that CheckTool refuses is left out and logged.
func New(e Engine, o Options) *Server {
	s := &Server{engine: e, log: o.Log, ending: o.Ending, load: o.Load}
	if s.load == nil {
		s.load = func(int) {}
	}
	s.lib = server.NewMCPServer("cmd-exec-mcp", o.Version,
		server.WithToolCapabilities(true), server.WithResourceCapabilities(false, false), server.WithInstructions(o.Instructions))
	s.addResources()
	s.ToolsChanged()
	return s
}

// ToolsChanged reads the engine's tools again and tells the clients. Calls on their way keep the tools that they began with.
func (s *Server) ToolsChanged() {
	tools := map[string]*tool{}
	var listed []server.ServerTool
	for _, t := range s.engine.Tools() {
		made, err := newTool(t)
		if err != nil {
			s.log.Error().Err(err).Str("tool", t.Name).Msg("this tool is left out")
			continue
		}
		tools[t.Name] = made
		listed = append(listed, server.ServerTool{Tool: made.describe(), Handler: elsewhere})
	}
	s.tools.Store(&tools)
	s.lib.SetTools(listed...)
}

// elsewhere stands in the library's registry, where each tool needs a handler; conn takes tools/call before it gets there.
func elsewhere(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
	return nil, errors.New("tool calls do not pass here")
}

func (s *Server) tool(name string) *tool { return (*s.tools.Load())[name] }

// sessionTool returns the tool that a session belongs to.
func (s *Server) sessionTool(id string) (string, job.SessionInfo, bool) {
	for _, t := range s.engine.Tools() {
		list := s.engine.Sessions(t.Name)
		if i := slices.IndexFunc(list, func(info job.SessionInfo) bool { return info.ID == id }); i >= 0 {
			return t.Name, list[i], true
		}
	}
	return "", job.SessionInfo{}, false
}
