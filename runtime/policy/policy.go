package policy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"slices"
)

// Policy is a compiled Config. It is immutable and its methods may be called concurrently.
type Policy struct {
	restricted bool
	whitelist  bool
	denyStdin  bool
	unresolved Verdict

	lists       map[string]*names // by dialect: posix, cmd, pwsh
	trusted     map[string]bool
	implicit    map[string]bool
	rules       []*Rule
	writeRules  []*WriteRule
	envRules    []*EnvRule
	wrappers    map[string]*program
	fingerprint string
	warnings    []string
	blackNames  []string // as they were written
	whiteNames  []string

	slots chan struct{} // one check per core: the worst text costs 50 ms and 30 MB
}

// names are the two lists in the form in which one dialect compares them.
type names struct {
	black map[string]bool // folded
	white map[string]bool // exact names and paths; folded for cmd and pwsh
}

// Input is what is to be judged. Text is shell text; with Argv no shell is involved and it is one literal command.
type Input struct {
	Tool, Backend, Shell, Dir string
	Text                      string
	Argv                      []string
	Env                       map[string]string // the env parameter of the call
	Writes, Deletes           []string          // files the server itself writes or deletes for the call
	Stdin                     bool              // the command's input is not empty: it is given, or can be typed
	Home                      string            // what ~ stands for, "" if that is not known
}

// Compile checks the rules and their examples. Its error joins a *RuleError for each that does not hold.
func (c *Config) Compile() (*Policy, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	p := &Policy{
		restricted: c.Mode != "full", whitelist: c.List == "whitelist", denyStdin: c.ShellStdin == "deny", unresolved: Deny,
		lists: map[string]*names{}, trusted: set(c.TrustedDirs), implicit: set(c.ImplicitBuiltins),
		wrappers: map[string]*program{}, slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0))),
	}
	if c.Unresolved == "ask" {
		p.unresolved = Ask
	}
	for _, dialect := range []string{"posix", "cmd", "pwsh"} {
		p.lists[dialect] = compileNames(c, dialect)
	}
	p.fingerprint = c.fingerprint()
	p.warnings = c.warnings()
	p.blackNames, p.whiteNames = slices.Clone(c.Blacklist), slices.Clone(c.Whitelist)
	return p, p.addRules(c.Rules)
}

func set(list []string) map[string]bool {
	m := make(map[string]bool, len(list))
	for _, s := range list {
		m[s] = true
	}
	return m
}

func compileNames(c *Config, dialect string) *names {
	n := &names{black: map[string]bool{}, white: map[string]bool{}}
	for _, name := range c.Blacklist {
		n.black[canonical(fold(name), dialect)] = true
	}
	for _, name := range c.Whitelist {
		if dialect != "posix" {
			name = canonical(fold(name), dialect)
		}
		n.white[name] = true
	}
	return n
}

// addRules takes the rules over and tries their examples on the finished policy.
func (p *Policy) addRules(rules Rules) error {
	var errs []error
	for _, it := range rules {
		if err := it.Validate(); err != nil {
			errs = append(errs, &RuleError{Item: it, Message: err.Error()})
			continue
		}
		switch r := it.(type) {
		case *Rule:
			p.rules = append(p.rules, r)
		case *WriteRule:
			p.writeRules = append(p.writeRules, r)
		case *EnvRule:
			p.envRules = append(p.envRules, r)
		case *Wrapper:
			p.wrappers[fold(r.Name)] = r.program()
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	for _, it := range rules {
		errs = append(errs, p.tryExamples(it)...)
	}
	return errors.Join(errs...)
}

// fingerprint names this version of the policy in logs and refusals without saying what it holds.
func (c *Config) fingerprint() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q %q %q %q %q\n", c.Mode, c.List, c.Whitelist, c.Blacklist, c.Unresolved, c.ShellStdin, c.TrustedDirs, c.ImplicitBuiltins)
	for _, it := range c.Rules {
		switch r := it.(type) {
		case *Rule: // a function cannot be compared; that there is one must show all the same
			plain := *r
			plain.When = nil
			fmt.Fprintf(h, "%#v %t\n", plain, r.When != nil)
		case *WriteRule:
			fmt.Fprintf(h, "%#v\n", *r)
		case *EnvRule:
			fmt.Fprintf(h, "%#v\n", *r)
		case *Wrapper:
			fmt.Fprintf(h, "%#v\n", *r)
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// warnings says what lists mean that hold a program which runs anything.
func (c *Config) warnings() []string {
	if c.Mode == "full" || c.List != "whitelist" {
		return nil
	}
	var out []string
	for _, name := range c.Whitelist {
		switch n := fold(name); {
		case interpreters[n]:
			out = append(out, fmt.Sprintf("the whitelist holds %q, an interpreter: whoever may run it may run everything", name))
		case programs()[n] != nil && programs()[n].wraps():
			out = append(out, fmt.Sprintf("the whitelist holds %q, which starts other programs by itself: hooks, helpers or its arguments", name))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Restricted is false when the mode is full and nothing is checked.
func (p *Policy) Restricted() bool { return p.restricted }

// Fingerprint changes with every change of the policy: "sha256:..." over what config.star says.
func (p *Policy) Fingerprint() string { return p.fingerprint }

// Warnings are sentences for the log at start.
func (p *Policy) Warnings() []string { return slices.Clone(p.warnings) }

// Check judges one request. A defect of the checker itself is a denial. It waits while as many checks run as there are
// cores; ctx ends the waiting, and then the answer is a denial too.
func (p *Policy) Check(ctx context.Context, in Input) (d Decision) {
	if !p.restricted {
		return Decision{Verdict: Allow, Text: in.Text, Fingerprint: p.fingerprint}
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return p.refusal(in.Text, Issue{Rule: "R14", Message: "the check was cancelled before it began"})
	}
	return p.check(ctx, in)
}

func (p *Policy) check(ctx context.Context, in Input) (d Decision) {
	defer func() {
		if r := recover(); r != nil {
			d = p.refusal(in.Text, Issue{Rule: "R14", Message: fmt.Sprintf("the checker failed on this text: %v", r), Suggest: "write it in a simpler way"})
		}
	}()
	return p.decide(ctx, in, p.analyse(in))
}

// refusal is a decision for one reason that needed no lists.
func (p *Policy) refusal(text string, i Issue) Decision {
	j := judge{p: p, a: &Analysis{Text: text}}
	j.issue(i)
	return j.decision()
}
