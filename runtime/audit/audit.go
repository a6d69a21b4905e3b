// Package audit is the write-ahead record of what was asked, decided and done: one JSON line before a command runs and
// one after. A line is written whole, its text redacted by the caller and escaped by JSON, so no command can forge one.
package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"sync"
	"time"

	"cmd-exec-mcp/runtime/job"
)

// maxText is how much of a command's text a line holds; its hash is of the whole.
const maxText = 4096

// Log writes records. It is safe for concurrent use.
type Log struct {
	mu       sync.Mutex
	out      io.WriteCloser
	required bool
}

// New returns a log that writes to out. With required, a command whose first line cannot be written must not run.
func New(out io.WriteCloser, required bool) *Log { return &Log{out: out, required: required} }

// Record is what is known before the run. Text and the findings are redacted by the caller.
type Record struct {
	ID       string    `json:"id"`
	Time     time.Time `json:"ts"`
	Session  string    `json:"session,omitempty"` // of typed input and of commands in a session's sandbox
	Tool     string    `json:"tool"`
	Backend  string    `json:"backend"`
	Target   string    `json:"target,omitempty"`
	Dir      string    `json:"cwd,omitempty"`
	Shell    string    `json:"shell,omitempty"`
	Policy   string    `json:"policy"`
	Hash     string    `json:"text_sha256"`
	Text     string    `json:"text"`
	Stdin    string    `json:"stdin,omitempty"` // where a shell runs it
	EnvNames []string  `json:"env,omitempty"`
	Execs    []Exec    `json:"execs,omitempty"`
	Decision string    `json:"decision"`
	Findings []Finding `json:"findings,omitempty"`
	Approver string    `json:"approver,omitempty"`
	CheckUS  int64     `json:"check_us"`
}

// Exec is a program that the text starts.
type Exec struct {
	Name string `json:"name"`
	Via  string `json:"via,omitempty"`
	Kind string `json:"kind,omitempty"`
}

// Finding is a reason of a refusal.
type Finding struct {
	Rule    string `json:"rule"`
	Command string `json:"command,omitempty"`
	Via     string `json:"via,omitempty"`
	At      string `json:"at,omitempty"`
}

// End is what is known after the run, under the ID of its Record.
type End struct {
	ID      string    `json:"id"`
	Time    time.Time `json:"ts"`
	Exit    *int      `json:"exit,omitempty"` // missing when the process was lost or never started
	Error   string    `json:"error,omitempty"`
	Seconds float64   `json:"duration"`
	Bytes   int64     `json:"bytes"`
	Timeout bool      `json:"timeout,omitempty"`
}

// Before writes the record of a command that is about to run, or was denied. hashed is the unredacted text. With
// required, an error (kind Unavailable) means: do not run it.
func (l *Log) Before(r Record, hashed string) error {
	if l == nil {
		return nil
	}
	sum := sha256.Sum256([]byte(hashed))
	r.Hash = hex.EncodeToString(sum[:])
	r.Text, r.Stdin = r.Text[:min(len(r.Text), maxText)], r.Stdin[:min(len(r.Stdin), maxText)]
	err := l.write(r)
	if err == nil || !l.required {
		return nil
	}
	return job.Errorf(job.Unavailable, "the audit log cannot be written: %w", err).
		WithHint("nothing was run: the owner set server(audit_required=True); tell them that the audit file's disk needs attention")
}

// After writes how the command ended.
func (l *Log) After(e End) {
	if l != nil {
		l.write(e)
	}
}

func (l *Log) write(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err = l.out.Write(append(line, '\n'))
	return err
}

// Close closes the file.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	return l.out.Close()
}
