package mcp

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"cmd-exec-mcp/runtime/job"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// addResources lets a client look at sessions without a tool call. Looking does not move what counts as read.
func (s *Server) addResources() {
	s.lib.AddResourceTemplates(
		server.ServerResourceTemplate{
			Template: mcpgo.NewResourceTemplate("session://{id}", "session",
				mcpgo.WithTemplateDescription("A session: its command, whether it runs, its exit code."), mcpgo.WithTemplateMIMEType("application/json")),
			Handler: s.sessionResource,
		},
		server.ServerResourceTemplate{
			Template: mcpgo.NewResourceTemplate("session://{id}/output{?offset}", "session output",
				mcpgo.WithTemplateDescription("A session's output from a byte on, both streams in the order they came."), mcpgo.WithTemplateMIMEType("text/plain")),
			Handler: s.outputResource,
		},
	)
}

func (s *Server) sessionResource(_ context.Context, req mcpgo.ReadResourceRequest) ([]mcpgo.ResourceContents, error) {
	name, info, ok := s.sessionTool(argument(req, "id"))
	if !ok {
		return nil, fmt.Errorf("no such session: %w", server.ErrResourceNotFound)
	}
	o := &reply{tool: s.tool(name)}
	o.session(info)
	return text(req, "application/json", o.buf), nil
}

func (s *Server) outputResource(ctx context.Context, req mcpgo.ReadResourceRequest) ([]mcpgo.ResourceContents, error) {
	name, info, ok := s.sessionTool(argument(req, "id"))
	if !ok {
		return nil, fmt.Errorf("no such session: %w", server.ErrResourceNotFound)
	}
	offset, err := strconv.ParseInt(argument(req, "offset"), 10, 64)
	if argument(req, "offset") == "" {
		offset, err = 0, nil
	}
	if err != nil || offset < 0 {
		return nil, fmt.Errorf("offset must be a whole number from 0, got %q", short(argument(req, "offset")))
	}
	r, err := s.engine.SessionRead(ctx, job.Read{Tool: name, Session: info.ID, Offset: offset, Wait: now, View: job.View{Merged: true}})
	if err != nil {
		return nil, err
	}
	return text(req, "text/plain", r.Stdout.Data), nil
}

// argument returns a variable of the matched template.
func argument(req mcpgo.ReadResourceRequest, name string) string {
	list, _ := req.Params.Arguments[name].([]string)
	return strings.Join(list, ",")
}

func text(req mcpgo.ReadResourceRequest, kind string, data []byte) []mcpgo.ResourceContents {
	return []mcpgo.ResourceContents{mcpgo.TextResourceContents{URI: req.Params.URI, MIMEType: kind, Text: string(data)}}
}
