package job

import "time"

// Unread as Read.Offset means: from where the last plain read ended.
const Unread int64 = -1

// Read asks for output of a session. A read with Offset, Tail or Grep does not move what counts as read.
type Read struct {
	Tool, Session string
	Offset        int64 // absolute, or Unread
	Tail          int   // last n lines
	Grep          string
	Wait          time.Duration // 0 the default, Unlimited until the end
	WaitFor       string        // "exit", "output" or an RE2 pattern over output not yet read
	View          View
}

// Input types into a session; at most one of Data, Keys and EOF is set. The embedded Read is what comes back.
type Input struct {
	Read
	Data []byte // exactly as given, no newline added
	Keys []string
	EOF  bool
	Size *Size // the terminal's new one, 0 as it is; it changes before anything is typed
}

// SessionInfo is one line of a list of sessions.
type SessionInfo struct {
	ID      string
	Echo    string
	Exit    *Exit // nil: still running
	Started time.Time
	Idle    time.Duration // since the last call about it
}

// Signal is what can be sent to a process tree.
type Signal uint8

const (
	Interrupt Signal = iota + 1
	Terminate
	Kill
)

// Check is one line of `doctor`.
type Check struct {
	Name   string
	Level  Level
	Detail string
	Fix    string // what to do, when Level is not OK
}

// Level is how bad a check's finding is.
type Level uint8

const (
	OK Level = iota
	Warning
	Failed
)
