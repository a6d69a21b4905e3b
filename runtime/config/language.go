package config

import (
	"fmt"
	"os"
	"os/user"
	"reflect"
	"runtime"

	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/hooks/builtin"
	"cmd-exec-mcp/runtime/policy"
	"cmd-exec-mcp/runtime/stream"
	"go.starlark.net/lib/json"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"
)

// function is one config function. All that is known of it stands here: what it is called, what its arguments are (the
// tags of the struct that fresh returns, which holds the defaults), and what a call does.
type function struct {
	name, doc string
	group     string // heading of the reference
	fresh     func() any
	returns   string                              // for the stub; "" means a value of its own that can be handed on
	run       func(c *call, v any) starlark.Value // nil: the value is the filled struct
}

const (
	statements = "Statements"
	tools      = "Tools"
	places     = "Where commands run"
	rules      = "What may run"
	around     = "What happens around it"
	helpers    = "Helpers"
)

// language lists every config function. A new one is a line here.
func language(o Options) []function {
	list := []function{
		{"server", "how the server itself behaves; at most once", statements, fresh(newServer), "None", runServer},
		{"defaults", "limits and defaults of every tool; at most once", statements, fresh(newDefaults), "None", runDefaults},
		{"shell_tool", "a tool that runs shell text", tools, fresh(newShellTool), "None", runShellTool},
		{"file_tool", "a tool that reads and writes files", tools, fresh(newFileTool), "None", runFileTool},
		{"command_tool", "a tool of your own: its own parameters, its own command", tools, fresh(newCommandTool), "None", runCommandTool},
		{"param", "a parameter of a command_tool", tools, fresh(newParam), "", nil},
		{"policy", "which commands may run", rules, pointer(policy.NewConfig), "", nil},
		{"rule", "decides about commands by program and arguments", rules, pointer(policy.NewRule), "", nil},
		{"write_rule", "decides about files that a command writes", rules, pointer(policy.NewWriteRule), "", nil},
		{"env_rule", "decides about environment variables that a command sets", rules, pointer(policy.NewEnvRule), "", nil},
		{"wrapper", "tells how a program that runs another one takes its arguments", rules, pointer(policy.NewWrapper), "", nil},
		{"redact", "what is hidden in output", around, pointer(stream.NewRedact), "", nil},
		{"hook", "a hook written in Starlark", around, fresh(newStarHook), "", nil},
		{"getenv", "an environment variable of the server", helpers, fresh(newGetenv), "Any", runGetenv},
		{"secret", "an environment variable that no command inherits and no output shows", helpers, fresh(newSecret), "str | None", runSecret},
		{"quote", "a word for the shell, quoted where needed", helpers, fresh(newQuote), "str", runQuote},
	}
	for _, d := range o.Backends {
		list = append(list, function{d.Name, d.Doc, places, func() any { return d.New() }, "", nil})
		for _, v := range d.Values {
			list = append(list, function{v.Name, v.Doc, places, v.New, "", nil})
		}
	}
	for _, d := range hookDrivers(o) {
		list = append(list, function{d.Name, d.Doc, around, func() any { return d.New() }, "", nil})
	}
	return list
}

// hookDrivers are those of hooks/builtin and the given ones; hook(...) itself is starHook.
func hookDrivers(o Options) []hooks.Driver {
	return append(builtin.Drivers(), o.Hooks...)
}

func fresh[T any](f func() T) func() any {
	return func() any { v := f(); return &v }
}

func pointer[T any](f func() *T) func() any { return func() any { return f() } }

// constants are the names that hold numbers.
var constants = []struct {
	name  string
	value int
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}}

// predeclare makes the names that a config file sees. A driver that takes a name twice is a defect and panics.
func (l *loader) predeclare() starlark.StringDict {
	d := starlark.StringDict{
		"json":   json.Module,
		"struct": starlark.NewBuiltin("struct", starlarkstruct.Make),
		"host":   hostStruct(),
		"range":  starlark.NewBuiltin("range", shortRange),
		"deny":   verdict("deny"),
		"ask":    verdict("ask"),

		guards[syntax.STAR]:    starlark.NewBuiltin("*", repeat),
		guards[syntax.PLUS]:    starlark.NewBuiltin("+", plus),
		guards[syntax.PLUS_EQ]: starlark.NewBuiltin("+=", extended),
	}
	for _, c := range constants {
		d[c.name] = starlark.MakeInt(c.value)
	}
	for _, f := range l.functions {
		if d.Has(f.name) {
			panic("config: there are two functions " + f.name)
		}
		fieldsOf(reflect.TypeOf(f.fresh()).Elem()) // a bad tag shows at once
		d[f.name] = starlark.NewBuiltin(f.name, f.call)
	}
	return d
}

// call runs the function for a config file: decode, then do. After a mistake it returns a value that causes no more.
func (f function) call(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	l, ok := thread.Local(loading).(*loader)
	if !ok || l == nil {
		if f.name == "quote" { // declares nothing, and is what a function that makes commands needs most
			return quoteLater(args, kwargs)
		}
		return nil, fmt.Errorf("%s works only while config.star is read: call it at the top, and use its value here", f.name)
	}
	v := f.fresh()
	c := l.newCall(thread, f.name, reflect.TypeOf(v).Elem())
	c.decode(v, args, kwargs)
	switch {
	case c.broken:
		if f.returns == "None" {
			return starlark.None, nil
		}
		return broken{}, nil
	case f.run != nil:
		return f.run(c, v), nil
	}
	m := &made{call: c, v: v}
	l.made[v] = m
	return m, nil
}

func (l *loader) newCall(thread *starlark.Thread, fn string, t reflect.Type) *call {
	c := &call{loader: l, fn: fn, fields: fieldsOf(t)}
	for depth := 1; depth < thread.CallStackDepth(); depth++ {
		pos := thread.CallFrame(depth).Pos
		if pos.Filename() == builtinFile {
			continue
		}
		c.pos = pos
		if depth == 1 {
			c.expr = l.calls[placeOf(pos)]
		}
		if c.expr != nil {
			c.pos = syntax.Start(c.expr)
		}
		break
	}
	return c
}

// hostStruct is what a config may know of the machine.
func hostStruct() starlark.Value {
	name, _ := os.Hostname()
	var login string
	if u, err := user.Current(); err == nil {
		login = u.Username
	}
	return starlarkstruct.FromStringDict(starlark.String("host"), starlark.StringDict{
		"os":       starlark.String(runtime.GOOS),
		"arch":     starlark.String(runtime.GOARCH),
		"hostname": starlark.String(name),
		"user":     starlark.String(login),
	})
}
