package mcp

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"cmd-exec-mcp/runtime/job"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxDescription is how much of a tool's description some clients keep.
const maxDescription = 2048

// tool is one tool as it is served. It is immutable; a reload makes new ones.
type tool struct {
	job.Tool
	schema   []byte
	known    []string                      // names of its parameters
	actions  []string                      // of a shell tool
	defaults map[string][]byte             // of parameters, where the owner set one
	checks   map[string]*jsonschema.Schema // of parameters that the owner changed
	whole    *jsonschema.Schema            // of a command tool
}

// CheckTool tells whether a tool can be offered to clients. Kind Invalid; the server leaves such a tool out, since strict
// clients refuse all tools over one bad schema.
func CheckTool(t job.Tool) error {
	_, err := newTool(t)
	return err
}

func newTool(t job.Tool) (*tool, error) {
	made := &tool{Tool: t, defaults: map[string][]byte{}, checks: map[string]*jsonschema.Schema{}}
	var schema map[string]any
	var err error
	switch t.Kind {
	case job.ShellTool:
		made.actions = actions(t)
		schema, err = made.build(shellParams(t))
	case job.FileTool:
		schema, err = made.build(fileParams(t))
	case job.CommandTool:
		schema, err = made.adopt()
	default:
		return nil, job.Errorf(job.Internal, "tool %q has no kind", t.Name)
	}
	if err != nil {
		return nil, err
	}
	if err := checkSchema(t.Name, schema); err != nil {
		return nil, err
	}
	if made.schema, err = made.encode(schema); err != nil {
		return nil, job.Errorf(job.Invalid, "tool %q: its schema cannot be written as JSON: %w", t.Name, err)
	}
	return made, nil
}

// build makes the schema of a standard tool, with the owner's overrides merged in. Nothing is "required": command is absent
// for session actions, and a clear error beats a refused list.
func (t *tool) build(params []param) (map[string]any, error) {
	properties := map[string]any{}
	for _, p := range params {
		property := p.schema()
		override, changed := t.Params[p.name]
		if changed && override == nil {
			continue
		}
		maps.Copy(property, override)
		properties[p.name] = property
		t.known = append(t.known, p.name)
		if !changed {
			continue
		}
		var err error
		if t.checks[p.name], err = compile(t.Name+"."+p.name, property); err != nil {
			return nil, err
		}
		if err := t.setDefault(p.name, property); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Params)) {
		if t.Params[name] != nil && properties[name] == nil {
			e := job.Errorf(job.Invalid, "tool %q has no parameter %q", t.Name, name)
			if n := near(name, t.known); n != "" {
				e.WithHint("did you mean %q?", n)
			}
			return nil, e
		}
	}
	return map[string]any{"type": "object", "properties": properties}, nil
}

// encode writes the schema with the properties in the order of known, what matters most first: models read it from the top.
func (t *tool) encode(schema map[string]any) ([]byte, error) {
	var o object
	o.open()
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range t.known {
		raw, err := json.Marshal(properties[name])
		if err != nil {
			return nil, err
		}
		o.name(name)
		o.buf = append(o.buf, raw...)
	}
	o.close()
	whole := maps.Clone(schema)
	whole["properties"] = json.RawMessage(o.buf)
	return json.Marshal(whole)
}

func (t *tool) setDefault(name string, property map[string]any) error {
	value, ok := property["default"]
	if !ok || value == nil {
		return nil
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return job.Errorf(job.Invalid, "tool %q: the default of %s cannot be written as JSON: %w", t.Name, name, err)
	}
	t.defaults[name] = raw
	return nil
}

// parse decodes a call's arguments and holds them against what the owner changed in the schema.
func (t *tool) parse(raw []byte) *args {
	a := parseArgs(raw, t.known)
	for name, value := range t.defaults {
		if !a.has(name) {
			a.given[name] = value
		}
	}
	for _, name := range t.known {
		check, raw := t.checks[name], a.given[name]
		if check == nil || raw == nil || string(raw) == `""` {
			continue
		}
		if err := check.Validate(coerce(raw, typeOf(check))); err != nil {
			a.fail("%s: %s", name, firstReason(err))
		}
	}
	return a
}

func (t *tool) describe() mcpgo.Tool {
	a := t.Annotations
	return mcpgo.Tool{
		Name:           t.Name,
		Title:          a.Title,
		Description:    cut(t.Description, maxDescription),
		RawInputSchema: t.schema,
		Annotations: mcpgo.ToolAnnotation{
			Title: a.Title, ReadOnlyHint: &a.ReadOnly, DestructiveHint: &a.Destructive, IdempotentHint: &a.Idempotent, OpenWorldHint: &a.OpenWorld,
		},
	}
}

// cut keeps the first n bytes, whole characters only.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
