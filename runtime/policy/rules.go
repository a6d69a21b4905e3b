package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Rule judges a command by its program and arguments.
type Rule struct {
	Name     string    `star:"name,required" doc:"what refusals and the log call it"`
	Program  []string  `star:"program,required" doc:"names of the programs it is about"`
	Prefix   Prefix    `star:"prefix" doc:"first words after global options; a list in the list stands for alternatives"`
	Any      []string  `star:"any" doc:"fires only if one of these arguments is there; * matches anything"`
	None     []string  `star:"none" doc:"does not fire if one of these arguments is there"`
	Decision string    `star:"decision,required" doc:"allow, ask or deny; allow lifts the whitelist for this shape of command and nothing else"`
	Reason   string    `star:"reason" doc:"one sentence for whoever is refused"`
	Suggest  string    `star:"suggest" doc:"what to do instead"`
	Match    []string  `star:"match" doc:"shell texts on which the rule must fire; checked when the config loads"`
	NotMatch []string  `star:"not_match" doc:"shell texts on which it must not fire"`
	When     Predicate `star:"when" doc:"function of a dict with name, args, via, cwd, backend; fires only if it returns true"`
}

// WriteRule judges where output redirections, output_file and file tools write, in both modes.
type WriteRule struct {
	Name     string   `star:"name,required" doc:"what refusals and the log call it"`
	Under    []string `star:"under,required" doc:"directories, absolute or starting with ~"`
	Decision string   `star:"decision,required" doc:"ask or deny"`
	Reason   string   `star:"reason" doc:"one sentence for whoever is refused"`
	Suggest  string   `star:"suggest" doc:"what to do instead"`
	Match    []string `star:"match" doc:"shell texts on which the rule must fire; checked when the config loads"`
	NotMatch []string `star:"not_match" doc:"shell texts on which it must not fire"`
}

// EnvRule judges which variables a text or the env parameter sets, in both modes.
type EnvRule struct {
	Name     string   `star:"name" doc:"what refusals and the log call it"`
	Names    []string `star:"names,required" doc:"variable names; * matches anything"`
	Decision string   `star:"decision,required" doc:"ask or deny"`
	Reason   string   `star:"reason" doc:"one sentence for whoever is refused"`
	Suggest  string   `star:"suggest" doc:"what to do instead"`
	Match    []string `star:"match" doc:"shell texts on which the rule must fire; checked when the config loads"`
	NotMatch []string `star:"not_match" doc:"shell texts on which it must not fire"`
}

// Wrapper declares a program that starts another one, so that the inner command is judged too.
type Wrapper struct {
	Name             string   `star:"name,required" doc:"the program"`
	Options          []string `star:"options" doc:"its options without a value; one that is not declared is refused"`
	OptionsWithValue []string `star:"options_with_value" doc:"its options that take the next word"`
	Positionals      int      `star:"positionals" doc:"operands before the inner command"`
}

// NewRule returns a Rule with its defaults; so do the other constructors.
func NewRule() *Rule           { return &Rule{} }
func NewWriteRule() *WriteRule { return &WriteRule{} }
func NewEnvRule() *EnvRule     { return &EnvRule{Name: "env-rule"} }
func NewWrapper() *Wrapper     { return &Wrapper{} }

func (*Rule) item()      {}
func (*WriteRule) item() {}
func (*EnvRule) item()   {}
func (*Wrapper) item()   {}

// Prefix is a list of words, each with its alternatives.
type Prefix [][]string

// FromConfig takes [["pr"], ["view", "list"]]; a plain string stands for a list of one.
func (p *Prefix) FromConfig(v any) error {
	list, ok := v.([]any)
	if !ok {
		return fmt.Errorf("got %T: write a list of words, as in [[\"push\"]]", v)
	}
	*p = nil
	for _, e := range list {
		words, ok := e.([]any)
		if !ok {
			words = []any{e}
		}
		alternatives := make([]string, 0, len(words))
		for _, w := range words {
			s, ok := w.(string)
			if !ok {
				return fmt.Errorf("holds a %T: write words as strings", w)
			}
			alternatives = append(alternatives, s)
		}
		if len(alternatives) == 0 {
			return errors.New("holds an empty list: write at least one word")
		}
		*p = append(*p, alternatives)
	}
	return nil
}

// Validate says what of a rule cannot be meant.
func (r *Rule) Validate() error {
	err := decisionOf(r.Decision, "allow", "ask", "deny")
	if r.Decision == "allow" && len(r.Match) == 0 {
		err = errors.Join(err, errors.New("an allow rule needs match= examples: what it lets through must be seen"))
	}
	if len(r.Program) == 0 {
		err = errors.Join(err, errors.New("program is empty: write the names it is about"))
	}
	return err
}

func (r *WriteRule) Validate() error {
	err := decisionOf(r.Decision, "ask", "deny")
	for _, dir := range r.Under {
		if !strings.HasPrefix(dir, "/") && !strings.HasPrefix(dir, "~") {
			err = errors.Join(err, fmt.Errorf("under holds %q: write an absolute path or one that starts with ~", dir))
		}
	}
	return err
}

func (r *EnvRule) Validate() error { return decisionOf(r.Decision, "ask", "deny") }

func (w *Wrapper) Validate() error {
	if w.Positionals < 0 {
		return errors.New("positionals is negative: write how many operands stand before the inner command")
	}
	for _, o := range slices.Concat(w.Options, w.OptionsWithValue) {
		if len(o) < 2 || !strings.HasPrefix(o, "-") {
			return fmt.Errorf("option %q: write it with its dash, as in \"-u\"", o)
		}
	}
	return nil
}

func decisionOf(got string, allowed ...string) error {
	if !slices.Contains(allowed, got) {
		return fmt.Errorf("decision is %q: write one of %q", got, allowed)
	}
	return nil
}
