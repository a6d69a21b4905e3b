package wasm

import (
	"fmt"

	"cmd-exec-mcp/runtime/job"
)

// The classes of a failed call, the only thing about it that a caller is told.
const (
	classError    = "error"    // the guest said so
	classTrap     = "trap"     // it crashed or ended itself
	classTimeout  = "timeout"  // its budget is used up
	classProtocol = "protocol" // it broke a rule of the ABI
	classBusy     = "busy"     // no instance became free
	classLoad     = "load"     // it could not be made ready
)

// fault is why a call failed. Host functions panic with one to end a guest's call; the engine hands it back as an error.
type fault struct {
	class  string
	detail string // for the log
	reason string // the guest's own words, for the caller
}

func (f *fault) Error() string {
	if f.detail == "" {
		return f.class
	}
	return f.class + ": " + f.detail
}

// Class is the one word about it that a caller is told.
func (f *fault) Class() string { return f.class }

func faultf(class, format string, args ...any) *fault {
	return &fault{class: class, detail: fmt.Sprintf(format, args...)}
}

// said is what a caller is told of a fault. The class goes along for whoever says it in words of their own.
type said struct{ message, class string }

func (s *said) Error() string { return s.message }
func (s *said) Class() string { return s.class }

// public is what a caller learns: the class and the guest's reason, never the detail.
func (f *fault) public(hook string) *job.Error {
	kind := job.Unavailable
	if f.class == classBusy {
		kind = job.Busy
	}
	message := fmt.Sprintf("hook %s failed: %s", hook, f.class)
	if f.reason != "" {
		message += ": " + f.reason
	}
	e := &job.Error{Kind: kind, Err: &said{message, f.class}}
	if f.class == classBusy {
		return e.WithHint("try again; the owner can raise pool= of the hook")
	}
	return e.WithHint("the server's log says more; the owner can repair the hook, or set on_error=\"allow\"")
}
