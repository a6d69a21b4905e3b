package config

import (
	"errors"
	"maps"
	"regexp"
	"slices"

	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/runtime/job"
	"cmd-exec-mcp/runtime/policy"
	"cmd-exec-mcp/runtime/stream"
	"go.starlark.net/starlark"
)

type shellTool struct {
	Name        string                    `star:"name,positional,required" doc:"what clients call it: at most 48 of a-z 0-9 _"`
	Backend     targets                   `star:"backend,required" doc:"where it runs, like local(); a dict of names and backends gives the tool a target parameter, the first is the default"`
	Groups      map[string][]string       `star:"groups" doc:"names that stand for several targets"`
	Policy      *policy.Config            `star:"policy" doc:"which commands may run; left out: policy()"`
	Hooks       []hooks.Config            `star:"hooks" doc:"what looks at each command, in this order"`
	Redact      []*stream.Redact          `star:"redact" doc:"what is hidden in output; left out: [redact()]"`
	Description string                    `star:"description" doc:"what clients tell the model; left out: made from this config"`
	Params      map[string]map[string]any `star:"params" doc:"changes to parameters, like {\"timeout\": {\"default\": 60}}; None takes a parameter away"`
	Annotations annotations               `star:"annotations" doc:"hints for clients: title, readOnlyHint, destructiveHint, idempotentHint, openWorldHint"`
}

func newShellTool() shellTool {
	return shellTool{Annotations: annotations{Destructive: true, OpenWorld: true}}
}

// Validate implements the decoder's check.
func (s *shellTool) Validate() error {
	return errors.Join(toolName(s.Name), checkGroups(s.Groups, s.Backend))
}

type fileTool struct {
	Name        string                    `star:"name,positional,required" doc:"what clients call it: at most 48 of a-z 0-9 _"`
	Backend     targets                   `star:"backend,required" doc:"whose files; give it the same value as a shell_tool to share its sessions"`
	Policy      *policy.Config            `star:"policy" doc:"write_rule(...) applies to what it writes and deletes; left out: policy()"`
	Description string                    `star:"description" doc:"what clients tell the model; left out: made from this config"`
	Params      map[string]map[string]any `star:"params" doc:"changes to parameters, as in shell_tool"`
	Annotations annotations               `star:"annotations" doc:"hints for clients, as in shell_tool"`
}

func newFileTool() fileTool { return fileTool{Annotations: annotations{Destructive: true}} }

// Validate implements the decoder's check.
func (f *fileTool) Validate() error { return toolName(f.Name) }

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)

func toolName(name string) error {
	if namePattern.MatchString(name) {
		return nil
	}
	return job.Errorf(job.Invalid, "name is %q", name).WithHint("write at most 48 of a-z, 0-9 and _, a letter first, like \"execute_local\"")
}

func checkGroups(groups map[string][]string, all targets) error {
	var errs []error
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		switch {
		case len(groups[group]) == 0:
			errs = append(errs, at(job.Errorf(job.Invalid, "groups[%q] is empty", group).
				WithHint("name targets, or take the group away"), "groups", group))
		case slices.Contains(all.names(), group):
			errs = append(errs, at(job.Errorf(job.Invalid, "groups has %q, which is a target already", group).
				WithHint("give the group another name"), "groups", group))
		}
		for i, name := range groups[group] {
			if name == "" || !slices.Contains(all.names(), name) {
				errs = append(errs, at(job.Errorf(job.Invalid, "groups[%q] names %q, which is no target", group, name).
					WithHint("%s", noTarget(name, all)), "groups", group, i))
			}
		}
	}
	return errors.Join(errs...)
}

func noTarget(name string, all targets) string {
	if len(all.list) == 1 && all.list[0].Name == "" {
		return `write backend={"name": ..., "other": ...} for groups to have targets`
	}
	return didYouMean(name, all.names())
}

// toolDecl is a declared tool until its policy can be compiled: examples of rules run functions of the config, and
// those are safe to run when the whole file was read.
type toolDecl struct {
	call   *call
	tool   Tool
	policy *policy.Config
	redact []*stream.Redact
}

func (c *call) declare(d toolDecl) starlark.Value {
	if !c.first("the tool " + d.tool.Name) {
		return starlark.None
	}
	d.call = c
	d.tool.Pos = c.pos.String()
	if d.policy == nil {
		d.policy = c.defaultPolicy
	}
	c.tools = append(c.tools, &d)
	return starlark.None
}

func runShellTool(c *call, v any) starlark.Value {
	s := v.(*shellTool)
	return c.declare(toolDecl{policy: s.Policy, redact: s.Redact, tool: Tool{
		Name: s.Name, Kind: job.ShellTool, Description: s.Description, Targets: s.Backend.list, Groups: s.Groups,
		Hooks: s.Hooks, Params: s.Params, Annotations: job.Annotations(s.Annotations),
	}})
}

func runFileTool(c *call, v any) starlark.Value {
	f := v.(*fileTool)
	return c.declare(toolDecl{policy: f.Policy, tool: Tool{
		Name: f.Name, Kind: job.FileTool, Description: f.Description, Targets: f.Backend.list,
		Params: f.Params, Annotations: job.Annotations(f.Annotations),
	}})
}

// finishTools compiles what the tools refer to. Two tools with the same policy value share the compiled one.
func (l *loader) finishTools() {
	compiled := map[*policy.Config]*policy.Policy{}
	var usual *stream.Rules
	for _, d := range l.tools {
		p, ok := compiled[d.policy]
		if !ok {
			var err error
			if p, err = d.policy.Compile(); err != nil {
				l.policyMistakes(d, err)
			} else {
				for _, w := range p.Warnings() {
					l.cfg.Warnings = append(l.cfg.Warnings, d.tool.Name+": "+w)
				}
			}
			compiled[d.policy] = p
			l.cfg.origin.policies[p] = d.policy
		}
		d.tool.Policy = p
		d.tool.Redact = l.redaction(d, &usual)
		l.cfg.Tools = append(l.cfg.Tools, d.tool)
	}
}

// redaction compiles a tool's rules. Those who say nothing share the usual ones: compiling them is half of a config's time.
func (l *loader) redaction(d *toolDecl, usual **stream.Rules) *stream.Rules {
	list := d.redact
	if list == nil {
		if *usual != nil {
			return *usual
		}
		list = []*stream.Redact{stream.NewRedact()}
	}
	rules, err := stream.Compile(list)
	d.call.failWith(err)
	if d.redact == nil {
		*usual = rules
	}
	return rules
}

// policyMistakes reports each wrong rule, and each example that does not hold, where it is written.
func (l *loader) policyMistakes(d *toolDecl, err error) {
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range list.Unwrap() {
			l.policyMistakes(d, e)
		}
		return
	}
	at := d.call
	if m := l.made[d.policy]; m != nil {
		at = m.call
	}
	e, ok := errors.AsType[*policy.RuleError](err)
	if !ok {
		at.failWith(err)
		return
	}
	m := l.made[e.Item]
	if m == nil {
		at.failWith(err)
		return
	}
	l.add(m.call.example(m.v, e.Example), hintOf(err), "%s", e)
}

// example is where one of a rule's examples is written, else the rule itself.
func (c *call) example(rule any, text string) pos {
	lists := map[string][]string{}
	switch r := rule.(type) {
	case *policy.Rule:
		lists = map[string][]string{"match": r.Match, "not_match": r.NotMatch}
	case *policy.WriteRule:
		lists = map[string][]string{"match": r.Match, "not_match": r.NotMatch}
	case *policy.EnvRule:
		lists = map[string][]string{"match": r.Match, "not_match": r.NotMatch}
	}
	for _, name := range []string{"match", "not_match"} {
		if i := slices.Index(lists[name], text); i >= 0 && text != "" {
			return c.at(name, i)
		}
	}
	return c.pos
}
