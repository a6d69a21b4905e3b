package config

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/runtime/job"
	"cmd-exec-mcp/runtime/policy"
	"cmd-exec-mcp/runtime/stream"
	"go.starlark.net/starlark"
)

// CommandFunc makes the command of a command tool from its arguments, which were checked against the tool's schema.
// Missing ones have their default. Either script (shell text) or argv (no shell) is set. It may be called concurrently.
type CommandFunc func(ctx context.Context, args map[string]any) (script string, argv []string, err error)

type commandTool struct {
	Name        string            `star:"name,positional,required" doc:"what clients call it: at most 48 of a-z 0-9 _"`
	Backend     targets           `star:"backend,required" doc:"where it runs, as in shell_tool"`
	Description string            `star:"description,required" doc:"what clients tell the model: what it does and when to use it"`
	Params      map[string]*param `star:"params" doc:"its parameters, like {\"filter\": param(\"string\", \"which tests\")}"`
	Schema      map[string]any    `star:"schema" doc:"a whole JSON schema instead of params"`
	Command     command           `star:"command,required" doc:"a function of the parameters that returns a list (program and arguments) or a string (shell text)"`
	Cwd         cwd               `star:"cwd" doc:"where it runs: absolute, or relative to the config's folder"`
	Policy      *policy.Config    `star:"policy" doc:"which commands may run; left out: policy()"`
	Hooks       []hooks.Config    `star:"hooks" doc:"what looks at each command, in this order"`
	Redact      []*stream.Redact  `star:"redact" doc:"what is hidden in output; left out: [redact()]"`
	Annotations annotations       `star:"annotations" doc:"hints for clients, as in shell_tool"`
}

func newCommandTool() commandTool {
	return commandTool{Annotations: annotations{Destructive: true, OpenWorld: true}}
}

// Validate implements the decoder's check.
func (t *commandTool) Validate() error {
	errs := []error{toolName(t.Name)}
	if t.Description == "" {
		errs = append(errs, job.Errorf(job.Invalid, "description is empty").WithHint("say what the tool does and when to use it"))
	}
	if t.Params != nil && t.Schema != nil {
		errs = append(errs, job.Errorf(job.Invalid, "schema stands beside params").WithHint("write one of the two"))
	}
	for _, name := range slices.Sorted(maps.Keys(t.Params)) {
		if !namePattern.MatchString(name) {
			errs = append(errs, at(job.Errorf(job.Invalid, "params has %q, which cannot be a name", name).
				WithHint("write at most 48 of a-z, 0-9 and _, a letter first"), "params", name))
		}
		if t.Params[name] == nil {
			errs = append(errs, at(job.Errorf(job.Invalid, "params[%q] is None", name).
				WithHint(`write param("string", "what it is")`), "params", name))
		}
	}
	if t.Schema != nil && t.Schema["type"] != "object" {
		errs = append(errs, job.Errorf(job.Invalid, "schema is not of type object").
			WithHint(`write {"type": "object", "properties": {...}}`))
	}
	return errors.Join(errs...)
}

// commandSteps is generous: a command is made once per call.
const commandSteps = 1_000_000

// command is command=: a function, kept until the tool's name is known.
type command struct{ call Func }

func (f *command) fromStarlark(c *call, v starlark.Value, w where) {
	fn, ok := v.(*starlark.Function)
	switch {
	case !ok:
		c.wrong(v, w, "a function with one parameter, like def command(p): return [\"ls\", p.dir]")
	case fn.NumParams() != 1:
		c.fail(w.pos, "write def "+fn.Name()+"(p):", "%s: %s takes %d parameters, not one", c.fn, w, fn.NumParams())
	default:
		f.call = c.goFunc(fn, commandSteps)
	}
}

// cwd is a directory of the place where the command runs, so ~ is left to that place.
type cwd string

func (d *cwd) fromStarlark(c *call, v starlark.Value, w where) {
	s, ok := starlark.AsString(v)
	if !ok || s == "" {
		c.wrong(v, w, `a directory in quotes, like "/srv/app"`)
		return
	}
	if !strings.HasPrefix(s, "~") {
		s = c.path(s)
	}
	*d = cwd(s)
}

func runCommandTool(c *call, v any) starlark.Value {
	t := v.(*commandTool)
	schema := t.Schema
	if schema == nil {
		schema = paramSchema(t.Params)
	}
	return c.declare(toolDecl{policy: t.Policy, redact: t.Redact, tool: Tool{
		Name: t.Name, Kind: job.CommandTool, Description: t.Description, Targets: t.Backend.list, Hooks: t.Hooks,
		Schema: schema, Command: commandOf(t.Name, t.Command.call, schema), Dir: string(t.Cwd),
		Annotations: job.Annotations(t.Annotations),
	}})
}

// commandOf completes the arguments, so that p.filter is there whether it was given or not.
func commandOf(tool string, fn Func, schema map[string]any) CommandFunc {
	defaults := map[string]any{}
	properties, _ := schema["properties"].(map[string]any)
	for name, p := range properties {
		property, _ := p.(map[string]any)
		defaults[name] = property["default"]
	}
	return func(ctx context.Context, args map[string]any) (string, []string, error) {
		all := maps.Clone(defaults)
		maps.Copy(all, args)
		v, err := fn(ctx, all)
		if err != nil {
			return "", nil, err
		}
		switch v := v.(type) {
		case string:
			if v != "" {
				return v, nil, nil
			}
		case []any:
			if argv, ok := stringList(v); ok && len(argv) > 0 && argv[0] != "" {
				return "", argv, nil
			}
		}
		return "", nil, job.Errorf(job.Internal, "the function of %s returned neither shell text nor a list of strings", tool).
			WithHint("the server's owner can mend it in config.star: numbers in the list need str()")
	}
}
