package mcp

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"cmd-exec-mcp/runtime/job"
)

// longest is what a duration is lowered to: far beyond any use, and far from where adding it to a clock overflows.
const longest = 10 * 365 * 24 * time.Hour

// args are the arguments of one call, decoded once: policy and executor get what these methods return and nothing else
// ever looks at the raw bytes. The first thing that is wrong stays in err, so a reader needs no check per line.
//
// Models send more than schemas allow, so null and "" mean absent, "30" is 30, "true" is true and a JSON text in a string
// is the object or array that it holds.
type args struct {
	given map[string][]byte // what is there and not null, as it was written
	notes []string          // about what was ignored or changed
	err   *job.Error
}

// parseArgs takes the object apart. A name that is given twice is an error, also in another case beside the known name:
// readers of JSON differ in which of the two they take. Unknown names are ignored with a note.
func parseArgs(raw []byte, known []string) *args {
	a := &args{given: map[string][]byte{}}
	if raw = unwrap(raw, '{'); len(raw) == 0 || isNull(raw) {
		return a
	}
	list, ok := members(raw)
	if !ok {
		a.fail("arguments must be an object, got %s", describe(raw))
		return a
	}
	if name, ok := twice(list); ok {
		a.fail("parameter %q is given twice", short(name))
		return a
	}
	for _, m := range list {
		if slices.Contains(known, m.name) && !isNull(m.value) {
			a.given[m.name] = m.value
		}
	}
	for _, m := range list {
		if slices.Contains(known, m.name) {
			continue
		}
		if i := slices.IndexFunc(known, func(k string) bool { return a.given[k] != nil && strings.EqualFold(k, m.name) }); i >= 0 {
			a.fail("parameters %q and %q are both given", known[i], short(m.name))
			return a
		}
		a.unknown(m.name, known)
	}
	return a
}

func (a *args) unknown(name string, known []string) {
	if len(a.notes) >= 5 {
		return
	}
	note := fmt.Sprintf("unknown parameter %q was ignored", short(name))
	if n := near(name, known); n != "" {
		note += fmt.Sprintf(": did you mean %q?", n)
	}
	a.notes = append(a.notes, note)
}

func (a *args) fail(format string, values ...any) *job.Error {
	if a.err == nil {
		a.err = job.Errorf(job.Invalid, format, values...)
		return a.err
	}
	return &job.Error{} // for a hint that nobody will read
}

// wrong reports a value of the wrong type.
func (a *args) wrong(name, expected string, raw []byte) {
	a.fail("%s must be %s, got %s", name, expected, describe(raw))
}

// raw returns what was given; an empty string is as good as nothing.
func (a *args) raw(name string) ([]byte, bool) {
	raw, ok := a.given[name]
	return raw, ok && string(raw) != `""`
}

func (a *args) has(name string) bool {
	_, ok := a.raw(name)
	return ok
}

// text returns a string as it is.
func (a *args) text(name string) string {
	raw, ok := a.raw(name)
	if !ok {
		return ""
	}
	if raw[0] != '"' {
		a.wrong(name, "a string", raw)
		return ""
	}
	return unquote(raw)
}

// str is text that ends up in an argument vector, a path or a name, none of which can hold a NUL.
func (a *args) str(name string) string {
	s := a.text(name)
	if strings.IndexByte(s, 0) >= 0 {
		a.fail("%s must not contain a NUL character", name)
	}
	return s
}

func (a *args) bool(name string) bool {
	raw, ok := a.raw(name)
	if !ok {
		return false
	}
	b, ok := asBool(raw)
	if !ok {
		a.wrong(name, "true or false", raw)
	}
	return b
}

func asBool(raw []byte) (value, ok bool) {
	switch strings.ToLower(strings.Trim(string(raw), `"`)) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// asNumber returns the text of a number that may stand in a string.
func asNumber(raw []byte) (float64, bool) {
	if raw[0] == '"' {
		raw = []byte(strings.TrimSpace(unquote(raw)))
	}
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') || !json.Valid(raw) {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	return f, err == nil || math.IsInf(f, 0)
}

// int returns a whole number that is not negative, and whether it was given.
func (a *args) int(name string) (int64, bool) {
	raw, ok := a.raw(name)
	if !ok {
		return 0, false
	}
	f, ok := asNumber(raw)
	if !ok || f != math.Trunc(f) || f < 0 {
		a.wrong(name, "a whole number from 0", raw)
		return 0, false
	}
	return int64(min(f, 1<<53)), true
}

// seconds returns a duration, and whether it was given. -1 is job.Unlimited; a given 0 is for the caller to judge.
func (a *args) seconds(name string) (time.Duration, bool) {
	raw, ok := a.raw(name)
	if !ok {
		return 0, false
	}
	f, ok := asNumber(raw)
	switch {
	case !ok:
		a.wrong(name, "a number of seconds", raw)
		return 0, false
	case f == -1:
		return job.Unlimited, true
	case f < 0:
		a.fail("%s must be a number of seconds, or -1 for no limit, got %s", name, describe(raw))
		return 0, false
	case f > longest.Seconds():
		a.notes = append(a.notes, fmt.Sprintf("%s was lowered to ten years; -1 means no limit", name))
		return longest, true
	case f == 0:
		return 0, true
	}
	return max(time.Duration(f*float64(time.Second)), 1), true
}

// strs returns a list of strings; a single string is a list of one.
func (a *args) strs(name string) []string {
	raw, ok := a.raw(name)
	if !ok {
		return nil
	}
	list, ok := elements(unwrap(raw, '['))
	if !ok && raw[0] == '"' {
		list, ok = [][]byte{raw}, true
	}
	if !ok {
		a.wrong(name, "an array of strings", raw)
		return nil
	}
	texts := make([]string, 0, len(list))
	for i, raw := range list {
		if raw[0] != '"' {
			a.wrong(fmt.Sprintf("%s[%d]", name, i), "a string", raw)
			return nil
		}
		texts = append(texts, unquote(raw))
	}
	return texts
}

// pairs returns the members of an object parameter; names that are given twice are an error.
func (a *args) pairs(name string) []member {
	raw, ok := a.raw(name)
	if !ok {
		return nil
	}
	list, ok := members(unwrap(raw, '{'))
	if !ok {
		a.wrong(name, "an object", raw)
		return nil
	}
	if twin, ok := twice(list); ok {
		a.fail("%s has %q twice", name, short(twin))
	}
	return list
}

// unwrap returns the JSON text inside a string literal if it is one of the wanted kind, else raw itself.
func unwrap(raw []byte, first byte) []byte {
	if len(raw) == 0 || raw[0] != '"' {
		return raw
	}
	inner := []byte(strings.TrimSpace(unquote(raw)))
	if len(inner) > 0 && inner[0] == first && json.Valid(inner) {
		return inner
	}
	return raw
}

// describe says in words what a caller gave.
func describe(raw []byte) string {
	switch raw[0] {
	case '"':
		return fmt.Sprintf("the string %q", short(unquote(raw)))
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f', 'n':
		return string(raw)
	}
	return "the number " + short(string(raw))
}

// short keeps what a caller sent from filling the reply.
func short(s string) string {
	if len(s) <= 48 {
		return s
	}
	return strings.ToValidUTF8(s[:48], "") + "..."
}
