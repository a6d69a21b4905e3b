package wasm

import (
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"

	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/runtime/job"
	"github.com/rs/zerolog"
)

// call is one call into a guest, a transaction: edits, state, notes and output collect here, and whoever made the call
// takes them over when it has ended well.
type call struct {
	event event
	hook  *Hook

	req     job.Request // what fields show; edited in place once it is the call's own copy
	edited  bool
	changed int // bytes that the call has set

	state       map[string]string // the job's; a copy of it after the first write
	stateEdited bool
	stateSize   int      // bytes in it, known after the first write
	notes       []string // the job's and those of this call
	reason      string
	result      map[string]string // of post_exec

	stream, flags uint64 // of filter, as the guest gets them
	in            []byte
	read          int
	out           []byte

	stderr []byte
	lines  int
	broken *fault // fails the call although the guest returned
}

// reset makes c ready for another call of the same job, with its buffers.
func (c *call) reset() {
	*c = call{hook: c.hook, req: c.req, state: c.state, notes: c.notes, out: c.out[:0], stderr: c.stderr[:0]}
}

// judge says what is wrong with an export's answer.
func (c *call) judge(answer int32) *fault {
	f := faultf(classProtocol, "%s answered %d", eventName(c.event), answer)
	switch {
	case answer < 0:
		f.class, f.reason = classError, c.reason
	case c.event == eventPre && answer <= answerAsk, c.event == eventPost && answer == 0:
		return nil
	case c.event == eventFilter && int(answer) <= min(len(c.in), hooks.MaxKeep) && (answer == 0 || c.flags&flagFinal == 0):
		return nil
	}
	return f
}

// own makes req the call's own before the first edit.
func (c *call) own() *job.Request {
	if !c.edited {
		c.req, c.edited = c.req.Clone(), true
	}
	return &c.req
}

// set is the import. A value is text without NUL, but for argv, whose entries end with one.
func (c *call) set(field uint32, key, value string, deleted bool) int32 {
	if code := c.writable(field); code < 0 {
		return code
	}
	if c.changed += len(key) + len(value); c.changed > maxEdits {
		return errTooBig
	}
	if !utf8.ValidString(key) || !utf8.ValidString(value) || strings.Contains(key, "\x00") {
		return errInvalid
	}
	if deleted && field != fieldEnv && field != fieldState {
		return errInvalid
	}
	if field == fieldArgv {
		return c.setArgv(value)
	}
	if strings.Contains(value, "\x00") {
		return errInvalid
	}
	switch field {
	case fieldCommand:
		req := c.own()
		req.Command.Script, req.Command.Argv = value, nil
	case fieldDir:
		if value == "" {
			return errInvalid
		}
		c.own().Command.Dir = value
	case fieldEnv:
		return c.setEnv(key, value, deleted)
	case fieldTimeout:
		return c.setTimeout(value)
	case fieldReason:
		return c.setReason(value)
	case fieldNote:
		return c.addNote(value)
	case fieldState:
		return c.setState(key, value, deleted)
	}
	return 0
}

func (c *call) setArgv(value string) int32 {
	words, ended := strings.CutSuffix(value, "\x00")
	if !ended || words == "" || strings.HasPrefix(words, "\x00") {
		return errInvalid
	}
	req := c.own()
	req.Command.Argv, req.Command.Script = strings.Split(words, "\x00"), ""
	return 0
}

func (c *call) setEnv(key, value string, deleted bool) int32 {
	if key == "" || strings.Contains(key, "=") {
		return errInvalid
	}
	req := c.own()
	if deleted {
		delete(req.Command.Env, key)
		return 0
	}
	if _, ok := req.Command.Env[key]; !ok && len(req.Command.Env) >= maxVariables {
		return errTooBig
	}
	if req.Command.Env == nil {
		req.Command.Env = map[string]string{}
	}
	req.Command.Env[key] = value
	return 0
}

func (c *call) setReason(value string) int32 {
	if len(value) > maxReason {
		return errTooBig
	}
	c.reason = value
	return 0
}

func (c *call) addNote(value string) int32 {
	if len(value) > maxNote || len(c.notes) >= maxNotes {
		return errTooBig
	}
	c.notes = append(c.notes[:len(c.notes):len(c.notes)], value)
	return 0
}

func (c *call) setState(key, value string, deleted bool) int32 {
	if key == "" {
		return errInvalid
	}
	if !c.stateEdited {
		c.state, c.stateEdited = maps.Clone(c.state), true
		if c.state == nil {
			c.state = map[string]string{}
		}
		for k, v := range c.state {
			c.stateSize += len(k) + len(v)
		}
	}
	size := c.stateSize
	if old, ok := c.state[key]; ok {
		size -= len(key) + len(old)
	}
	if deleted {
		delete(c.state, key)
		c.stateSize = size
		return 0
	}
	if size += len(key) + len(value); size > maxState {
		return errTooBig
	}
	c.state[key], c.stateSize = value, size
	return 0
}

// log writes a line of the guest's, up to a number of lines per call.
func (c *call) log(level uint32, message, attrs string) {
	if c.lines++; c.lines > maxLogLines {
		return
	}
	levels := []zerolog.Level{zerolog.DebugLevel, zerolog.InfoLevel, zerolog.WarnLevel, zerolog.ErrorLevel}
	line := c.hook.log.WithLevel(levels[min(level, 3)])
	if !line.Enabled() {
		return
	}
	room := maxLogLine
	cut := func(s string) string {
		s = s[:min(len(s), room)]
		room -= len(s)
		return c.masked(s)
	}
	message = cut(message)
	words := strings.Split(strings.TrimSuffix(attrs[:min(len(attrs), room)], "\x00"), "\x00")
	for i := 0; i+1 < len(words) && words[i] != ""; i += 2 {
		line = line.Str("hook."+cut(words[i]), cut(words[i+1]))
	}
	line.Msg(message)
}

// flush logs what the call left over: how many lines were dropped, and what the guest printed.
func (c *call) flush() {
	if n := c.lines - maxLogLines; n > 0 {
		c.hook.log.Warn().Msg(fmt.Sprintf("dropped %d lines", n))
	}
	if line := c.hook.log.Debug(); len(c.stderr) > 0 && line.Enabled() {
		line.Msg("printed: " + c.masked(string(c.stderr)))
	}
}

// masked is a guest's words as the log may show them: the guest saw output that nothing has taken the secrets out of yet.
func (c *call) masked(s string) string {
	s = strings.ToValidUTF8(s, "?")
	if c.hook.mask == nil {
		return s
	}
	return c.hook.mask(c.req, s)
}
