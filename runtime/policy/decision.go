package policy

import (
	"errors"
	"fmt"

	"cmd-exec-mcp/runtime/job"
)

// Verdict is the answer; the stricter one is the greater.
type Verdict uint8

const (
	Allow Verdict = iota
	Ask           // a person decides; without one it is a denial
	Deny
)

func (v Verdict) String() string { return [...]string{"allow", "ask", "deny"}[min(v, Deny)] }

// Decision is what Check found. It is a value and stays as it is.
type Decision struct {
	Verdict     Verdict
	Text        string        // the text in the form that was checked: exactly this must run
	Findings    []job.Finding // why not, at most maxFindings, in the order of the text
	More        int           // findings beyond those
	Retry       string        // never, rewrite or ask; "" when allowed
	Hint        string
	Execs       []Exec // what would be started
	Fingerprint string

	fired []string // names of the rules that matched, for their examples
}

// maxFindings is how many reasons a refusal carries; the rest is a count.
const maxFindings = 5

// Err is nil when the text may run at once. Otherwise it is of kind Denied, an Ask included: a caller that can put the
// question to a person looks at Verdict first.
func (d Decision) Err() *job.Error {
	if d.Verdict == Allow {
		return nil
	}
	message := "refused by policy"
	if len(d.Findings) > 0 {
		message = d.Findings[0].Message
	}
	return &job.Error{
		Op: "policy", Kind: job.Denied, Hint: d.Hint, Findings: d.Findings, More: d.More,
		Retry: d.Retry, Policy: d.Fingerprint, Err: errors.New(message),
	}
}

// RuleError says which rule of the config cannot be, and why. Item is the one that was given, so that a config can
// point at its line.
type RuleError struct {
	Item    Item
	Example string // the match or not_match text that did not hold, "" when the rule itself is wrong
	Message string
}

func (e *RuleError) Error() string {
	if e.Example == "" {
		return fmt.Sprintf("%s: %s", nameOf(e.Item), e.Message)
	}
	return fmt.Sprintf("%s: example %q: %s", nameOf(e.Item), e.Example, e.Message)
}

func nameOf(it Item) string {
	switch r := it.(type) {
	case *Rule:
		return fmt.Sprintf("rule %q", r.Name)
	case *WriteRule:
		return fmt.Sprintf("write_rule %q", r.Name)
	case *EnvRule:
		return fmt.Sprintf("env_rule %q", r.Name)
	case *Wrapper:
		return fmt.Sprintf("wrapper %q", r.Name)
	}
	return "rule"
}
