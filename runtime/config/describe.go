package config

import (
	"path"
	"reflect"
	"strings"
	"time"

	"cmd-exec-mcp/runtime/job"
	"cmd-exec-mcp/runtime/policy"
)

// Description is what a config means, for people and programs that check one. It holds no secrets: neither what
// secret() returned nor what an argument or variable whose name says so holds.
type Description struct {
	Config   string            `json:"config"` // its path, or "built-in"
	Server   map[string]any    `json:"server"`
	Defaults map[string]any    `json:"defaults"`
	Tools    []ToolDescription `json:"tools"`
	Secrets  []string          `json:"secrets,omitempty"`
	Files    []string          `json:"files,omitempty"`
	Warnings []string          `json:"warnings,omitempty"`
}

// ToolDescription is one tool of it.
type ToolDescription struct {
	Name        string              `json:"name"`
	Kind        string              `json:"kind"`
	Declared    string              `json:"declared"` // "config.star:12:1"
	Description string              `json:"description,omitempty"`
	Targets     []Setting           `json:"targets"`
	Groups      map[string][]string `json:"groups,omitempty"`
	Policy      map[string]any      `json:"policy"`
	Hooks       []Setting           `json:"hooks,omitempty"`
	Params      map[string]any      `json:"params,omitempty"`
	Schema      map[string]any      `json:"schema,omitempty"`
	Dir         string              `json:"cwd,omitempty"`
}

// Setting is a value of a config function: what was written, not what was left at its default.
type Setting struct {
	Name     string         `json:"name,omitempty"` // of a target
	Function string         `json:"function"`
	Args     map[string]any `json:"args,omitempty"`
}

// origin remembers which config function a value came from; it serves Describe alone.
type origin struct {
	names    map[any]string // config function by the pointer to its struct
	fresh    map[string]func() any
	policies map[*policy.Policy]*policy.Config
}

func (l *loader) origin() origin {
	o := origin{names: map[any]string{}, fresh: map[string]func() any{}, policies: map[*policy.Policy]*policy.Config{}}
	for v, m := range l.made {
		o.names[v] = m.call.fn
	}
	for _, f := range l.functions {
		o.fresh[f.name] = f.fresh
	}
	return o
}

// Describe says what the config means.
func (c *Config) Describe() Description {
	d := Description{
		Config: c.Path, Server: c.args(&c.Server, nil), Defaults: c.args(&c.Defaults, nil),
		Secrets: c.Secrets, Files: c.Files, Warnings: c.Warnings,
	}
	if d.Config == "" {
		d.Config = "built-in"
	}
	for _, t := range c.Tools {
		td := ToolDescription{
			Name: t.Name, Kind: kindNames[t.Kind], Declared: t.Pos, Description: c.hide(t.Description), Groups: t.Groups, Dir: t.Dir,
		}
		if t.Schema != nil {
			td.Schema, _ = c.plain(reflect.ValueOf(t.Schema), field{}).(map[string]any)
		}
		for _, target := range t.Targets {
			td.Targets = append(td.Targets, c.setting(target.Name, target.Backend))
		}
		for _, h := range t.Hooks {
			td.Hooks = append(td.Hooks, c.setting("", h))
		}
		if p := c.origin.policies[t.Policy]; p != nil {
			td.Policy = c.args(p, nil)
		}
		if t.Params != nil {
			td.Params, _ = c.plain(reflect.ValueOf(t.Params), field{}).(map[string]any)
		}
		d.Tools = append(d.Tools, td)
	}
	return d
}

var kindNames = map[job.ToolKind]string{job.ShellTool: "shell_tool", job.FileTool: "file_tool", job.CommandTool: "command_tool"}

func (c *Config) setting(name string, v any) Setting {
	s := Setting{Name: name, Function: c.origin.names[v]}
	if fresh := c.origin.fresh[s.Function]; fresh != nil {
		s.Args = c.args(v, fresh())
	}
	return s
}

// args are the arguments in the struct behind ptr that differ from those behind defaults, all when that is nil.
func (c *Config) args(ptr, defaults any) map[string]any {
	v := reflect.ValueOf(ptr).Elem()
	out := map[string]any{}
	for _, f := range fieldsOf(v.Type()) {
		x := v.Field(f.index)
		if defaults != nil && reflect.DeepEqual(x.Interface(), reflect.ValueOf(defaults).Elem().Field(f.index).Interface()) {
			continue
		}
		if defaults == nil && x.IsZero() && x.Kind() != reflect.Bool {
			continue
		}
		out[f.name] = c.plain(x, f)
	}
	return out
}

// plain turns a decoded value into what JSON can show.
func (c *Config) plain(v reflect.Value, f field) any {
	if f.concealed && !v.IsZero() {
		return hidden
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		if v.Kind() == reflect.Pointer {
			if fn, ok := c.origin.names[v.Interface()]; ok {
				return map[string]any{fn: c.args(v.Interface(), c.origin.fresh[fn]())}
			}
		}
		return c.plain(v.Elem(), f)
	case reflect.String:
		if secretName(f.name) && v.Len() > 0 {
			return hidden
		}
		return c.hide(v.String())
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = c.plain(v.Index(i), field{})
		}
		return list
	case reflect.Map:
		m := map[string]any{}
		for k, x := range v.Seq2() {
			m[k.String()] = c.plain(x, field{name: k.String()})
		}
		return m
	case reflect.Struct:
		if fields := fieldsOf(v.Type()); len(fields) > 0 && v.CanAddr() {
			return c.args(v.Addr().Interface(), nil)
		}
		return v.Type().Name()
	case reflect.Func:
		return "a function"
	}
	if v.Type() == durationType {
		if d := time.Duration(v.Int()); d != job.Unlimited {
			return d.Seconds()
		}
		return -1
	}
	return v.Interface()
}

const hidden = "[hidden]"

func (c *Config) hide(s string) string {
	for _, v := range c.SecretValues {
		s = strings.ReplaceAll(s, v, hidden)
	}
	return s
}

// secretName tells names whose value is nobody's business, of arguments and of variables alike.
func secretName(name string) bool {
	name = strings.ToLower(name)
	for _, glob := range []string{"*password*", "*passphrase*", "*secret*", "*token", "api_key", "*_key"} {
		if ok, _ := path.Match(glob, name); ok {
			return true
		}
	}
	return false
}
