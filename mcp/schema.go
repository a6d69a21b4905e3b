package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"cmd-exec-mcp/runtime/job"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	localized "golang.org/x/text/message"
)

// checkSchema holds a tool against what strict clients accept: a flat object, one plain type per property, items on every
// array, no unions at the root, no null defaults, short plain names.
func checkSchema(name string, schema map[string]any) error {
	if !plainName(name) {
		return job.Errorf(job.Invalid, "tool %q: a name is 1 to 48 of a-z, 0-9 and _", name)
	}
	for _, word := range []string{"anyOf", "oneOf", "allOf", "not", "enum", "$ref"} {
		if _, ok := schema[word]; ok {
			return job.Errorf(job.Invalid, "tool %q: its schema has %s at the root", name, word).WithHint("use a flat object with plain properties")
		}
	}
	properties, ok := schema["properties"].(map[string]any)
	if schema["type"] != "object" || !ok {
		return job.Errorf(job.Invalid, "tool %q: its schema is no object with properties", name).WithHint(`write {"type": "object", "properties": {...}}`)
	}
	for _, p := range slices.Sorted(maps.Keys(properties)) {
		if why := badProperty(p, properties[p]); why != "" {
			return job.Errorf(job.Invalid, "tool %q: parameter %q: %s", name, p, why)
		}
	}
	return nil
}

func badProperty(name string, property any) string {
	p, ok := property.(map[string]any)
	if !ok {
		return "its schema is no object"
	}
	if !plainName(name) {
		return "a name is 1 to 48 of a-z, 0-9 and _"
	}
	switch p["type"] {
	case "string", "number", "integer", "boolean", "object":
	case "array":
		if _, ok := p["items"].(map[string]any); !ok {
			return "an array needs items"
		}
	default:
		return "its type must be one of string, number, integer, boolean, object, array"
	}
	if value, ok := p["default"]; ok && value == nil {
		return "a default cannot be null; leave it out"
	}
	return ""
}

func plainName(s string) bool {
	return s != "" && len(s) <= 48 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// compile makes a validator. A schema may refer to its own parts only: the loader that would read files is off.
func compile(name string, schema map[string]any) (*jsonschema.Schema, error) {
	bad := func(err error) error {
		return job.Errorf(job.Invalid, "the schema of %s is no JSON Schema: %w", name, err)
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		return nil, bad(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, bad(err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	url := "tool:" + name
	if err := c.AddResource(url, doc); err != nil {
		return nil, bad(err)
	}
	compiled, err := c.Compile(url)
	if err != nil {
		return nil, bad(err)
	}
	return compiled, nil
}

// firstReason is the innermost sentence of a validation error, with the place it is about.
func firstReason(err error) string {
	v, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return err.Error()
	}
	for len(v.Causes) > 0 {
		v = v.Causes[0]
	}
	text := v.ErrorKind.LocalizedString(localized.NewPrinter(language.English))
	if len(v.InstanceLocation) > 0 {
		return strings.Join(v.InstanceLocation, ".") + ": " + text
	}
	return text
}

func typeOf(s *jsonschema.Schema) string {
	if s == nil || s.Types == nil {
		return ""
	}
	if types := s.Types.ToStrings(); len(types) == 1 {
		return types[0]
	}
	return ""
}

// coerce decodes a value and bends it to the wanted JSON type as far as its meaning allows. Numbers without a fraction are
// int64, so that a template prints 3 and not 3.0.
func coerce(raw []byte, want string) any {
	switch want {
	case "number", "integer":
		if _, ok := asNumber(raw); ok && raw[0] == '"' {
			raw = []byte(strings.TrimSpace(unquote(raw)))
		}
	case "boolean":
		if b, ok := asBool(raw); ok {
			return b
		}
	case "array":
		raw = unwrap(raw, '[')
	case "object":
		raw = unwrap(raw, '{')
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil {
		return nil
	}
	return plainNumbers(value)
}

func plainNumbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plainNumbers(v[k])
		}
	}
	return value
}
