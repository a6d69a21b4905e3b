// Package hooktest runs hooks against the real host: cases in JSON lines, every way of cutting a stream, with and without
// the fuel counter. Guests in every language must pass the suites in it; hook authors write their own cases.
package hooktest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"cmd-exec-mcp/runtime/job"
)

// Case is one line of a case file: a command for pre_exec, or a text for filter, and what must become of it.
type Case struct {
	Name   string         `json:"name"`
	Config map[string]any `json:"config,omitempty"`
	Pre    *Pre           `json:"pre,omitempty"`
	Filter *string        `json:"filter,omitempty"`
	Stream string         `json:"stream,omitempty"` // stdout (the default), stderr, pty
	Cuts   string         `json:"cuts,omitempty"`   // every, none; left out: every for short texts, fewer for long ones
	Want   Want           `json:"want"`
}

// Pre is the command that a hook sees.
type Pre struct {
	Command string            `json:"command,omitempty"`
	Argv    []string          `json:"argv,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Timeout int64             `json:"timeout_ms,omitempty"`
	Target  string            `json:"target,omitempty"`
	Tool    string            `json:"tool,omitempty"`
	Backend string            `json:"backend,omitempty"`
	Shell   string            `json:"shell,omitempty"`
}

// Want is what a case expects: of a filter the whole output as a string, of pre_exec the changes. What is not named must not
// change. Deny, Ask and Error hold a part of the message; Error is the class of a failure, like "trap".
type Want struct {
	Output  *string            `json:"-"`
	Command *string            `json:"command,omitempty"`
	Argv    []string           `json:"argv,omitempty"`
	Cwd     *string            `json:"cwd,omitempty"`
	Env     map[string]*string `json:"env,omitempty"` // null: taken away
	Timeout *int64             `json:"timeout_ms,omitempty"`
	Deny    *string            `json:"deny,omitempty"`
	Ask     *string            `json:"ask,omitempty"`
	Error   *string            `json:"error,omitempty"`
	Notes   []string           `json:"notes,omitempty"`
}

type want Want // without the methods, for their own use

// UnmarshalJSON takes a string or an object.
func (w *Want) UnmarshalJSON(b []byte) error {
	*w = Want{}
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &w.Output)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode((*want)(w))
}

// MarshalJSON is its inverse.
func (w Want) MarshalJSON() ([]byte, error) {
	if w.Output != nil {
		return plain(*w.Output)
	}
	return plain(want(w))
}

// plain encodes without the escapes that only HTML needs: a case file is read by people.
func plain(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// ReadCases reads JSON lines. Empty lines are skipped, unknown names are mistakes. Kind: Invalid.
func ReadCases(r io.Reader) ([]Case, error) {
	var cases []Case
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		c, err := readCase(line)
		if err != nil {
			return nil, job.Errorf(job.Invalid, "line %d: %w", n, err).
				WithHint(`a line is like {"name": "a key", "filter": "x AKIA... y", "want": "x [aws-key] y"}`)
		}
		cases = append(cases, c)
	}
	return cases, lines.Err()
}

func readCase(line []byte) (Case, error) {
	var c Case
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return c, err
	}
	switch {
	case (c.Pre == nil) == (c.Filter == nil):
		return c, fmt.Errorf("a case has pre or filter")
	case c.streamOf() == 0:
		return c, fmt.Errorf("stream is %q, not stdout, stderr or pty", c.Stream)
	case c.Cuts != "" && c.Cuts != "every" && c.Cuts != "none":
		return c, fmt.Errorf("cuts is %q, not every or none", c.Cuts)
	}
	return c, nil
}

// WriteCases writes cases as ReadCases reads them.
func WriteCases(w io.Writer, cases []Case) error {
	for _, c := range cases {
		b, err := plain(c)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s\n", b); err != nil {
			return err
		}
	}
	return nil
}

func (c Case) streamOf() job.Stream {
	return map[string]job.Stream{"": job.Stdout, "stdout": job.Stdout, "stderr": job.Stderr, "pty": job.Merged}[c.Stream]
}

// request is what the hook gets to see. A filter's job runs some command too.
func (c Case) request() job.Request {
	p := c.Pre
	if p == nil {
		p = &Pre{Command: "true"}
	}
	or := func(value, otherwise string) string {
		if value == "" {
			return otherwise
		}
		return value
	}
	timeout := time.Duration(p.Timeout) * time.Millisecond
	return job.Request{
		Tool: or(p.Tool, "execute_local"), Backend: or(p.Backend, "local"), Target: p.Target, Timeout: timeout,
		Command: job.Command{Script: p.Command, Argv: p.Argv, Dir: or(p.Cwd, "/"), Env: p.Env, Shell: or(p.Shell, "bash"), Timeout: timeout},
	}
}
