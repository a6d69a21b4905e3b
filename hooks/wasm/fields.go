package wasm

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"cmd-exec-mcp/runtime/job"
)

// writable says whether a field can be set now: 0, errUnsupported or errReadOnly.
func (c *call) writable(field uint32) int32 {
	switch {
	case !c.known(field):
		return errUnsupported
	case field == fieldReason || field == fieldNote || field == fieldState:
		return 0
	case c.event == eventPre && field <= fieldTimeout:
		return 0
	}
	return errReadOnly
}

// known says whether a field exists in the present event.
func (c *call) known(field uint32) bool {
	switch field {
	case fieldReason, fieldConfig, fieldFeatures:
		return true
	case fieldCommand, fieldArgv, fieldDir, fieldEnv, fieldTimeout, fieldTarget, fieldSession, fieldClient,
		fieldTool, fieldBackend, fieldShell, fieldJob, fieldNote, fieldState:
		return c.event != eventInit
	case fieldResult:
		return c.event == eventPost
	}
	return false
}

// get is the import: a field's value, or a negative answer.
func (c *call) get(field uint32, key string) (string, int32) {
	if !c.known(field) || field == fieldReason || field == fieldNote {
		return "", errUnsupported
	}
	cmd := &c.req.Command
	switch field {
	case fieldCommand:
		return present(cmd.Script, len(cmd.Argv) == 0)
	case fieldArgv:
		return present(strings.Join(cmd.Argv, "\x00")+"\x00", len(cmd.Argv) > 0)
	case fieldDir:
		return cmd.Dir, 0
	case fieldEnv:
		return entry(cmd.Env, key)
	case fieldTimeout:
		limit := c.timeout()
		return present(strconv.FormatInt(limit.Milliseconds(), 10), limit > 0)
	case fieldTarget:
		return c.req.Target, 0
	case fieldSession:
		return present(c.req.Session, c.req.Session != "")
	case fieldClient:
		return present(c.req.Client, c.req.Client != "")
	case fieldJob:
		return present(c.req.Job, c.req.Job != "")
	case fieldTool:
		return c.req.Tool, 0
	case fieldBackend:
		return c.req.Backend, 0
	case fieldShell:
		return present(cmd.Shell, len(cmd.Argv) == 0)
	case fieldConfig:
		return c.hook.configured(key)
	case fieldFeatures:
		return c.hook.features, 0
	case fieldState:
		return entry(c.state, key)
	case fieldResult:
		return entry(c.result, key)
	}
	return "", errUnsupported
}

func present(value string, ok bool) (string, int32) {
	if !ok {
		return "", errAbsent
	}
	return value, 0
}

// entry is one value of a map; with an empty key the whole map, sorted.
func entry(m map[string]string, key string) (string, int32) {
	if key != "" {
		value, ok := m[key]
		return present(value, ok)
	}
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(m)) {
		b.WriteString(k + "=" + m[k] + "\x00")
	}
	return b.String(), 0
}

// timeout is how long the command may run; 0 or less: no limit is known. The command's is the one that holds: what the
// caller asked for may be more than the owner allows.
func (c *call) timeout() time.Duration { return cmp.Or(c.req.Command.Timeout, c.req.Timeout) }

// setTimeout lowers it: a hook may not give a command more time than its caller did.
func (c *call) setTimeout(value string) int32 {
	ms, err := strconv.ParseInt(value, 10, 64)
	if err != nil || ms <= 0 || ms > int64(24*365*time.Hour/time.Millisecond) {
		return errInvalid
	}
	d := time.Duration(ms) * time.Millisecond
	if limit := c.timeout(); limit > 0 && d > limit {
		return errInvalid
	}
	req := c.own()
	req.Timeout, req.Command.Timeout = d, d
	return 0
}

// resultOf is field 23.
func resultOf(exit job.Exit, elapsed time.Duration) map[string]string {
	timedOut := "0"
	if exit.Cause == job.TimedOut {
		timedOut = "1"
	}
	return map[string]string{
		"exit_code":  strconv.Itoa(exit.Code),
		"signal":     exit.Signal,
		"timed_out":  timedOut,
		"elapsed_ms": strconv.FormatInt(elapsed.Milliseconds(), 10),
	}
}
