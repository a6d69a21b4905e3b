//go:build !wasip1

package hook

import (
	"strconv"
	"strings"
	"time"
)

// fakeHost is one job of a Fake.
type fakeHost struct {
	fake   Fake
	event  int
	cmd    Command
	state  map[string]string
	result map[string]string
	notes  []string
	reason string
	out    []byte
}

func (s *fakeHost) get(field int32, key string, buf []byte) int32 {
	value, ok := s.value(field, key)
	if !ok {
		return absent
	}
	if len(value) <= len(buf) {
		copy(buf, value)
	}
	return int32(len(value))
}

func (s *fakeHost) value(field int32, key string) (string, bool) {
	c := &s.cmd
	switch field {
	case fieldCommand:
		return c.Command, c.Argv == nil
	case fieldArgv:
		return join(c.Argv), c.Argv != nil
	case fieldDir:
		return c.Dir, true
	case fieldEnv:
		return entry(c.Env, key)
	case fieldTimeout:
		return strconv.FormatInt(c.Timeout.Milliseconds(), 10), c.Timeout > 0
	case fieldTarget:
		return c.Target, true
	case fieldTool:
		return c.Tool, true
	case fieldBackend:
		return c.Backend, true
	case fieldShell:
		return c.Shell, c.Argv == nil
	case fieldConfig:
		return entry(s.fake.Config, key)
	case fieldState:
		return entry(s.state, key)
	case fieldResult:
		return entry(s.result, key)
	}
	return "", false
}

func entry(m map[string]string, key string) (string, bool) {
	if key == "" {
		return environ(m), true
	}
	value, ok := m[key]
	return value, ok
}

func (s *fakeHost) set(field int32, key, value string) int32 {
	if field != fieldArgv && strings.ContainsRune(value, 0) {
		return invalid
	}
	switch {
	case field == fieldReason:
		s.reason = value
	case field == fieldNote && (len(value) > 1<<10 || len(s.notes) == 16):
		return tooBig
	case field == fieldNote:
		s.notes = append(s.notes, value)
	case field == fieldState:
		return s.remember(key, value)
	case s.event != eventPre || field > fieldTimeout:
		return readOnly
	default:
		return s.edit(field, key, value)
	}
	return 0
}

func (s *fakeHost) remember(key, value string) int32 {
	size := len(key) + len(value)
	for k, v := range s.state {
		size += len(k) + len(v)
	}
	if key == "" {
		return invalid
	}
	if size > 4<<10 {
		return tooBig
	}
	if s.state == nil {
		s.state = map[string]string{}
	}
	s.state[key] = value
	return 0
}

func (s *fakeHost) edit(field int32, key, value string) int32 {
	c := &s.cmd
	switch field {
	case fieldCommand:
		c.Command, c.Argv = value, nil
	case fieldArgv:
		c.Command, c.Argv = "", split(value)
	case fieldDir:
		c.Dir = value
	case fieldEnv:
		if key == "" || strings.ContainsAny(key, "=\x00") {
			return invalid
		}
		if c.Env == nil {
			c.Env = map[string]string{}
		}
		c.Env[key] = value
	case fieldTimeout:
		ms, err := strconv.ParseInt(value, 10, 64)
		d := time.Duration(ms) * time.Millisecond
		if err != nil || ms <= 0 || c.Timeout > 0 && d > c.Timeout {
			return invalid
		}
		c.Timeout = d
	}
	return 0
}

func (s *fakeHost) unset(field int32, key string) int32 {
	switch field {
	case fieldEnv:
		if s.event != eventPre {
			return readOnly
		}
		delete(s.cmd.Env, key)
	case fieldState:
		delete(s.state, key)
	default:
		return invalid
	}
	return 0
}

func (s *fakeHost) write(p []byte) int32 {
	if s.event != eventFilter {
		return unsupported
	}
	s.out = append(s.out, p...)
	return 0
}

func (s *fakeHost) log(level int32, message, attrs string) {
	if s.fake.Log == nil {
		return
	}
	line := []string{"debug", "info", "warn", "error"}[min(max(level, 0), 3)] + " " + message
	pairs := split(attrs)
	for i := 0; i+1 < len(pairs); i += 2 {
		line += " " + pairs[i] + "=" + pairs[i+1]
	}
	s.fake.Log(line)
}
