package runtime

import (
	"fmt"
	"strings"

	"cmd-exec-mcp/runtime/job"
)

// Tools describes the tools as they are configured. It dials nothing.
func (e *Engine) Tools() []job.Tool {
	now := e.now.Load()
	tools := make([]job.Tool, len(now.tools))
	for i, t := range now.tools {
		tools[i] = e.describe(t)
	}
	return tools
}

func (e *Engine) describe(t *tool) job.Tool {
	first := t.targets[0].backend.Properties()
	d := t.generation.config.Defaults
	out := job.Tool{
		Name: t.Name, Kind: t.Kind, Description: t.Description, Isolated: first.Isolated, Sandbox: first.Sandbox, Stdin: first.Stdin, TTY: first.TTY,
		Images: first.Images, Networks: first.Networks,
		Timeout: d.Timeout, MaxTimeout: d.MaxTimeout, Alive: d.AliveTimeout, InlineLimit: d.InlineLimit, OutputLimit: d.OutputLimit, Fields: d.Fields,
		Params: t.Params, Schema: t.Schema, Annotations: t.Annotations,
	}
	out.Shells = first.Shells
	if first.Isolated {
		out.Shells = first.Shells[:min(1, len(first.Shells))] // what an image has is known only when it runs: no choice
	}
	if len(t.targets) > 1 || t.targets[0].name != "" {
		for _, target := range t.targets {
			out.Targets = append(out.Targets, target.name)
		}
		for name := range t.Groups {
			out.Groups = append(out.Groups, name)
		}
	}
	if out.Description == "" {
		out.Description = e.sentence(t, out)
	}
	return out
}

// sentence is the description of a tool whose owner wrote none: what runs where, and what policy says.
func (e *Engine) sentence(t *tool, facts job.Tool) string {
	var b strings.Builder
	switch {
	case t.Kind == job.FileTool:
		fmt.Fprintf(&b, "Read and write files (%s).", t.targets[0].backend.Properties().Name)
		return b.String()
	case facts.Sandbox:
		fmt.Fprintf(&b, "Run a command in a sandbox (%s): a fresh one for every call.", t.targets[0].backend.Properties().Name)
	case len(facts.Targets) > 0:
		fmt.Fprintf(&b, "Run a command on one of %s.", strings.Join(facts.Targets, ", "))
	case facts.Isolated:
		fmt.Fprintf(&b, "Run a command on another host (%s).", t.targets[0].backend.Properties().Name)
	default:
		b.WriteString("Run a command on the host this server runs on.")
	}
	fmt.Fprintf(&b, " A command ends after %g s unless timeout says otherwise; one that still runs when wait is over becomes a session: "+
		"read, send to or kill it with session_id and action. A non-zero exit_code is a normal result.", facts.Timeout.Seconds())
	b.WriteString(" " + t.Policy.Summary())
	return b.String()
}

// Group returns the targets that a name stands for: itself, or a group's. Kind: NotFound.
func (e *Engine) Group(toolName, name string) ([]string, error) {
	t, err := e.tool(toolName)
	if err != nil {
		return nil, err
	}
	if members, ok := t.Groups[name]; ok {
		return members, nil
	}
	target, err := t.target(name)
	return []string{target.name}, err
}
