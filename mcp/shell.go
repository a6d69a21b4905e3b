package mcp

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"cmd-exec-mcp/runtime/job"
)

// always are the result fields that a reply has unless `fields` says otherwise.
var always = []string{"stdout", "stderr", "exit_code", "duration", "is_timeout", "command_echo", "output_file"}

const (
	defaultCols, defaultRows = 80, 24
	maxCells                 = 10_000
	now                      = 1 // the shortest wait: in job's durations 0 means the default
)

// request turns the arguments of a shell tool into what the engine runs.
func (t *tool) request(a *args) (job.Request, error) {
	req := job.Request{
		Tool:       t.Name,
		Command:    t.makeCommand(a),
		Commands:   a.strs("commands"),
		Parallel:   a.bool("parallel"),
		WaitFor:    a.str("wait_for"),
		Detach:     a.bool("detach"),
		OutputFile: a.str("output_file"),
		Encoding:   a.str("encoding"),
		View:       view(a),
	}
	req.Timeout = positive(a, "timeout")
	req.Alive = positive(a, "alive_timeout")
	wait, given := a.seconds("wait")
	if given && wait == 0 {
		req.Detach = true
	}
	req.Wait = wait
	if a.has("stdin") {
		req.Command.Stdin, req.Command.Input = job.StdinBytes, []byte(a.text("stdin"))
	}
	needsCommand(a, req)
	if a.err != nil {
		return job.Request{}, a.err
	}
	return req, nil
}

func (t *tool) makeCommand(a *args) job.Command {
	c := job.Command{
		Script:  a.str("command"),
		Dir:     a.str("cwd"),
		Shell:   a.choice("shell", t.Shells),
		Login:   a.bool("login"),
		Image:   a.choice("image", t.Images),
		Network: a.choice("network", t.Networks),
	}
	for _, m := range a.pairs("env") {
		switch m.value[0] {
		case '"':
			c.Env = set(c.Env, m.name, unquote(m.value))
		case '{', '[':
			a.wrong("env."+short(m.name), "a string", m.value)
		case 'n': // null: absent
		default:
			c.Env = set(c.Env, m.name, string(m.value))
		}
	}
	if size := a.size(); a.bool("tty") {
		c.TTY = &job.Size{Cols: cmp.Or(size.Cols, defaultCols), Rows: cmp.Or(size.Rows, defaultRows)}
	}
	return c
}

// size is a terminal's, as cols and rows say; 0 where they do not.
func (a *args) size() job.Size {
	var n [2]int64
	for i, name := range []string{"cols", "rows"} {
		cells, given := a.int(name)
		if given && (cells < 1 || cells > maxCells) {
			a.fail("%s must be from 1 to %d, got %d", name, maxCells, cells)
		}
		n[i] = cells
	}
	return job.Size{Cols: int(n[0]), Rows: int(n[1])}
}

func set(m map[string]string, name, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[name] = value
	return m
}

// needsCommand checks that there is something to run. What does not go together with several commands is the engine's to
// refuse, for other callers too.
func needsCommand(a *args, req job.Request) {
	switch {
	case slices.Contains(req.Commands, ""):
		a.fail("commands must not contain an empty string")
	case len(req.Commands) > 0 && req.Command.Script != "":
		a.fail("commands and command cannot be given together").WithHint("put every command into commands")
	case len(req.Commands) == 0 && req.Command.Script == "":
		e := a.fail("command is required")
		e.WithHint("give the shell text as command, or session_id with an action")
		if len(a.notes) > 0 {
			e.WithHint("%s", a.notes[0])
		}
		for _, name := range []string{"keys", "eof", "offset", "tail", "grep"} {
			if a.has(name) {
				e.WithHint("%s is about a session: give its session_id", name)
			}
		}
	}
}

// targets returns where a call runs, and whether the reply is a list. A list in target is accepted.
func (c *call) targets() (names []string, several bool) {
	t, a := c.tool, c.args
	given := append(a.strs("target"), a.strs("targets")...)
	several = a.has("targets") || len(given) > 1
	for _, name := range given {
		members := []string{name}
		switch {
		case slices.Contains(t.Groups, name):
			several = true
			var err error
			if members, err = c.engine.Group(t.Name, name); err != nil {
				a.fail("group %q: %w", name, err)
			}
		case !slices.Contains(t.Targets, name):
			e := a.fail("no target %q", short(name)).WithHint("%s", oneOf(slices.Concat(t.Targets, t.Groups)))
			e.Kind = job.NotFound
		}
		for _, member := range members {
			if !slices.Contains(names, member) {
				names = append(names, member)
			}
		}
	}
	if several && a.has("output_file") {
		a.fail("output_file cannot be combined with several targets").WithHint("run it on one target at a time")
	}
	return names, several
}

// choice returns one of a closed set; a single choice is no parameter and never given.
func (a *args) choice(name string, from []string) string {
	s := a.str(name)
	if s != "" && !slices.Contains(from, s) {
		a.fail("%s cannot be %q", name, short(s)).WithHint("%s", oneOf(from))
	}
	return s
}

func oneOf(names []string) string {
	text := "one of"
	for i, name := range names {
		if i == 20 {
			return text + fmt.Sprintf(" and %d more", len(names)-i)
		}
		text += " " + strconv.Quote(name)
	}
	return text
}

// read is the part of the arguments that says what a session's answer holds.
func (t *tool) read(a *args) job.Read {
	r := job.Read{Tool: t.Name, Session: a.str("session_id"), Offset: job.Unread, Grep: a.str("grep"), WaitFor: a.str("wait_for"), View: view(a)}
	if offset, ok := a.int("offset"); ok {
		r.Offset = offset
	}
	tail, _ := a.int("tail")
	r.Tail = int(min(tail, 1<<30))
	wait, given := a.seconds("wait")
	if given && wait == 0 {
		wait = now
	}
	r.Wait = wait
	return r
}

// send is what is typed into a session: one of text, keys and end of file, or nothing with a new size of the terminal.
func (t *tool) send(a *args) (job.Input, error) {
	in := job.Input{Read: t.read(a), Data: []byte(a.text("command")), Keys: a.strs("keys"), EOF: a.bool("eof")}
	if size := a.size(); size != (job.Size{}) {
		in.Size = &size
	}
	given := 0
	for _, on := range []bool{len(in.Data) > 0, len(in.Keys) > 0, in.EOF} {
		if on {
			given++
		}
	}
	switch {
	case given == 1, given == 0 && in.Size != nil:
	case given == 0:
		a.fail("send needs command (the text), keys or eof").WithHint(`action="read" returns the session's output without sending`)
	default:
		a.fail("send takes one of command, keys and eof, not several").WithHint("send them one after the other")
	}
	if a.err != nil {
		return job.Input{}, a.err
	}
	return in, nil
}

func view(a *args) job.View {
	limit, _ := a.int("limit")
	return job.View{Raw: a.bool("raw"), Merged: a.bool("merged"), Base64: a.bool("base64"), Limit: int(min(limit, 1<<30))}
}

// fields returns which of the fields that are always there this reply has.
func (t *tool) fields(a *args) map[string]bool {
	pairs := a.pairs("fields")
	if len(pairs) == 0 {
		return t.Fields
	}
	set := map[string]bool{}
	for _, m := range pairs {
		on, ok := asBool(m.value)
		switch {
		case !slices.Contains(always, m.name):
			a.notes = append(a.notes, fmt.Sprintf("fields has no %q: %s", short(m.name), oneOf(always)))
		case !ok && !isNull(m.value):
			a.wrong("fields."+m.name, "true or false", m.value)
		}
		set[m.name] = on
	}
	return set
}

// positive is a limit, for which 0 makes no sense on the wire.
func positive(a *args, name string) time.Duration {
	d, given := a.seconds(name)
	if given && d == 0 {
		a.fail("%s must be more than 0 seconds, or -1 for no limit", name).WithHint("leave %s out for its default", name)
	}
	return d
}
