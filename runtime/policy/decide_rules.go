package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

func (r *Rule) message() string {
	if r.Reason != "" {
		return r.Reason
	}
	return fmt.Sprintf("the rule %q says %s", r.Name, r.Decision)
}

// matches says whether the rule is about x. Where it cannot be told, an allow rule does not match and any other does.
func (r *Rule) matches(j *judge, x *Exec) bool {
	if x.Kind >= Suspect || !slices.ContainsFunc(r.Program, func(p string) bool { return fold(p) == x.Name }) {
		return false
	}
	strict := r.Decision != "allow"
	if strict {
		if !prefixed(x.Args, r.Prefix) {
			return false
		}
	} else if !startsWith(x.Args, r.Prefix) {
		return false
	}
	if len(r.Any) > 0 && !hasAny(x.Args, r.Any, strict) || hasAny(x.Args, r.None, false) {
		return false
	}
	if r.When == nil {
		return true
	}
	return r.ask(j, x)
}

// ask calls the predicate; one that fails or does not end counts as fired, unless it would allow something.
func (r *Rule) ask(j *judge, x *Exec) bool {
	args := make([]any, len(x.Args))
	for i, a := range x.Args {
		args[i] = a
	}
	ctx := j.ctx
	if ctx == nil {
		ctx = context.Background()
	}
	v, err := r.When(ctx, map[string]any{"name": x.Name, "args": args, "via": x.Via, "cwd": j.in.Dir, "backend": j.in.Backend})
	if err != nil {
		return r.Decision != "allow"
	}
	return truth(v)
}

func truth(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case int64:
		return v != 0
	case []any:
		return len(v) > 0
	}
	return true
}

// startsWith: the words stand first and nothing stands between them.
func startsWith(args []string, prefix Prefix) bool {
	if len(args) < len(prefix) {
		return false
	}
	for i, words := range prefix {
		if !slices.Contains(words, args[i]) {
			return false
		}
	}
	return true
}

// prefixed: the words stand in this order among the first ones; options, and a word that may be an option's value, may
// stand between. A pattern that starts with the first argument would miss `git -C x push`.
func prefixed(args []string, prefix Prefix) bool {
	if len(prefix) == 0 {
		return true
	}
	at := uint64(1) // bit i: the next word of the prefix may be args[i]
	for n, words := range prefix {
		next := uint64(0)
		for i, a := range args {
			switch {
			case at>>i&1 == 0:
				continue
			case i >= 62:
				return true // more options than can be followed
			}
			unknown := a == "" // only known at run time: the word itself, an option, or nothing
			if unknown || slices.Contains(words, a) {
				if n == len(prefix)-1 {
					return true
				}
				next |= 1 << (i + 1)
			}
			if unknown || strings.HasPrefix(a, "-") {
				at |= 1 << (i + 1)
				if !unknown && !strings.Contains(a, "=") {
					at |= 1 << (i + 2)
				}
			}
		}
		at = next
	}
	return false
}

// hasAny says whether an argument matches a pattern; with clusters, -f is also seen in -uf.
func hasAny(args, patterns []string, clusters bool) bool {
	for _, a := range args {
		for _, p := range patterns {
			if glob(p, a) {
				return true
			}
			if clusters && len(p) == 2 && p[0] == '-' && p[1] != '-' && len(a) > 2 && a[0] == '-' && a[1] != '-' && strings.IndexByte(a, p[1]) > 0 {
				return true
			}
		}
	}
	return false
}

// tryExamples runs the examples of one item through the whole policy.
func (p *Policy) tryExamples(it Item) []error {
	var name, decision string
	var match, notMatch []string
	switch r := it.(type) {
	case *Rule:
		name, decision, match, notMatch = r.Name, r.Decision, r.Match, r.NotMatch
	case *WriteRule:
		name, decision, match, notMatch = r.Name, r.Decision, r.Match, r.NotMatch
	case *EnvRule:
		name, decision, match, notMatch = r.Name, r.Decision, r.Match, r.NotMatch
	}
	var errs []error
	try := func(text string) Decision { return p.check(context.Background(), Input{Shell: "bash", Text: text}) }
	for _, text := range match {
		d := try(text)
		switch fired, want := slices.Contains(d.fired, name), verdictOf(decision); {
		case !fired:
			errs = append(errs, &RuleError{it, text, "does not match: the policy says " + d.summary()})
		case want == Allow && d.Verdict != Allow, d.Verdict < want:
			errs = append(errs, &RuleError{it, text, "matches, but the policy says " + d.summary()})
		}
	}
	for _, text := range notMatch {
		if d := try(text); slices.Contains(d.fired, name) {
			errs = append(errs, &RuleError{it, text, "matches although it stands in not_match: the policy says " + d.summary()})
		}
	}
	return errs
}

// summary is a decision in a few words.
func (d Decision) summary() string {
	if len(d.Findings) == 0 {
		return d.Verdict.String()
	}
	return fmt.Sprintf("%s (%s: %s)", d.Verdict, d.Findings[0].Rule, d.Findings[0].Message)
}
