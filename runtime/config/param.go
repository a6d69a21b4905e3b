package config

import (
	"maps"
	"slices"

	"cmd-exec-mcp/runtime/job"
)

// param is param(...): one parameter of a command tool, in the words of JSON schema.
type param struct {
	Type        string   `star:"type,positional,required" doc:"string, integer, number, boolean, array or object"`
	Description string   `star:"description,positional,required" doc:"what it means, with its unit"`
	Default     any      `star:"default" doc:"its value when a call leaves it out; without one that is None"`
	Required    bool     `star:"required" doc:"a call without it is refused"`
	Enum        []any    `star:"enum" doc:"the only values it may have"`
	Items       string   `star:"items" doc:"the type of an array's elements"`
	Pattern     string   `star:"pattern" doc:"a regular expression that a string must match"`
	Minimum     *float64 `star:"minimum" doc:"the least number"`
	Maximum     *float64 `star:"maximum" doc:"the greatest number"`
}

func newParam() param { return param{Items: "string"} }

var jsonTypes = []string{"string", "integer", "number", "boolean", "array", "object"}

// Validate implements the decoder's check.
func (p *param) Validate() error {
	if err := oneOf("type", p.Type, jsonTypes...); err != nil {
		return err
	}
	if err := oneOf("items", p.Items, jsonTypes...); err != nil {
		return err
	}
	if p.Enum != nil && len(p.Enum) == 0 {
		return job.Errorf(job.Invalid, "enum is empty").WithHint("name the values, or leave it out")
	}
	for i, v := range p.Enum {
		if !isType(v, p.Type) {
			return at(job.Errorf(job.Invalid, "enum has %v, which is no %s", v, p.Type).WithHint("write values of the parameter's type"), "enum", i)
		}
	}
	if p.Default != nil && !isType(p.Default, p.Type) {
		return job.Errorf(job.Invalid, "default is %v, which is no %s", p.Default, p.Type).WithHint("write a value of the parameter's type")
	}
	if p.Default != nil && p.Enum != nil && !slices.Contains(p.Enum, p.Default) {
		return job.Errorf(job.Invalid, "default is %v, which is not in enum", p.Default).WithHint("write one of the values of enum")
	}
	if p.Default != nil && p.Required {
		return job.Errorf(job.Invalid, "default stands beside required=True").WithHint("write one of the two")
	}
	return nil
}

func isType(v any, want string) bool {
	switch v.(type) {
	case string:
		return want == "string"
	case bool:
		return want == "boolean"
	case int64:
		return want == "integer" || want == "number"
	case float64:
		return want == "number"
	case []any:
		return want == "array"
	case map[string]any:
		return want == "object"
	}
	return false
}

// paramSchema is the input schema of a command tool.
func paramSchema(params map[string]*param) map[string]any {
	properties := map[string]any{}
	required := []any{}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		properties[name] = params[name].schema()
		if params[name].Required {
			required = append(required, name)
		}
	}
	schema := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}

func (p *param) schema() map[string]any {
	s := map[string]any{"type": p.Type, "description": p.Description}
	if p.Default != nil {
		s["default"] = p.Default
	}
	if p.Enum != nil {
		s["enum"] = p.Enum
	}
	if p.Type == "array" {
		s["items"] = map[string]any{"type": p.Items}
	}
	if p.Pattern != "" {
		s["pattern"] = p.Pattern
	}
	if p.Minimum != nil {
		s["minimum"] = *p.Minimum
	}
	if p.Maximum != nil {
		s["maximum"] = *p.Maximum
	}
	return s
}
