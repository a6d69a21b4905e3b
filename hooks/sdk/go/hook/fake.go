//go:build !wasip1

package hook

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Register does nothing where no server calls: a test hands its Hook to a Fake.
func Register(Hook) {}

// Fake is a server for `go test`: plain Go, nothing to build or to start. It keeps the rules that a hook is likely to meet; how
// the built module does, `cmd-exec-mcp hook test` tells. The zero value is ready. A method may be called concurrently with
// others, as each has a state of its own.
type Fake struct {
	Config map[string]string
	Log    func(line string) // hears what the hook logs
}

// Command is a command before a hook, or what became of it.
type Command struct {
	Command string
	Argv    []string
	Dir     string
	Env     map[string]string
	Timeout time.Duration
	Target  string
	Tool    string
	Backend string
	Shell   string
}

// Outcome is what a hook's Pre did. Of Deny, Ask and Err at most one is set; after Deny and Err nothing is changed.
type Outcome struct {
	Command
	Deny, Ask string
	Err       string
	Notes     []string
}

// Pre runs h.Pre on a command.
func (f Fake) Pre(h Hook, c Command) Outcome {
	s := &fakeHost{fake: f, cmd: c, event: eventPre}
	s.cmd.Env = maps.Clone(c.Env)
	answer := h.pre(s)
	o := Outcome{Command: s.cmd, Notes: s.notes}
	switch answer {
	case answerDeny:
		o.Command, o.Deny = c, s.reason
	case answerAsk:
		o.Ask = s.reason
	case answerError:
		o.Command, o.Err, o.Notes = c, s.reason, nil
	}
	return o
}

// Filter runs h.Filter over a whole text, then over every way of cutting it into two or three and byte by byte, with a pause
// nowhere. The error names the first way that gives something else, or the hook's failure.
func (f Fake) Filter(h Hook, text string) (string, error) {
	whole, err := f.chunks(h, []string{text})
	if err != nil {
		return "", err
	}
	for i := range len(text) + 1 {
		for j := i; j <= len(text); j++ {
			if err := f.same(h, whole, []string{text[:i], text[i:j], text[j:]}); err != nil {
				return whole, err
			}
		}
	}
	bytes := []string{""}
	for i := range len(text) {
		bytes = append(bytes, text[i:i+1])
	}
	return whole, f.same(h, whole, bytes)
}

func (f Fake) same(h Hook, whole string, chunks []string) error {
	got, err := f.chunks(h, chunks)
	if err == nil && got != whole {
		err = fmt.Errorf("cut as %q it gives %q, whole %q", chunks, got, whole)
	}
	return err
}

// chunks runs one job's stdout.
func (f Fake) chunks(h Hook, chunks []string) (string, error) {
	s := &fakeHost{fake: f, event: eventFilter}
	kept := ""
	for i, chunk := range chunks {
		in := kept + chunk
		var flags Flags
		if i == len(chunks)-1 {
			flags = Final
		} else if chunk == "" {
			continue
		}
		keep := int(h.filter(s, []byte(in), Stdout, flags))
		switch {
		case keep < 0:
			return "", fmt.Errorf("the hook failed: %s", s.reason)
		case keep > min(len(in), MaxKeep) || keep > 0 && flags == Final:
			return "", fmt.Errorf("the filter kept %d bytes of %q (flags %d)", keep, in, flags)
		}
		kept = in[len(in)-keep:]
	}
	return string(s.out), nil
}

// Post runs h.Post after a command that ended with a code, and returns the notes.
func (f Fake) Post(h Hook, c Command, exitCode int) ([]string, error) {
	s := &fakeHost{fake: f, cmd: c, event: eventPost, result: map[string]string{"exit_code": strconv.Itoa(exitCode), "timed_out": "0", "signal": "", "elapsed_ms": "0"}}
	if h.post(s) < 0 {
		return nil, fmt.Errorf("the hook failed: %s", s.reason)
	}
	return s.notes, nil
}

// environ is a map as the server writes it.
func environ(m map[string]string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(m)) {
		b.WriteString(k + "=" + m[k] + "\x00")
	}
	return b.String()
}
