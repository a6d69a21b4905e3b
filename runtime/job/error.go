package job

import (
	"errors"
	"fmt"
)

// Kind is what a program can act on. Its String is one lower-case word and part of the contract with clients.
type Kind uint8

const (
	Internal    Kind = iota // a defect of ours
	Invalid                 // the arguments cannot be meant like this
	Denied                  // policy, a hook or a person said no
	NotFound                // no such tool, session, directory, image, target
	Unavailable             // the backend cannot be reached or cannot start it
	Unsupported             // this backend cannot do that
	Busy                    // a limit of running things is reached; try later
	Timeout                 // it could not be started in time
	Canceled                // the caller went away
	Lost                    // the process may still run, but we can no longer follow it
)

var kinds = [...]string{"internal", "invalid", "denied", "notfound", "unavailable", "unsupported", "busy", "timeout", "canceled", "lost"}

func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return kinds[Internal]
}

// Finding is one reason of a refusal, in the words that the caller gets.
type Finding struct {
	Rule    string // "R5", or the name of a rule of config.star
	Command string // what would have run, "" when the text itself is the matter
	Via     string // the wrapper it was found in, like "find -exec"
	At      string // line:column in the text
	Message string
	Suggest string
}

// Error is the only error type that crosses package borders. Err holds the sentence (lower case, no full stop),
// Hint what to do about it. Op is for the log, never for the caller.
type Error struct {
	Op       string
	Kind     Kind
	Hint     string
	Findings []Finding // of a refusal, at most five
	More     int       // findings beyond those
	Retry    string    // of a refusal: never, rewrite or ask
	Policy   string    // of a refusal: the policy's fingerprint, never its path
	Err      error
}

func (e *Error) Error() string {
	if e.Err == nil {
		return e.Kind.String()
	}
	return e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error of the given kind; the format is as in fmt.Errorf.
func Errorf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Err: fmt.Errorf(format, args...)}
}

// WithHint returns e with a hint: what a person or an agent can do about it.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// KindOf returns the kind of the first Error in err's chain, Internal if there is none.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Internal
}
