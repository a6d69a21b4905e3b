package wasm

import (
	"fmt"
	"slices"
	"strings"

	"cmd-exec-mcp/hooks"
)

// The hook1 ABI, as hooks/README.md specifies it. Its major version is the import namespace: within hook1 things are
// only added.
const (
	namespace = "hook1"
	wasi      = "wasi_snapshot_preview1"
	abi       = "1.0"
)

// event says which of the exports runs; the values are the bits of hook_init's mask.
type event uint8

const (
	eventPre    event = 1
	eventFilter event = 2
	eventPost   event = 4
	eventInit   event = 8 // hook_init, and what the engine runs before it
)

// exports are the functions that the host calls. A hook has at least one of those with an event.
var exports = []struct {
	name  string
	event event
	typ   signature
}{
	{"pre_exec", eventPre, signature{"", i32s[:1]}},
	{"filter", eventFilter, signature{i32s[:2], i32s[:1]}},
	{"post_exec", eventPost, signature{"", i32s[:1]}},
	{"hook_init", 0, signature{"", i32s[:1]}},
	{"_initialize", 0, signature{}},
}

const i32s = "\x7f\x7f\x7f\x7f\x7f"

// Fields of get and set.
const (
	fieldCommand  = 1
	fieldArgv     = 2
	fieldDir      = 3
	fieldEnv      = 4
	fieldTimeout  = 5
	fieldTarget   = 6
	fieldSession  = 8
	fieldClient   = 9
	fieldTool     = 10
	fieldBackend  = 11
	fieldShell    = 12
	fieldJob      = 13
	fieldReason   = 14
	fieldNote     = 15
	fieldConfig   = 16
	fieldFeatures = 17
	fieldState    = 21
	fieldResult   = 23
)

// Answers of the imports that are no lengths.
const (
	errAbsent      = -1
	errUnsupported = -2
	errTooBig      = -4
	errInvalid     = -5
	errReadOnly    = -6
)

// Answers of pre_exec.
const (
	answerContinue = 0
	answerDeny     = 1
	answerAsk      = 2
)

// Flags of filter.
const (
	flagFinal = 1
	flagIdle  = 2
)

// Limits of one call, in bytes unless the name says otherwise.
const (
	maxReason    = 4 << 10
	maxNote      = 1 << 10
	maxNotes     = 16 // of one job
	maxState     = 4 << 10
	maxVariables = 4096
	maxEdits     = 1 << 20 // all that a call sets
	maxLogLine   = 4 << 10
	maxLogLines  = 100
	maxStderr    = 16 << 10
	outputExtra  = 64 << 10
	outputFactor = 4
)

// features is field 17.
func features() string {
	return strings.Join([]string{
		"abi=" + abi, "log=1", fmt.Sprintf("chunk=%d", hooks.Window), fmt.Sprintf("carry=%d", hooks.MaxKeep),
		fmt.Sprintf("state=%d", maxState), fmt.Sprintf("notes=%d", maxNotes), "",
	}, "\x00")
}

// check says whether a module is a hook for this host: its exports, its types and that all it imports is here.
func (m *module) check() (event, error) {
	var events event
	for _, want := range exports {
		e, ok := m.export(want.name)
		if !ok {
			continue
		}
		if got, ok := m.signature(e.index); e.kind != 0 || !ok || got != want.typ {
			return 0, fmt.Errorf("its export %s has the wrong type, it is %s", want.name, want.typ)
		}
		events |= want.event
	}
	if events == 0 {
		return 0, fmt.Errorf("it exports none of pre_exec, filter, post_exec")
	}
	if e, ok := m.export("memory"); !ok || e.kind != 2 || m.memories != 1 {
		return 0, fmt.Errorf("it exports no memory under the name memory")
	}
	if m.minPages == 0 {
		return 0, fmt.Errorf("its memory has no page at the start")
	}
	if _, ok := m.export(fuelGlobal); ok {
		return 0, fmt.Errorf("the name of its export %s is the server's", fuelGlobal)
	}
	var missing []string
	for _, i := range m.imports {
		if !provided(i, m.types[i.typ]) && !slices.Contains(missing, i.module+"."+i.name) {
			missing = append(missing, i.module+"."+i.name)
		}
	}
	if missing != nil {
		return 0, fmt.Errorf("it imports %s; this server provides %s %s", shorten(strings.Join(missing, ", ")), namespace, abi)
	}
	return events, nil
}

// provided says whether an import can be linked.
func provided(i imported, typ signature) bool {
	switch i.module {
	case namespace:
		want, ok := hostFunctions[i.name]
		return ok && want.typ == typ
	case wasi:
		if f, ok := wasiFunctions[i.name]; ok {
			return f.typ == typ
		}
		return typ.results == i32s[:1]
	case "env":
		f, ok := envFunctions[i.name]
		return ok && f.typ == typ
	}
	return false
}

// String writes a type as its text format does.
func (s signature) String() string {
	names := map[rune]string{typeI32: "i32", typeI64: "i64", typeF32: "f32", typeF64: "f64", typeV128: "v128"}
	list := func(types string) string {
		var words []string
		for _, t := range []byte(types) {
			words = append(words, names[rune(t)])
		}
		return "(" + strings.Join(words, " ") + ")"
	}
	return list(s.params) + " -> " + list(s.results)
}

// shorten keeps a message that repeats a guest's words to a size that can be read.
func shorten(s string) string {
	s = strings.ToValidUTF8(s, "?")
	if len(s) > 500 {
		return strings.ToValidUTF8(s[:500], "") + " ..."
	}
	return s
}
