package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"cmd-exec-mcp/runtime/job"
)

// hosts returns the targets that "web" or "prod,lab" stand for, and whether that is a list, also one of a single host.
func hosts(o *opened, t job.Tool, target string) (names []string, several bool, err error) {
	given := strings.Split(target, ",")
	several = len(given) > 1
	for _, name := range given {
		members := []string{name}
		if slices.Contains(t.Groups, name) {
			several = true
			if members, err = o.Group(t.Name, name); err != nil {
				return nil, true, err
			}
		}
		for _, member := range members {
			if !slices.Contains(names, member) {
				names = append(names, member)
			}
		}
	}
	return names, several, nil
}

// execHosts runs the command on every target side by side. Output comes as lines with the host's name before them, and at
// the end a table says how each fared. The status is the largest of them, so one host that failed is not lost in the others.
func (a *app) execHosts(ctx context.Context, o *opened, req job.Request, names []string) error {
	reqs := make([]job.Request, 0, len(names))
	for _, name := range names {
		one := req.Clone()
		one.Target = name
		reqs = append(reqs, one)
	}
	lines := &hostLines{terminal: terminal{stdout: a.stdout, stderr: a.stderr}, names: names, rest: map[part][]byte{}}
	list, err := o.ExecAll(ctx, reqs, lines)
	lines.flush()
	if err != nil {
		return outcome(job.Result{}, err)
	}
	table := tabwriter.NewWriter(a.stderr, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "host\tresult\tseconds")
	worst := 0
	for i, one := range list {
		said, code := fared(one)
		worst = max(worst, code)
		fmt.Fprintf(table, "%s\t%s\t%.1f\n", names[i], said, one.Result.Elapsed.Seconds())
	}
	if err := table.Flush(); err != nil || worst == 0 {
		return err
	}
	return &status{worst, nil}
}

// fared is one host's row, and its status as exec would have given it alone.
func fared(one job.Outcome) (said string, code int) {
	err := outcome(one.Result, one.Err)
	var s *status
	switch {
	case err == nil:
		return "exit 0", 0
	case !errors.As(err, &s):
		return err.Error(), exitFailed
	case one.Err != nil:
		said = one.Err.Error()
		if e, ok := errors.AsType[*job.Error](one.Err); ok && e.Hint != "" {
			said += ": " + e.Hint
		}
		return strings.ReplaceAll(said, "\n", " "), s.code
	case one.Result.Exit.Cause == job.TimedOut:
		return "timed out", s.code
	}
	return fmt.Sprintf("exit %d", s.code), s.code
}

// hostLines is the sink of several hosts: whole lines, so that two hosts never share one.
type hostLines struct {
	terminal
	names []string
	rest  map[part][]byte // lines without their end yet
}

// part is one host's stdout or stderr.
type part struct {
	host   int
	stderr bool
}

// longestLine is kept waiting for its end; what is longer is cut there.
const longestLine = 64 << 10

func (h *hostLines) Event(e job.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := part{e.Part, e.Stream == job.Stderr}
	pending := append(h.rest[key], e.Data...)
	for {
		end := bytes.IndexByte(pending, '\n')
		if end < 0 && len(pending) < longestLine {
			break
		}
		if end < 0 {
			end = len(pending) - 1
		}
		h.line(key, pending[:end+1])
		pending = pending[end+1:]
	}
	h.rest[key] = pending
}

func (h *hostLines) line(p part, text []byte) {
	out := h.stdout
	if p.stderr {
		out = h.stderr
	}
	fmt.Fprintf(out, "%s: %s\n", h.names[p.host], bytes.TrimSuffix(text, []byte("\n")))
}

// flush prints the last lines of those hosts whose output does not end with one.
func (h *hostLines) flush() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for host := range h.names {
		for _, p := range []part{{host, false}, {host, true}} {
			if text := h.rest[p]; len(text) > 0 {
				h.line(p, text)
			}
		}
	}
}
