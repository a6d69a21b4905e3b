package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"cmd-exec-mcp/runtime/config"
	"cmd-exec-mcp/runtime/job"
	"cmd-exec-mcp/runtime/policy"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
)

func (a *app) policyVerb() *cobra.Command {
	verb := &cobra.Command{Use: "policy", Short: "Ask what policy says of a command, and why"}
	verb.AddCommand(a.policyCheckVerb(), a.policyTestVerb(), a.policyExplainVerb())
	return verb
}

// policyFlags choose the policy that is asked.
type policyFlags struct {
	tool, shell, mode string
	asJSON            bool
}

func (a *app) policyCheckVerb() *cobra.Command {
	var f policyFlags
	cmd := &cobra.Command{
		Use:   "check -- 'TEXT'",
		Short: "Say whether a command may run; exit status 0 if it may, else 1",
		Example: `  cmd-exec-mcp policy check -- 'git status && make test'
  cmd-exec-mcp policy check --tool execute_local --json -- 'find . -exec rm {} +'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.policy(f)
			if err != nil {
				return err
			}
			d := p.Check(cmd.Context(), policy.Input{Tool: f.tool, Shell: f.shell, Text: strings.Join(args, " ")})
			return a.showDecision(d, f.asJSON)
		},
	}
	cmd.Flags().StringVar(&f.tool, "tool", "", "whose policy (default: the first shell tool)")
	cmd.Flags().StringVar(&f.shell, "shell", "bash", "the shell that would run it")
	cmd.Flags().StringVar(&f.mode, "mode", "", "blacklist or whitelist: the default lists in that mode, instead of the config's")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	return cmd
}

// policy is the tool's, or with --mode one made of the default lists.
func (a *app) policy(f policyFlags) (*policy.Policy, error) {
	if f.mode != "" {
		c := policy.NewConfig()
		c.List = f.mode
		if f.mode == "full" {
			c = policy.NewConfig()
			c.Mode = f.mode
		}
		if err := c.Validate(); err != nil {
			return nil, &status{exitConfig, err}
		}
		return c.Compile()
	}
	c, err := a.load(zerolog.Nop())
	if err != nil {
		return nil, err
	}
	return policyOf(c, f.tool)
}

func policyOf(c *config.Config, tool string) (*policy.Policy, error) {
	var names []string
	for _, t := range c.Tools {
		if t.Name == tool || t.Name == "execute_"+tool || tool == "" && t.Kind == job.ShellTool {
			return t.Policy, nil
		}
		names = append(names, t.Name)
	}
	return nil, &status{exitConfig, job.Errorf(job.NotFound, "no tool %q", tool).WithHint("one of [%s]", strings.Join(names, " "))}
}

func (a *app) showDecision(d policy.Decision, asJSON bool) error {
	denied := d.Err()
	if asJSON {
		if err := json.NewEncoder(a.stdout).Encode(decisionJSON(d)); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(a.stdout, strings.ToLower(d.Verdict.String()))
		for _, f := range d.Findings {
			fmt.Fprintf(a.stdout, "  %s %s: %s\n", f.Rule, f.At, f.Message)
			if f.Suggest != "" {
				fmt.Fprintf(a.stdout, "     %s\n", f.Suggest)
			}
		}
	}
	if denied != nil {
		return &status{1, nil}
	}
	return nil
}

func decisionJSON(d policy.Decision) map[string]any {
	type exec struct {
		Name string `json:"name"`
		Via  string `json:"via,omitempty"`
	}
	type finding struct {
		Rule    string `json:"rule"`
		Command string `json:"command,omitempty"`
		Via     string `json:"via,omitempty"`
		At      string `json:"at,omitempty"`
		Message string `json:"message"`
		Suggest string `json:"suggest,omitempty"`
	}
	execs, findings := []exec{}, []finding{}
	for _, x := range d.Execs {
		execs = append(execs, exec{x.Name, x.Via})
	}
	for _, f := range d.Findings {
		findings = append(findings, finding(f))
	}
	return map[string]any{
		"decision": strings.ToLower(d.Verdict.String()), "execs": execs, "findings": findings, "more": d.More,
		"retry": d.Retry, "hint": d.Hint, "policy": d.Fingerprint, "text": d.Text,
	}
}

func (a *app) policyTestVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "test FILE.jsonl",
		Short: "Run a file of cases through the policy; the last line is N/M, exit status 1 if any differs",
		Long: `test reads one case a line: {"command": "...", "shell": "bash", "mode": "blacklist", "expect": "deny"}
and prints a table of those that are decided otherwise. The default lists are asked, in each case's mode; with --config
the policy of its first shell tool, whatever mode a case names.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := os.Open(args[0])
			if err != nil {
				return &status{exitConfig, err}
			}
			defer f.Close()
			return a.policyTest(f)
		},
	}
}

func (a *app) policyExplainVerb() *cobra.Command {
	return &cobra.Command{
		Use: "explain RULE", Short: "Explain a rule that a refusal names, like R4", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			text, ok := policy.Explain(strings.ToUpper(args[0]))
			if !ok {
				return &status{exitConfig, job.Errorf(job.NotFound, "no rule %q", args[0]).WithHint("R1 to R15; rules of your own are explained by their reason in config.star")}
			}
			_, err := fmt.Fprintln(a.stdout, text)
			return err
		},
	}
}
