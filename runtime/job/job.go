// Package job is the vocabulary of the server: what is asked, what is answered, and how it can fail.
//
// Every other package speaks in these types and this one imports only the standard library, so import cycles
// cannot form. They are plain values: nothing here runs, dials or locks anything.
package job

import (
	"bytes"
	"maps"
	"slices"
	"time"
)

// Unlimited stands for "no limit" wherever a duration is a limit; 0 means "the default".
const Unlimited time.Duration = -1

// StdinMode says what a command reads. It is known before the start, since some backends cannot change it later.
type StdinMode uint8

const (
	StdinNull  StdinMode = iota // end of file at once
	StdinBytes                  // Command.Input, then end of file
	StdinPipe                   // open until the session's owner closes it
)

// Size is a terminal's size in character cells.
type Size struct{ Cols, Rows int }

// Command is one command as a backend gets it. Either Script (shell text) or Argv is set; with Argv no shell is involved.
type Command struct {
	Script string
	Argv   []string

	Shell  string            // by name ("bash"); Backend.Resolve turns "" into the shell that will run
	Dir    string            // working directory; Backend.Resolve makes it absolute where it can
	Env    map[string]string // set on top of the backend's own environment, byte-exact
	Secret []string          // names in Env whose values never go into an argv or a log
	Login  bool              // take the environment of a login shell; the text itself runs in a plain one

	Stdin StdinMode
	Input []byte // for StdinBytes
	TTY   *Size  // nil: no terminal; with one all output is a single stream labelled Merged

	Image, Network string // sandboxes only; "" is the configured one

	Timeout time.Duration // for backends that keep a backstop of their own, like a container's time to live
}

// Clone returns a copy that shares no memory with c, so that a hook may edit it.
func (c Command) Clone() Command {
	c.Argv = slices.Clone(c.Argv)
	c.Env = maps.Clone(c.Env)
	c.Secret = slices.Clone(c.Secret)
	c.Input = bytes.Clone(c.Input)
	if c.TTY != nil {
		size := *c.TTY
		c.TTY = &size
	}
	return c
}

// View is how the output of a call or a read is shown. The zero value is folded text, streams apart, capped as configured.
type View struct {
	Raw    bool // keep carriage returns and ANSI sequences
	Merged bool // both streams in the order they came, in Stdout
	Base64 bool
	Limit  int // bytes shown inline over both streams; 0 is the configured limit
}

// Request is one call of a shell or command tool.
type Request struct {
	Tool    string
	Backend string // filled in by the engine: the backend's name, for hooks and logs
	Target  string // which of the tool's backends; "" is its first
	Session string // run in this session's sandbox (backends.Runner)
	Client  string // what the client calls itself, for hooks; nothing is decided by it
	Job     string // filled in by the engine: the id of what runs, which is its session's if it becomes one

	Command  Command
	Commands []string // several texts, side by side whatever Parallel says; Command.Script is empty then
	Parallel bool     // split the top-level && list of Command.Script and run its parts side by side

	Timeout time.Duration // until the tree is killed; 0 the default, Unlimited none
	Wait    time.Duration // until a command that still runs becomes a session; 0 the default, Unlimited none
	WaitFor string        // "exit", "output" or an RE2 pattern over output not yet read
	Alive   time.Duration // how long a session lives without a call about it; 0 the default, Unlimited for ever
	Detach  bool
	Watched bool // the client shows progress, so a long wait is safe

	OutputFile string
	Encoding   string // of the output; "" is UTF-8
	View       View

	Args map[string]any    // a command tool's arguments, already checked against its schema
	Tags map[string]string // hooks may leave marks for one another
}

// Clone returns a copy that shares no memory with r.
func (r Request) Clone() Request {
	r.Command = r.Command.Clone()
	r.Commands = slices.Clone(r.Commands)
	r.Args = maps.Clone(r.Args)
	r.Tags = maps.Clone(r.Tags)
	return r
}
