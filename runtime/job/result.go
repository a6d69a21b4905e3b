package job

import "time"

// Stream names where bytes came from.
type Stream uint8

const (
	Stdout Stream = iota + 1
	Stderr
	Merged // a terminal's single stream
)

// Cause says why a process ended.
type Cause uint8

const (
	Exited Cause = iota
	Signaled
	TimedOut // killed by us because its time was up
	Killed   // killed by us because somebody asked: kill, cancel, shutdown, an idle session
	OOM
)

// Exit is how a process ended. A code other than zero is an answer, not an error.
type Exit struct {
	Code      int    // 128+n after signal n; -1 when it timed out
	Signal    string // without SIG, "" if it exited by itself
	Cause     Cause
	Survivors []int    // processes of its tree that could not be ended, or not be confirmed as ended
	Notes     []string // what a reader should know, one sentence each
	Hint      string   // the next step, where the backend knows it: the near name of a command that was not found
}

// Text is one stream as it is shown: valid UTF-8 (or base64), folded and cut as the View asked.
type Text struct {
	Data    []byte // what is shown; where something is left out a marker line says so. Read-only: it may be shared
	Total   int64  // bytes the stream produced, before any cut
	Omitted int64  // bytes of Total that Data leaves out
	Base64  bool
}

// Result is the answer to a call, and to a read, send or kill of a session.
type Result struct {
	Exit           *Exit // nil: still running
	Stdout, Stderr Text

	Session string // set when there is something more to read or to do
	Offset  int64  // position in the session's log where this answer's output begins
	Next    int64  // where the next read begins
	Dropped int64  // bytes between Offset and Next that were not kept
	Omitted int64  // position of the first byte that an inline cut left out; meaningful when Truncated
	Sent    int    // bytes typed into the session by this call

	Truncated  bool
	Held       bool // what was sent waits for the rest of its statement
	Elapsed    time.Duration
	Alive      time.Duration // how long the session lives without a call about it
	Echo       string        // the command as it came
	Dir        string        // the real working directory, when it is not the one that was asked for
	Shell      string        // the shell that ran it
	Target     string
	OutputFile string
	Notes      []string
	Hint       string // the next step, where it is known
}

// Outcome is one part of a parallel call: a result, an error, or both when a process was lost after it had printed.
type Outcome struct {
	Result Result
	Err    error
}

// Event is a piece of output while it happens. Data is valid during the call only.
type Event struct {
	Stream Stream
	Data   []byte
	Part   int // which part of a parallel call
}

// Progress is how far something slow is that is not output: an image's pull, a connection.
type Progress struct {
	Message     string
	Done, Total int64 // bytes or steps; Total 0 if unknown
}
