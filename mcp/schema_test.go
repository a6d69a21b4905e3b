package mcp

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cmd-exec-mcp/runtime/job"
)

// TestSchemasAreStrict holds tools/list against what the strictest clients accept, by rules of its own: one bad tool and
// they refuse them all.
func TestSchemasAreStrict(t *testing.T) {
	c := dial(t, newFake())
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	list := c.next()["result"].(map[string]any)["tools"].([]any)
	if len(list) != 5 {
		t.Fatalf("got %d tools", len(list))
	}
	name := regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)
	for _, entry := range list {
		tool := entry.(map[string]any)
		if !name.MatchString(tool["name"].(string)) {
			t.Errorf("bad name %v", tool["name"])
		}
		schema := tool["inputSchema"].(map[string]any)
		properties, ok := schema["properties"].(map[string]any)
		if schema["type"] != "object" || !ok {
			t.Errorf("%v: no plain object: %v", tool["name"], schema)
		}
		if _, ok := schema["required"]; ok && tool["name"] != "run_tests" {
			t.Errorf("%v has required", tool["name"])
		}
		for p, property := range properties {
			strict(t, tool["name"].(string)+"."+p, property.(map[string]any), tool["name"] != "run_tests")
		}
		a := tool["annotations"].(map[string]any)
		for _, hint := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
			if _, ok := a[hint].(bool); !ok {
				t.Errorf("%v: annotation %s is not explicit", tool["name"], hint)
			}
		}
		if _, ok := tool["outputSchema"]; ok {
			t.Errorf("%v has an outputSchema", tool["name"])
		}
	}
}

func strict(t *testing.T, where string, p map[string]any, described bool) {
	t.Helper()
	types := []string{"string", "number", "integer", "boolean", "object", "array"}
	if kind, ok := p["type"].(string); !ok || !slices.Contains(types, kind) {
		t.Errorf("%s: type %v", where, p["type"])
	}
	for _, word := range []string{"anyOf", "oneOf", "allOf", "not", "$ref", "default"} {
		if value, ok := p[word]; ok && (word != "default" || value == nil) {
			t.Errorf("%s has %s", where, word)
		}
	}
	if p["type"] == "array" {
		strict(t, where+"[]", p["items"].(map[string]any), false)
	}
	if doc, _ := p["description"].(string); described && (doc == "" || len(doc) > 400) {
		t.Errorf("%s: description %q", where, doc)
	}
}

func TestParametersFollowFacts(t *testing.T) {
	for _, c := range []struct {
		tool      job.Tool
		has, lack string
	}{
		{local, "command cwd timeout wait wait_for env parallel commands fields shell output_file stdin detach tty cols rows keys eof session_id action offset limit tail grep raw merged login base64 encoding alive_timeout", "target targets image network"},
		{sandbox, "command image network stdin", "tty cols shell target"},
		{remote, "target targets", "image network shell tty stdin eof"},
		{file, "action path content content_base64 session_id offset limit", "command"},
	} {
		made, err := newTool(c.tool)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range strings.Fields(c.has) {
			if !slices.Contains(made.known, name) {
				t.Errorf("%s lacks %s", c.tool.Name, name)
			}
		}
		for _, name := range strings.Fields(c.lack) {
			if slices.Contains(made.known, name) {
				t.Errorf("%s has %s", c.tool.Name, name)
			}
		}
	}
}

// TestOrder: what matters most comes first, in every reply alike.
func TestOrder(t *testing.T) {
	made, err := newTool(local)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"properties":{"command":{"description":`; !strings.HasPrefix(string(made.schema), want) || !json.Valid(made.schema) {
		t.Errorf("got %.100s", made.schema)
	}
}

func TestOverrides(t *testing.T) {
	changed := local
	changed.Params = map[string]map[string]any{"timeout": {"default": 60, "maximum": 90}, "stdin": nil, "shell": {"enum": []any{"sh"}}}
	e := newFake()
	e.tools = []job.Tool{changed}
	invoke(t, e, "execute_local", `{"command":"x","stdin":"y"}`)
	if r := e.requests[0]; r.Timeout.Seconds() != 60 || r.Command.Input != nil {
		t.Errorf("got %+v", r)
	}
	for _, bad := range []string{`{"command":"x","timeout":"91"}`, `{"command":"x","shell":"bash"}`} {
		if got, isError := invoke(t, e, "execute_local", bad); !isError || got["kind"] != "invalid" {
			t.Errorf("%s: got %v", bad, got)
		}
	}
}

// TestBadToolIsLeftOut: a list without one tool is better than no list.
func TestBadToolIsLeftOut(t *testing.T) {
	for _, bad := range []job.Tool{
		{Name: "Bad Name", Kind: job.ShellTool},
		{Name: "kindless"},
		{Name: "typo", Kind: job.ShellTool, Params: map[string]map[string]any{"timeuot": {"default": 3}}},
		{Name: "union", Kind: job.CommandTool, Schema: map[string]any{"anyOf": []any{}}},
		{Name: "anyof", Kind: job.CommandTool, Schema: map[string]any{"anyOf": []any{map[string]any{}}}},
		{Name: "types", Kind: job.CommandTool, Schema: map[string]any{"properties": map[string]any{"a": map[string]any{"type": []any{"null", "string"}}}}},
		{Name: "items", Kind: job.CommandTool, Schema: map[string]any{"properties": map[string]any{"a": map[string]any{"type": "array"}}}},
		{Name: "schema", Kind: job.CommandTool, Schema: map[string]any{"properties": map[string]any{"a": map[string]any{"type": "string", "pattern": "("}}}},
		{Name: "null", Kind: job.CommandTool, Schema: map[string]any{"properties": map[string]any{"a": map[string]any{"type": "string", "default": nil}}}},
		{Name: "file", Kind: job.CommandTool, Schema: map[string]any{"properties": map[string]any{"a": map[string]any{"type": "string", "$ref": "file:///etc/passwd"}}}},
		{Name: "nan", Kind: job.CommandTool, Schema: map[string]any{"properties": map[string]any{"a": map[string]any{"type": "string", "default": func() {}}}}},
	} {
		err := CheckTool(bad)
		if kind := job.KindOf(err); err == nil || kind != job.Invalid && bad.Name != "kindless" {
			t.Errorf("%s: got %v", bad.Name, err)
		}
		e := newFake()
		e.tools = append(e.tools, bad)
		c := dial(t, e)
		c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		if list := c.next()["result"].(map[string]any)["tools"].([]any); len(list) != 5 {
			t.Errorf("%s: got %d tools, want 5", bad.Name, len(list))
		}
	}
	if err := CheckTool(job.Tool{Name: "empty", Kind: job.CommandTool}); err != nil {
		t.Errorf("a tool without parameters: %v", err)
	}
	made, _ := newTool(job.Tool{Name: "empty", Kind: job.CommandTool})
	var schema map[string]any
	if err := json.Unmarshal(made.schema, &schema); err != nil || schema["properties"] == nil {
		t.Errorf("got %s", made.schema)
	}
}
