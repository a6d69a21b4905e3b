package policy

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"cmd-exec-mcp/runtime/job"
)

// judge holds one analysis against the lists and rules. It knows names, not shells.
type judge struct {
	p        *Policy
	ctx      context.Context
	in       Input
	a        *Analysis
	verdict  Verdict
	findings []finding
	fired    []string
}

type finding struct {
	job.Finding
	at      int
	verdict Verdict
	retry   string
}

// maxCollected bounds what is kept of a text that breaks a rule in every word.
const maxCollected = 100

func (p *Policy) decide(ctx context.Context, in Input, a *Analysis) Decision {
	j := judge{p: p, ctx: ctx, in: in, a: a}
	for _, i := range a.Issues {
		j.issue(i)
	}
	if p.restricted && p.denyStdin && in.Stdin && len(a.Readers) > 0 {
		j.add(Deny, Issue{Rule: "R9", Message: "a shell that reads its input is not allowed here", Suggest: "send the commands as text of their own"})
	}
	for i := range a.Execs {
		j.exec(&a.Execs[i])
	}
	for _, s := range a.Sets {
		j.set(s)
	}
	for _, w := range a.Writes {
		j.write(w)
	}
	return j.decision()
}

// issue takes over what the analysis itself refuses. Only "cannot tell" may become a question.
func (j *judge) issue(i Issue) {
	verdict := Deny
	switch i.Rule {
	case "R4", "R7", "R8", "R9", "R10", "R11":
		verdict = j.p.unresolved
	}
	j.add(verdict, i)
}

func (j *judge) add(verdict Verdict, i Issue) {
	j.verdict = max(j.verdict, verdict)
	if len(j.findings) >= maxCollected {
		return
	}
	f := finding{at: i.At, verdict: verdict, retry: retryOf(i.Rule, verdict)}
	f.Finding = job.Finding{Rule: i.Rule, Command: i.Command, Via: i.Via, Message: i.Message, Suggest: i.Suggest}
	for _, old := range j.findings {
		if old.at == f.at && old.Rule == f.Rule && old.Message == f.Message {
			return
		}
	}
	if f.Suggest == "" {
		f.Suggest = suggestions[i.Rule]
	}
	j.findings = append(j.findings, f)
}

func retryOf(rule string, verdict Verdict) string {
	switch {
	case verdict == Ask:
		return "ask"
	case rule == "R5" || rule == "R6" || rule == "R12":
		return "never"
	case len(rule) > 1 && rule[0] == 'R' && rule[1] >= '0' && rule[1] <= '9':
		return "rewrite"
	}
	return "never"
}

func (j *judge) exec(x *Exec) {
	dialect := dialectOf(x.Shell)
	list := j.p.lists[dialect]
	name := canonical(x.Name, dialect)
	if list.black[name] {
		j.add(Deny, Issue{Rule: "R5", Command: x.Name, Via: x.Via, At: x.At, Message: strconv.Quote(x.Name) + " is on the blacklist"})
		return
	}
	if x.Kind == Suspect && !j.p.whitelist || x.Kind == Script {
		return
	}
	if !ascii(x.Raw) && !ascii(base(x.Raw)) {
		j.add(Deny, Issue{Rule: "R4", Command: x.Raw, Via: x.Via, At: x.At, Message: strconv.Quote(x.Raw) + " is a command name outside ASCII that no list knows"})
		return
	}
	lifted := false
	for _, r := range j.p.rules {
		if r.matches(j, x) {
			j.fired = append(j.fired, r.Name)
			if r.Decision == "allow" {
				lifted = true
				continue
			}
			j.add(verdictOf(r.Decision), Issue{Rule: r.Name, Command: x.Name, Via: x.Via, At: x.At, Message: r.message(), Suggest: r.Suggest})
		}
	}
	if j.p.whitelist && !lifted && x.Kind != Function && !j.listed(x, list, name, dialect) {
		j.add(Deny, Issue{Rule: "R6", Command: x.Name, Via: x.Via, At: x.At, Message: strconv.Quote(x.Raw) + " is not on the whitelist"})
	}
}

// listed says whether the whitelist names the command: exactly, or by a path that cannot be another file.
func (j *judge) listed(x *Exec, list *names, name, dialect string) bool {
	if dialect != "posix" {
		return list.white[name] && !strings.ContainsAny(x.Raw, `/\`) || list.white[x.Raw]
	}
	if list.white[x.Raw] && !x.hidden {
		return true
	}
	if !strings.Contains(x.Raw, "/") {
		return j.p.implicit[x.Raw] && !x.hidden
	}
	dir, file := path.Split(x.Raw)
	return !x.hidden && path.IsAbs(x.Raw) && path.Clean(x.Raw) == x.Raw && j.p.trusted[strings.TrimSuffix(dir, "/")] && list.white[file]
}

func verdictOf(decision string) Verdict {
	switch decision {
	case "allow":
		return Allow
	case "ask":
		return Ask
	}
	return Deny
}

func dialectOf(shell string) string {
	if shell == "cmd" || shell == "pwsh" {
		return shell
	}
	return "posix"
}

// decision sorts what was found and words it.
func (j *judge) decision() Decision {
	d := Decision{Verdict: j.verdict, Text: j.a.Text, Execs: j.a.Execs, Fingerprint: j.p.fingerprint, fired: j.fired}
	if len(j.findings) == 0 {
		return d
	}
	// What denies comes before what asks, and then the order of the text.
	slices.SortStableFunc(j.findings, func(a, b finding) int {
		return cmp.Or(cmp.Compare(b.verdict, a.verdict), cmp.Compare(a.at, b.at))
	})
	for i, f := range j.findings {
		d.Retry = stricter(d.Retry, f.retry)
		if i < maxFindings {
			f.At = position(j.a.Text, f.at)
			d.Findings = append(d.Findings, f.Finding)
		}
	}
	d.More = len(j.findings) - len(d.Findings)
	if d.Verdict == Ask {
		d.Retry = "ask"
	}
	d.Hint = d.Findings[0].Suggest
	return d
}

func stricter(a, b string) string {
	order := []string{"", "ask", "rewrite", "never"}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

// position is line:column, counted in bytes from 1. The parser's own columns end at 16,383.
func position(text string, at int) string {
	if at < 0 || at > len(text) {
		return ""
	}
	before := text[:at]
	return strconv.Itoa(1+strings.Count(before, "\n")) + ":" + strconv.Itoa(at-strings.LastIndexByte(before, '\n'))
}

// suggestions are the ways out, by rule; a person or an agent reads them.
var suggestions = map[string]string{
	"R1":  "send plain UTF-8 text without control characters",
	"R2":  "split the text, drop the comment, use plain quoting",
	"R4":  "write the command name literally, or quote the variable",
	"R5":  "show the command to the user for manual execution",
	"R6":  "use a listed command, or show this one to the user",
	"R7":  "quote the word, use only documented options, or call the inner command directly",
	"R8":  "save the script to a file, show it, run `bash file`",
	"R9":  "save the script to a file, show it, run `bash file`",
	"R10": "drop the variable",
	"R11": "write to a relative path below the working directory",
	"R12": "call the command by its own name, or write a function",
	"R13": "keep `$(`, `${`, backquotes and lone brackets out of values in a text that does arithmetic",
	"R14": "send fewer commands",
}
