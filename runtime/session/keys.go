package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cmd-exec-mcp/runtime/job"
)

// keys are the names a call may send to a terminal, and what an xterm sends for them.
var keys = map[string]string{
	"enter": "\r", "tab": "\t", "space": " ", "escape": "\x1b", "backspace": "\x7f", "delete": "\x1b[3~", "insert": "\x1b[2~",
	"up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D", "home": "\x1b[H", "end": "\x1b[F",
	"page-up": "\x1b[5~", "page-down": "\x1b[6~", "shift-tab": "\x1b[Z",
	"f1": "\x1bOP", "f2": "\x1bOQ", "f3": "\x1bOR", "f4": "\x1bOS", "f5": "\x1b[15~", "f6": "\x1b[17~",
	"f7": "\x1b[18~", "f8": "\x1b[19~", "f9": "\x1b[20~", "f10": "\x1b[21~", "f11": "\x1b[23~", "f12": "\x1b[24~",
	"ctrl-a": "\x01", "ctrl-b": "\x02", "ctrl-c": "\x03", "ctrl-d": "\x04", "ctrl-e": "\x05", "ctrl-f": "\x06", "ctrl-g": "\x07",
	"ctrl-k": "\x0b", "ctrl-l": "\x0c", "ctrl-n": "\x0e", "ctrl-o": "\x0f", "ctrl-p": "\x10", "ctrl-q": "\x11", "ctrl-r": "\x12",
	"ctrl-s": "\x13", "ctrl-t": "\x14", "ctrl-u": "\x15", "ctrl-w": "\x17", "ctrl-x": "\x18", "ctrl-y": "\x19", "ctrl-z": "\x1a",
	"ctrl-\\": "\x1c",
}

// KeyNames lists the names that a terminal session takes, sorted.
func KeyNames() []string {
	names := make([]string, 0, len(keys))
	for name := range keys {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (j *Job) planKeys(ctx context.Context, names []string, tty bool) (planned, error) {
	if !tty {
		return j.planPlainKey(ctx, names)
	}
	var p planned
	for _, name := range names {
		bytes, ok := keys[strings.ToLower(name)]
		if !ok {
			return planned{}, job.Errorf(job.Invalid, "no key is called %q", name).WithHint("one of %s", strings.Join(KeyNames(), " "))
		}
		if j.spec.Typist == nil {
			p.data = append(p.data, bytes...)
			continue
		}
		pass, held, err := j.typeKey(ctx, name)
		if err != nil {
			return planned{}, err
		}
		p.data, p.held = append(p.data, pass...), held
	}
	return p, nil
}

// typeKey sends a key to a shell whose statements are checked: enter ends the statement that is held, ctrl-c drops it.
// Keys that recall or edit a line are refused: `up ctrl-a delete delete ... enter` turns an allowed `echo rm x` into `rm x`.
func (j *Job) typeKey(ctx context.Context, name string) (pass []byte, held bool, err error) {
	switch strings.ToLower(name) {
	case "enter":
		return j.spec.Typist.Type(ctx, []byte("\n"))
	case "ctrl-c":
		j.spec.Typist.Clear()
	case "ctrl-d":
		pass, err = j.spec.Typist.EOF(ctx)
	default:
		return nil, false, &job.Error{
			Kind: job.Denied, Retry: "rewrite", Err: fmt.Errorf("%s could edit the shell's line after it was checked", name),
			Hint: "only enter, ctrl-c and ctrl-d go to a shell that policy checks; start the program that needs keys as a session of its own",
		}
	}
	return append(pass, keys[strings.ToLower(name)]...), false, err
}

// planPlainKey is for a process without a terminal, which knows two keys.
func (j *Job) planPlainKey(ctx context.Context, names []string) (planned, error) {
	if len(names) == 1 {
		switch names[0] {
		case "ctrl-c":
			return planned{interrupt: true}, nil
		case "ctrl-d":
			return j.planEOF(ctx, false)
		}
	}
	return planned{}, job.Errorf(job.Invalid, "without a terminal only ctrl-c or ctrl-d can be sent, one at a time").
		WithHint("start the session with tty=true to send other keys, or send text with command")
}
