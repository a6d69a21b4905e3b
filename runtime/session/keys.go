package session

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"cmd-exec-mcp/runtime/job"
)

// keys are the names a call may send to a terminal, and what an xterm sends for them. A single character is a key too, and
// ctrl- and alt- go before one.
var keys = map[string]string{
	"enter": "\r", "tab": "\t", "space": " ", "escape": "\x1b", "backspace": "\x7f", "delete": "\x1b[3~", "insert": "\x1b[2~",
	"up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D", "home": "\x1b[H", "end": "\x1b[F",
	"page-up": "\x1b[5~", "page-down": "\x1b[6~", "shift-tab": "\x1b[Z",
	"ctrl-up": "\x1b[1;5A", "ctrl-down": "\x1b[1;5B", "ctrl-right": "\x1b[1;5C", "ctrl-left": "\x1b[1;5D", "ctrl-space": "\x00",
	"f1": "\x1bOP", "f2": "\x1bOQ", "f3": "\x1bOR", "f4": "\x1bOS", "f5": "\x1b[15~", "f6": "\x1b[17~",
	"f7": "\x1b[18~", "f8": "\x1b[19~", "f9": "\x1b[20~", "f10": "\x1b[21~", "f11": "\x1b[23~", "f12": "\x1b[24~",
}

const keyNames = "enter tab shift-tab space escape backspace delete insert up down left right home end page-up page-down " +
	"ctrl-up ctrl-down ctrl-left ctrl-right ctrl-space f1 to f12, ctrl-a to ctrl-z, alt-a to alt-z, or a single character"

// otherNames are what some callers say for a key.
var otherNames = map[string]string{
	"return": "enter", "esc": "escape", "del": "delete", "pageup": "page-up", "pgup": "page-up", "pagedown": "page-down", "pgdn": "page-down",
	"arrowup": "up", "arrowdown": "down", "arrowleft": "left", "arrowright": "right", "backtab": "shift-tab",
}

// keyName is the name that this package uses for a key, so that whoever looks at one sees it in one spelling.
func keyName(name string) string {
	if utf8.RuneCountInString(name) == 1 {
		return name
	}
	lower := strings.NewReplacer("_", "-", "+", "-").Replace(strings.ToLower(name))
	for _, prefix := range []string{"control-", "c-", "^"} {
		if rest, ok := strings.CutPrefix(lower, prefix); ok && len(rest) == 1 {
			return "ctrl-" + rest
		}
	}
	if other, ok := otherNames[strings.ReplaceAll(lower, "-", "")]; ok {
		return other
	}
	if rest, ok := strings.CutPrefix(lower, "alt-"); ok && len(rest) == 1 {
		return "alt-" + name[len(name)-1:] // alt-D is not alt-d
	}
	return lower
}

// keyBytes is what a key sends.
func keyBytes(name string) (string, error) {
	if bytes, ok := keys[name]; ok {
		return bytes, nil
	}
	if r, size := utf8.DecodeRuneInString(name); size == len(name) && unicode.IsPrint(r) {
		return name, nil
	}
	if c, ok := strings.CutPrefix(name, "alt-"); ok && len(c) == 1 && c[0] > ' ' && c[0] < 0x7f {
		return "\x1b" + c, nil
	}
	if c, ok := strings.CutPrefix(name, "ctrl-"); ok && len(c) == 1 && strings.Contains("abcdefghijklmnopqrstuvwxyz[\\]^_", c) {
		return string(c[0] & 0x1f), nil
	}
	return "", job.Errorf(job.Invalid, "no key is called %q", name).WithHint("keys are %s; send text with command", keyNames)
}

func (j *Job) planKeys(ctx context.Context, names []string, tty bool) (planned, error) {
	if !tty {
		return j.planPlainKey(ctx, names)
	}
	var p planned
	for _, name := range names {
		name = keyName(name)
		bytes, err := keyBytes(name)
		if err != nil {
			return planned{}, err
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
	switch name {
	case "enter":
		return j.spec.Typist.Type(ctx, []byte("\n"))
	case "ctrl-c":
		j.spec.Typist.Clear()
		return []byte{0x03}, false, nil
	case "ctrl-d":
		pass, err = j.spec.Typist.EOF(ctx)
		return append(pass, 0x04), false, err
	}
	return nil, false, &job.Error{
		Kind: job.Denied, Retry: "rewrite", Err: fmt.Errorf("%s could edit the shell's line after it was checked", name),
		Hint: "only enter, ctrl-c and ctrl-d go to a shell that policy checks; start the program that needs keys as a session of its own",
	}
}

// planPlainKey is for a process without a terminal, which knows two keys.
func (j *Job) planPlainKey(ctx context.Context, names []string) (planned, error) {
	if len(names) == 1 {
		switch keyName(names[0]) {
		case "ctrl-c":
			return planned{interrupt: true}, nil
		case "ctrl-d":
			return j.planEOF(ctx, false)
		}
	}
	return planned{}, job.Errorf(job.Invalid, "without a terminal only ctrl-c or ctrl-d can be sent, one at a time").
		WithHint("start the session with tty=true to send other keys, or send text with command")
}
