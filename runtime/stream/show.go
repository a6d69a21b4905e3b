package stream

import "cmd-exec-mcp/runtime/job"

// Style says how a view is rendered.
type Style struct {
	View    job.View
	Session string // for the next call that the marker names
	Limit   int    // characters shown over both streams, 0 or less: no limit
}

// Shown is output as an agent reads it.
type Shown struct {
	Stdout, Stderr job.Text
	Truncated      bool
	OmittedAt      int64 // position of the first byte left out, when Truncated
	Notes          []string
}

// Show renders a log's whole content.
func Show(l *Log, st Style) Shown {
	return Part(l.View(0, 0), st, true)
}

// Part renders one view.
func Part(v View, st Style, finished bool) Shown {
	return Shown{Stdout: job.Text{Data: v.Stdout, Total: int64(len(v.Stdout))}, Stderr: job.Text{Data: v.Stderr, Total: int64(len(v.Stderr))}}
}
