package stream

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"cmd-exec-mcp/runtime/job"
)

// minSecret is the length from which a value is taken for a secret. Shorter ones, like "1" or "true", would blacken
// half of every output.
const minSecret = 6

// Redact is what config.star's redact(...) says.
type Redact struct {
	Patterns []string `star:"patterns" doc:"RE2 patterns whose matches are replaced, with a group only the first group; left out: the shapes of well-known tokens, Authorization headers, passwords in URLs and private keys"`
	Env      []string `star:"env" doc:"name patterns (*, ?, [a-z], in any case) of variables, the server's and the call's, whose values of 6 or more characters are replaced"`
}

// NewRedact returns the defaults.
func NewRedact() *Redact {
	return &Redact{Env: []string{"*_TOKEN", "*_SECRET", "*_KEY", "*PASSWORD*"}}
}

// Validate reports the first pattern that cannot be used, as Invalid.
func (r *Redact) Validate() error {
	for _, p := range r.Patterns {
		re, err := regexp.Compile(p)
		if err != nil {
			return job.Errorf(job.Invalid, "patterns: %w", err).WithHint("patterns are RE2: no look-around, no back-references")
		}
		if re.MatchString("") {
			return job.Errorf(job.Invalid, "patterns: %q matches the empty text", p).WithHint("write + instead of *, so that it matches something")
		}
	}
	for _, g := range r.Env {
		if _, err := path.Match(g, ""); err != nil {
			return job.Errorf(job.Invalid, "env: %q is no name pattern", g).WithHint(`use *, ? and [a-z], as in "*_TOKEN"`)
		}
	}
	return nil
}

// Rules are compiled redaction rules. They do not change and may be shared by all jobs.
type Rules struct {
	matcher *matcher // nil: no patterns
	env     []string

	mu     sync.Mutex
	latest []string // most jobs have the same secrets, those of the server's environment
	found  *matcher // matcher with latest
}

// Compile merges what the elements ask for. Without any the Rules replace explicit secrets only.
func Compile(rs []*Redact) (*Rules, error) {
	rules := &Rules{}
	var all []shape
	builtin := false
	for _, r := range rs {
		if err := r.Validate(); err != nil {
			return nil, err
		}
		rules.env = append(rules.env, r.Env...)
		if r.Patterns == nil && !builtin {
			builtin = true
			all = append(all, shapes()...)
		}
		for _, p := range r.Patterns {
			all = append(all, shape{body: p})
		}
	}
	if len(all) == 0 {
		return rules, nil
	}
	m, err := newMatcher(all)
	if err != nil {
		return nil, job.Errorf(job.Invalid, "patterns: %w", err)
	}
	rules.matcher = m
	return rules, nil
}

// EnvNames returns those of the names whose values are secret.
func (r *Rules) EnvNames(names []string) []string {
	var secret []string
	for _, name := range names {
		if slices.ContainsFunc(r.env, func(glob string) bool {
			ok, _ := path.Match(strings.ToUpper(glob), strings.ToUpper(name))
			return ok
		}) {
			secret = append(secret, name)
		}
	}
	return secret
}

// Empty reports that a Redactor with these secrets would change nothing.
func (r *Rules) Empty(secrets []string) bool {
	return r.with(secrets) == nil
}

// with returns the matcher for these secrets, nil if there is nothing to find.
func (r *Rules) with(secrets []string) *matcher {
	if len(secrets) == 0 {
		return r.matcher
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.latest, secrets) {
		r.latest = slices.Clone(secrets)
		r.found = r.matcher.with(forms(secrets))
	}
	return r.found
}

// String redacts one whole text.
func (r *Rules) String(s string, secrets []string) string {
	d := r.Redactor(secrets)
	out := string(d.Write([]byte(s)))
	return out + string(d.Flush())
}

// Redactor returns a filter for one stream of one job. The secrets are exact values; those shorter than 6 characters
// are ignored. They are also found as base64, as part of a URL and as a JSON string.
func (r *Rules) Redactor(secrets []string) *Redactor {
	return &Redactor{m: r.with(secrets)}
}
