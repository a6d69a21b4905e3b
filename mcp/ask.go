package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"
	"time"

	"cmd-exec-mcp/runtime/job"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// askTimeout is how long a person has to answer. Silence is a no.
const askTimeout = 5 * time.Minute

// ask puts a question to the person at the client, if the client can. Its id is unguessable and answered once; the question
// ends with the call that it belongs to.
func (c *conn) ask(ctx context.Context, q job.Question) (job.Answer, error) {
	if c.session.GetClientCapabilities().Elicitation == nil {
		return job.Unasked, nil
	}
	id := "ask-" + rand.Text()
	answers := make(chan message, 1)
	c.mu.Lock()
	c.asked[id] = answers
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.asked, id)
		c.mu.Unlock()
	}()
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": mcpgo.MethodElicitationCreate, "params": question(q)})
	if err != nil {
		return job.Unasked, job.Errorf(job.Internal, "a question cannot be written as JSON: %w", err)
	}
	go c.out.send(append(line, '\n')) // a client that does not read must not hold the call beyond its end
	select {
	case m := <-answers:
		return verdict(m.result), nil
	case <-time.After(askTimeout):
		c.withdraw(id)
		return job.No, nil
	case <-ctx.Done():
		c.withdraw(id)
		return job.Unasked, job.Errorf(job.Canceled, "the call ended before the question was answered: %w", ctx.Err())
	}
}

// withdraw tells the client that nobody waits for the answer any more.
func (c *conn) withdraw(id string) {
	line := append([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`), appendString(nil, id)...)
	go c.out.send(append(line, "}}\n"...))
}

// answered hands a client's response to whoever waits for it.
func (c *conn) answered(m message) {
	if len(m.id) == 0 || m.id[0] != '"' {
		return
	}
	id := unquote(m.id)
	c.mu.Lock()
	defer c.mu.Unlock()
	if answers := c.asked[id]; answers != nil {
		delete(c.asked, id)
		answers <- m
	}
}

func question(q job.Question) mcpgo.ElicitationParams {
	var b strings.Builder
	say := func(label, text string) {
		if text != "" {
			b.WriteString(label + ": " + text + "\n")
		}
	}
	b.WriteString("May this run?\n\n" + q.Text + "\n\n")
	say("tool", q.Tool)
	say("target", q.Target)
	say("directory", q.Dir)
	say("commands", strings.Join(q.Commands, ", "))
	say("variables", strings.Join(q.Env, ", "))
	say("reason", q.Reason)
	for _, f := range q.Findings {
		say(f.Rule+" "+f.At, f.Message)
	}
	return mcpgo.ElicitationParams{
		Message: b.String(),
		RequestedSchema: map[string]any{
			"type":       "object",
			"properties": map[string]any{"allow": map[string]any{"type": "boolean", "title": "Run it", "description": "Allow this command once"}},
			"required":   []string{"allow"},
		},
	}
}

// verdict reads the person's answer. Only an accepted form with allow=true is a yes; a response that is an error leaves the
// question open.
func verdict(result []byte) job.Answer {
	action := find(result, "action")
	switch {
	case len(action) == 0:
		return job.Unasked
	case string(action) == `"accept"` && string(find(find(result, "content"), "allow")) == "true":
		return job.Yes
	}
	return job.No
}
