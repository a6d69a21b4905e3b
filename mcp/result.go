package mcp

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"cmd-exec-mcp/runtime/job"
)

// reply writes results as the one JSON object that a client gets.
type reply struct {
	object
	tool   *tool
	fields map[string]bool // of the fields that are always there; nil: all
	notes  []string        // about the arguments
	file   bool            // a file tool's, which has a "success" in every reply
}

func (o *reply) wants(field string) bool { return o.fields == nil || o.fields[field] }

// result writes one whole result. Lean leaves out what says nothing: replies about sessions are many and small, and a chatty
// program costs half the bytes.
func (o *reply) result(r job.Result, lean bool) {
	o.open()
	o.resultMembers(r, lean)
	o.finish(r)
}

func (o *reply) resultMembers(r job.Result, lean bool) {
	o.output("stdout", r.Stdout, lean)
	o.output("stderr", r.Stderr, lean)
	if r.Exit != nil && o.wants("exit_code") {
		o.int("exit_code", int64(exitCode(*r.Exit)))
	}
	if o.wants("duration") && (!lean || r.Exit != nil) {
		o.seconds("duration", r.Elapsed)
	}
	timedOut := r.Exit != nil && r.Exit.Cause == job.TimedOut
	if o.wants("is_timeout") && (!lean || timedOut) {
		o.bool("is_timeout", timedOut)
	}
	if o.wants("command_echo") && !lean {
		o.str("command_echo", r.Echo)
	}
	if o.wants("output_file") && (!lean || r.OutputFile != "") {
		o.str("output_file", r.OutputFile)
	}
	if r.Exit != nil {
		o.say("signal", r.Exit.Signal)
	}
	if lean || r.Session != "" || r.Exit == nil {
		o.say("session_id", r.Session)
		o.bool("is_running", r.Exit == nil)
	}
}

// finish writes the members that only come when they say something, and closes the object.
func (o *reply) finish(r job.Result) {
	if r.Truncated {
		o.bool("truncated", true)
		o.int("omitted_bytes", r.Stdout.Omitted+r.Stderr.Omitted)
		o.int("omitted_offset", r.Omitted)
	}
	if r.Session != "" {
		o.int("next_offset", r.Next)
	}
	if r.Dropped > 0 {
		o.int("dropped_bytes", r.Dropped)
	}
	if r.Exit != nil && len(r.Exit.Survivors) > 0 {
		o.survivors(r.Exit.Survivors)
	}
	o.say("cwd", r.Dir)
	o.say("target", r.Target)
	if r.Stdout.Base64 || r.Stderr.Base64 {
		o.str("encoding", "base64")
	}
	if r.Shell != "" && (len(o.tool.Shells) == 0 || r.Shell != o.tool.Shells[0]) {
		o.str("shell", r.Shell)
	}
	o.sayNotes(resultNotes(r))
	o.say("hint", hint(r))
	o.close()
}

// resultNotes joins what the engine and the process's end have to say; some of it may come twice.
func resultNotes(r job.Result) []string {
	notes := slices.Clone(r.Notes)
	if r.Exit != nil {
		for _, note := range r.Exit.Notes {
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	if r.Held {
		notes = append(notes, "nothing ran yet: what was sent is held until its statement is complete")
	}
	return notes
}

func hint(r job.Result) string {
	if r.Hint == "" && r.Exit != nil {
		return r.Exit.Hint
	}
	return r.Hint
}

// sayNotes writes the notes about the arguments, once, and those given.
func (o *reply) sayNotes(more []string) {
	notes := append(o.notes, more...)
	o.notes = nil
	if len(notes) > 0 {
		o.list("notes", notes)
	}
}

func (o *reply) output(name string, t job.Text, lean bool) {
	if o.wants(name) && (!lean || len(t.Data) > 0) {
		o.bytes(name, t.Data)
	}
}

func (o *reply) survivors(pids []int) {
	o.name("survivors")
	o.array(len(pids), func(i int) { o.buf = strconv.AppendInt(o.buf, int64(pids[i]), 10) })
}

func exitCode(e job.Exit) int {
	if e.Cause == job.TimedOut {
		return -1
	}
	return e.Code
}

// detached is the reply to a call that became a session at once.
func (o *reply) detached(r job.Result) {
	o.open()
	o.resultMembers(r, true)
	if r.Alive != 0 {
		o.seconds("alive_timeout", alive(r.Alive))
	}
	o.finish(r)
}

func alive(d time.Duration) time.Duration {
	if d == job.Unlimited {
		return -time.Second
	}
	return d
}

func (o *reply) sent(r job.Result) {
	o.open()
	o.int("sent", int64(r.Sent))
	o.resultMembers(r, true)
	o.finish(r)
}

func (o *reply) killed(r job.Result) {
	o.open()
	o.bool("killed", r.Exit != nil && r.Exit.Cause == job.Killed)
	o.resultMembers(r, true)
	if r.Exit == nil || len(r.Exit.Survivors) == 0 {
		o.survivors(nil)
	}
	o.finish(r)
}

// outcomes writes the parts of a call in the order given; one that failed has its error in its place.
func (o *reply) outcomes(list []job.Outcome) {
	notes := o.notes
	o.notes = nil
	o.open()
	o.name("results")
	o.array(len(list), func(i int) {
		if list[i].Err != nil {
			o.failure(list[i].Err, list[i].Result)
			return
		}
		o.result(list[i].Result, false)
	})
	o.notes = notes
	o.sayNotes(nil)
	o.close()
}

func (o *reply) sessions(list []job.SessionInfo) {
	o.open()
	o.name("sessions")
	o.array(len(list), func(i int) { o.session(list[i]) })
	o.sayNotes(nil)
	o.close()
}

func (o *reply) session(s job.SessionInfo) {
	o.open()
	o.str("session_id", s.ID)
	o.str("command_echo", s.Echo)
	o.bool("is_running", s.Exit == nil)
	if s.Exit != nil {
		o.int("exit_code", int64(exitCode(*s.Exit)))
	}
	o.str("started", s.Started.UTC().Format(time.RFC3339))
	o.seconds("idle", s.Idle)
	o.close()
}

// failure writes an error's object. What was printed before it stands beside it.
func (o *reply) failure(err error, r job.Result) {
	o.open()
	if o.file {
		o.bool("success", false)
	}
	o.failureMembers(err)
	if e, ok := errors.AsType[*job.Error](err); ok && e.Hint != "" {
		r.Hint = e.Hint // an object has one hint, and what to do about the error comes first
	}
	if len(r.Stdout.Data) > 0 || len(r.Stderr.Data) > 0 || r.Session != "" {
		o.resultMembers(r, true)
	}
	o.finish(r)
}

func (o *reply) failureMembers(err error) {
	o.str("error", err.Error())
	o.str("kind", job.KindOf(err).String())
	e, ok := errors.AsType[*job.Error](err)
	if !ok {
		return
	}
	o.say("retry", e.Retry)
	if len(e.Findings) > 0 {
		o.name("findings")
		o.array(len(e.Findings), func(i int) { o.finding(e.Findings[i]) })
	}
	if e.More > 0 {
		o.int("more_findings", int64(e.More))
	}
	o.say("policy", e.Policy)
}

func (o *reply) finding(f job.Finding) {
	o.open()
	o.str("rule", f.Rule)
	o.say("command", f.Command)
	o.say("via", f.Via)
	o.say("at", f.At)
	o.str("message", f.Message)
	o.say("suggest", f.Suggest)
	o.close()
}
