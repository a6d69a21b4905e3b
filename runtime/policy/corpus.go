package policy

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Case is one line of a corpus file: a text and what must be decided.
type Case struct {
	ID      string            `json:"id"`
	Shell   string            `json:"shell"`
	Mode    string            `json:"mode"` // blacklist or whitelist: which of the two lists
	Command string            `json:"command"`
	Env     map[string]string `json:"env,omitempty"`
	Expect  string            `json:"expect"`
	Why     string            `json:"why"`
}

// Difference is a case that came out otherwise.
type Difference struct {
	Case Case
	Got  Decision
}

// Report is what came of a corpus.
type Report struct {
	Passed, Total int
	Differences   []Difference
}

// String is a table of what differs; its last line is "passed/total".
func (r Report) String() string {
	var b strings.Builder
	for _, d := range r.Differences {
		text := d.Case.Command
		if len(text) > 80 {
			text = text[:80] + "..."
		}
		fmt.Fprintf(&b, "%-24s want %-5s got %-40s %q\t%s\n", d.Case.ID, d.Case.Expect, d.Got.summary(), text, d.Case.Why)
	}
	fmt.Fprintf(&b, "%d/%d\n", r.Passed, r.Total)
	return b.String()
}

// RunCorpus judges each case of a JSON Lines file. policyFor is asked for the policy of a mode. An error means that the
// file is no corpus.
func RunCorpus(policyFor func(mode string) *Policy, r io.Reader) (Report, error) {
	var report Report
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 4<<20)
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var c Case
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return report, fmt.Errorf("line %d: %w", n, err)
		}
		if c.Command == "" || c.Expect == "" {
			return report, fmt.Errorf("line %d: a case needs command and expect", n)
		}
		if c.Shell == "" {
			c.Shell = "bash"
		}
		d := policyFor(c.Mode).Check(context.Background(), Input{Shell: c.Shell, Text: c.Command, Env: c.Env})
		report.Total++
		if d.Verdict.String() == c.Expect {
			report.Passed++
		} else {
			report.Differences = append(report.Differences, Difference{c, d})
		}
	}
	return report, lines.Err()
}
