package hook

import (
	"strconv"
	"strings"
	"time"
)

// Call is what every function of a hook can ask and say. It is valid until the function returns.
type Call struct {
	host host
	// refused is the first thing that the server did not take. It fails the call: a change that was meant and not made is
	// worse than none.
	refused error
}

// get reads a field of any length. ok is false if it is absent here, or unknown to this server.
func (c *Call) get(field int32, key string) (value string, ok bool) {
	buf := make([]byte, 512)
	for {
		n := c.host.get(field, key, buf)
		if n < 0 {
			return "", false
		}
		if int(n) <= len(buf) {
			return string(buf[:n]), true
		}
		buf = make([]byte, n)
	}
}

func (c *Call) text(field int32) string {
	value, _ := c.get(field, "")
	return value
}

func (c *Call) set(field int32, key, value string) {
	c.check(field, key, c.host.set(field, key, value))
}

func (c *Call) check(field int32, key string, answer int32) {
	if answer < 0 && c.refused == nil {
		c.refused = &refusal{answer, field, key}
	}
}

// Config is what config.star tells this hook under a key: a string as it is, anything else as JSON; "" if there is nothing.
func (c *Call) Config(key string) string {
	value, _ := c.get(fieldConfig, key)
	return value
}

// ConfigJSON is all of it.
func (c *Call) ConfigJSON() string { return c.text(fieldConfig) }

// Command is the shell text; "" if the command is a list of arguments.
func (c *Call) Command() string { return c.text(fieldCommand) }

// Argv is the list of arguments; nil if the command is shell text.
func (c *Call) Argv() []string { return split(c.text(fieldArgv)) }

// Dir is where the command runs.
func (c *Call) Dir() string { return c.text(fieldDir) }

// Env is a variable that the caller passed or a hook set; the server's own environment is not to be seen.
func (c *Call) Env(name string) (value string, ok bool) { return c.get(fieldEnv, name) }

// Environ is all of them as name=value, sorted.
func (c *Call) Environ() []string { return split(c.text(fieldEnv)) }

// Timeout is how long the command may run; 0 if there is no limit.
func (c *Call) Timeout() time.Duration {
	ms, _ := strconv.ParseInt(c.text(fieldTimeout), 10, 64)
	return time.Duration(ms) * time.Millisecond
}

// Target is the name of the host it runs on; "" if the tool has only one.
func (c *Call) Target() string { return c.text(fieldTarget) }

// Tool is the tool's name, like execute_remote.
func (c *Call) Tool() string { return c.text(fieldTool) }

// Backend is the kind of place: local, docker, opensandbox, ssh.
func (c *Call) Backend() string { return c.text(fieldBackend) }

// Shell is what reads the command: bash, sh, pwsh, cmd and so on; "" for a list of arguments.
func (c *Call) Shell() string { return c.text(fieldShell) }

// State is what this hook remembered of this job, 4 KiB in all. Variables are no place for it: the next chunk may meet
// another instance. What is about one stream needs the stream in its key.
func (c *Call) State(key string) string {
	value, _ := c.get(fieldState, key)
	return value
}

// SetState remembers something; "" forgets it.
func (c *Call) SetState(key, value string) {
	if value == "" {
		c.check(fieldState, key, c.host.unset(fieldState, key))
		return
	}
	c.set(fieldState, key, value)
}

// Note tells the caller something, at the end of the reply: at most 1 KiB, 16 times a job.
func (c *Call) Note(text string) { c.set(fieldNote, "", text) }

// Info writes a line to the server's log, with names and values.
func (c *Call) Info(message string, attrs ...string) { c.host.log(1, message, join(attrs)) }

// Warn is Info for what somebody should look at.
func (c *Call) Warn(message string, attrs ...string) { c.host.log(2, message, join(attrs)) }

// split takes a list apart, whose entries end with a NUL each.
func split(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(list, "\x00"), "\x00")
}

func join(list []string) string {
	var b strings.Builder
	for _, s := range list {
		b.WriteString(s)
		b.WriteByte(0)
	}
	return b.String()
}
