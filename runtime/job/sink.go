package job

import "context"

// Sink hears of a call while it runs. Its methods may be called from several goroutines, never after the call has returned.
type Sink interface {
	// Event delivers output. It may block, and the command then waits with it.
	Event(Event)
	Progress(Progress)
	// Ask puts a question to a person. Without a way to ask it returns Unasked and no error.
	Ask(context.Context, Question) (Answer, error)
}

// Question is what a person needs to decide about one command.
type Question struct {
	Tool, Backend, Target, Dir string
	Text                       string // the final text, control and bidi characters escaped
	Commands                   []string
	Env                        []string // names only
	Reason                     string
	Findings                   []Finding
}

// Answer is what a person said.
type Answer uint8

const (
	Unasked Answer = iota // nobody could be asked: the configured default applies
	Yes
	No
)

// Discard is a Sink that hears nothing and cannot ask.
var Discard Sink = discard{}

type discard struct{}

func (discard) Event(Event)                                   {}
func (discard) Progress(Progress)                             {}
func (discard) Ask(context.Context, Question) (Answer, error) { return Unasked, nil }
