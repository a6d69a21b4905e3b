package mcp

import (
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strconv"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// serve answers one request.
func (c *conn) serve(r *request) {
	if r.ctx.Err() != nil { // cancelled before it began
		c.finish(r, appendError(nil, r.id, internalError, errShutdown.Error()))
		return
	}
	if r.method != "tools/call" {
		c.finish(r, c.forward(r))
		return
	}
	name, arguments, token, problem := callParams(r.message)
	t := c.server.tool(name)
	switch {
	case problem != "":
		c.finish(r, appendError(nil, r.id, invalidParams, problem))
	case modern(r.message) != "":
		c.finish(r, c.unsupported(r))
	case t == nil:
		c.finish(r, appendError(nil, r.id, invalidParams, unknownTool(name)))
	default:
		c.callTool(r, t, arguments, token)
	}
}

// callParams takes the params of a tools/call apart. A name in another case beside the right one is a mistake, not a choice.
func callParams(m message) (name string, arguments, token []byte, problem string) {
	list, _ := members(m.params)
	if twin, ok := twice(list); ok {
		return "", nil, nil, fmt.Sprintf("%q is there twice", short(twin))
	}
	for _, p := range list {
		switch p.name {
		case "name":
			if p.value[0] != '"' {
				return "", nil, nil, "name must be a string"
			}
			name = unquote(p.value)
		case "arguments":
			arguments = p.value
		case "_meta":
			token = find(p.value, "progressToken")
		}
	}
	if token != nil && (token[0] == '{' || token[0] == '[' || token[0] == 't' || token[0] == 'f') {
		token = nil
	}
	if name == "" {
		problem = "name is missing"
	}
	return name, arguments, token, problem
}

func (c *conn) callTool(r *request, t *tool, arguments, token []byte) {
	object, line := borrow(), borrow()
	out := &reply{}
	out.buf = *object
	p := newProgress(c, token)
	isError := c.server.call(r.ctx, t, arguments, caller{p, token != nil, c.session.GetClientInfo().Name}, out)
	p.close()
	response := appendCallResult(*line, r.id, out.buf, isError)
	giveBack(object, out.buf)
	c.finish(r, response)
	giveBack(line, response)
}

// forward has the library answer. It gets a message made anew from what was decoded here: it reads JSON by other rules
// (names in any case, the last of two), and would otherwise see another request than we did.
func (c *conn) forward(r *request) (response []byte) {
	defer func() {
		if p := recover(); p != nil {
			c.server.log.Error().Str("method", short(r.method)).Interface("panic", p).Bytes("stack", debug.Stack()).Msg("a request panicked")
			response = appendError(nil, r.id, internalError, "the server failed on this request")
		}
	}()
	switch {
	case r.method == "server/discover":
		return appendError(nil, r.id, mcpgo.METHOD_NOT_FOUND, "begin with initialize")
	case modern(r.message) != "":
		return c.unsupported(r)
	}
	m := []byte(`{"jsonrpc":"2.0","id":`)
	m = strconv.AppendInt(m, c.server.forwards.Add(1), 10)
	m = append(m, `,"method":`...)
	m = appendString(m, r.method)
	if r.params != nil {
		m = append(append(m, `,"params":`...), r.params...)
	}
	m = append(m, '}')
	what, value := "result", any(nil)
	switch answer := c.server.lib.HandleMessage(r.ctx, m).(type) {
	case mcpgo.JSONRPCResponse:
		value = answer.Result
	case mcpgo.JSONRPCError:
		what, value = "error", answer.Error
	default:
		return appendError(nil, r.id, internalError, "the server has no answer to this")
	}
	raw, err := json.Marshal(value)
	if err != nil {
		c.server.log.Error().Err(err).Str("method", short(r.method)).Msg("an answer cannot be written as JSON")
		return appendError(nil, r.id, internalError, "the answer cannot be written as JSON")
	}
	return append(append(appendResponse(nil, r.id, what), raw...), "}\n"...)
}

// modern returns the protocol revision that a request declares for itself, if it is one of those without a handshake. They
// are not served yet; a client that is told so falls back.
func modern(m message) string {
	raw := find(m.param("_meta"), mcpgo.MetaKeyProtocolVersion)
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	if version := unquote(raw); mcpgo.IsModernProtocol(version) {
		return version
	}
	return ""
}

func (c *conn) unsupported(r *request) []byte {
	e := mcpgo.UnsupportedProtocolVersionError{Version: modern(r.message), Supported: mcpgo.LegacyProtocolVersions()}
	raw, err := json.Marshal(e.JSONRPCError().Error)
	if err != nil {
		return appendError(nil, r.id, internalError, e.Error())
	}
	return append(append(appendResponse(nil, r.id, "error"), raw...), "}\n"...)
}
