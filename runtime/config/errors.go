package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cmd-exec-mcp/runtime/job"
	"go.starlark.net/syntax"
)

// Error is one mistake in a config file.
type Error struct {
	File      string // relative to the config's folder
	Line, Col int    // from 1; columns count characters
	Msg       string // what is wrong
	Fix       string // how to write it, "" if Msg says it
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Msg)
	if e.Fix != "" {
		s += ": " + e.Fix
	}
	return s
}

// Errors is every mistake that was found in one pass, sorted by place. It is never empty, and of kind Invalid.
type Errors []*Error

func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives callers that ask for a kind what they expect of an error that crosses a package border.
func (e Errors) Unwrap() error {
	return job.Errorf(job.Invalid, "the config has %d mistakes", len(e))
}

// maxErrors keeps a mistake inside a long loop readable.
const maxErrors = 50

// mistakes collects the Errors of one evaluation. Evaluation is one thread, so it has no lock.
type mistakes struct {
	list Errors
	main string // the config's own name: its mistakes come before those of loaded files
	mask func(string) string
}

func (m *mistakes) add(pos syntax.Position, fix, format string, args ...any) {
	e := &Error{
		File: pos.Filename(), Line: max(1, int(pos.Line)), Col: max(1, int(pos.Col)),
		Msg: m.mask(fmt.Sprintf(format, args...)), Fix: m.mask(fix),
	}
	same := func(o *Error) bool { return *o == *e }
	if len(m.list) < maxErrors && !slices.ContainsFunc(m.list, same) {
		m.list = append(m.list, e)
	}
}

// err returns nil when nothing was added.
func (m *mistakes) err() error {
	if len(m.list) == 0 {
		return nil
	}
	slices.SortStableFunc(m.list, func(a, b *Error) int {
		return cmp.Or(
			cmp.Compare(btoi(a.File != m.main), btoi(b.File != m.main)),
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return m.list
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
