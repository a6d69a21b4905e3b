package mcp

import (
	"maps"
	"slices"

	"cmd-exec-mcp/runtime/job"
)

// adopt takes a command tool's own schema.
func (t *tool) adopt() (map[string]any, error) {
	schema := maps.Clone(t.Schema)
	if schema == nil {
		schema = map[string]any{}
	}
	if _, ok := schema["type"]; !ok {
		schema["type"] = "object"
	}
	if _, ok := schema["properties"]; !ok {
		schema["properties"] = map[string]any{} // some clients refuse a schema without
	}
	var err error
	if t.whole, err = compile(t.Name, schema); err != nil {
		return nil, err
	}
	properties, _ := schema["properties"].(map[string]any)
	t.known = slices.Sorted(maps.Keys(properties))
	for _, name := range t.known {
		property, _ := properties[name].(map[string]any)
		if err := t.setDefault(name, property); err != nil {
			return nil, err
		}
	}
	return schema, nil
}

// command turns the arguments of a command tool into a request. They are checked against the schema after defaults and
// coercion, so that Request.Args is what was checked.
func (t *tool) command(a *args) (job.Request, error) {
	values := map[string]any{}
	for name, raw := range a.given {
		property := t.whole.Properties[name]
		if want := typeOf(property); want == "string" || string(raw) != `""` {
			values[name] = coerce(raw, want)
		}
	}
	if a.err == nil {
		if err := t.whole.Validate(values); err != nil {
			a.fail("%s", firstReason(err))
		}
	}
	if a.err != nil {
		return job.Request{}, a.err
	}
	return job.Request{Tool: t.Name, Args: values}, nil
}
