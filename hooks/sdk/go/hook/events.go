package hook

import (
	"strconv"
	"time"
)

// Cmd is a command before it runs. What the server does not accept (a NUL, a text that is too long) fails the call.
type Cmd struct{ Call }

// SetCommand makes it shell text. Policy looks at it again, as if the caller had written it.
func (c *Cmd) SetCommand(text string) { c.set(fieldCommand, "", text) }

// SetArgv makes it a list of arguments, which no shell reads.
func (c *Cmd) SetArgv(argv ...string) { c.set(fieldArgv, "", join(argv)) }

// SetDir changes where it runs.
func (c *Cmd) SetDir(dir string) { c.set(fieldDir, "", dir) }

// SetEnv sets a variable.
func (c *Cmd) SetEnv(name, value string) { c.set(fieldEnv, name, value) }

// UnsetEnv takes away a variable that the caller passed.
func (c *Cmd) UnsetEnv(name string) { c.check(fieldEnv, name, c.host.unset(fieldEnv, name)) }

// LowerTimeout lets the command run for at most d. A shorter limit stays as it is.
func (c *Cmd) LowerTimeout(d time.Duration) {
	if limit := c.Timeout(); limit == 0 || d < limit {
		c.set(fieldTimeout, "", strconv.FormatInt(d.Milliseconds(), 10))
	}
}

// Stream says which output a chunk is of.
type Stream int32

// The streams. With a terminal, all output is Merged.
const (
	Merged Stream = iota
	Stdout
	Stderr
)

// Flags accompany a chunk.
type Flags int32

// Final: nothing follows on this stream. Idle: the program paused, and what was kept may be a prompt that somebody waits for.
const (
	Final Flags = 1 << iota
	Idle
)

// MaxKeep is the most that a Filter may want to see again, in bytes.
const MaxKeep = 64 << 10

// Chunk is a piece of output: what the last call kept, and what came since, at most 128 KiB. In is valid until the call ends,
// and may be changed.
type Chunk struct {
	Call
	In     []byte
	Stream Stream
	Flags  Flags
	Hidden func() // what Redact calls for each token that it masks; nil for nothing
}

// Write shows p, which it does not keep. More than four times the input and 64 KiB fails the call.
func (c *Chunk) Write(p []byte) {
	if len(p) > 0 && c.host.write(p) < 0 && c.refused == nil {
		c.refused = tooMuch{}
	}
}

type tooMuch struct{}

func (tooMuch) Error() string { return "the filter wrote more than the server takes" }

// Final says whether nothing follows on this stream: then nothing may be kept.
func (c *Chunk) Final() bool { return c.Flags&Final != 0 }

// Idle says whether the program paused.
func (c *Chunk) Idle() bool { return c.Flags&Idle != 0 }

// End is how a command ended.
type End struct{ Call }

func (e *End) result(key string) string {
	value, _ := e.get(fieldResult, key)
	return value
}

// ExitCode is the command's; 0 if a signal ended it.
func (e *End) ExitCode() int {
	code, _ := strconv.Atoi(e.result("exit_code"))
	return code
}

// Signal is the name of the signal that ended it; "" if none did.
func (e *End) Signal() string { return e.result("signal") }

// TimedOut says whether its time ran out.
func (e *End) TimedOut() bool { return e.result("timed_out") == "1" }

// Elapsed is how long it ran.
func (e *End) Elapsed() time.Duration {
	ms, _ := strconv.ParseInt(e.result("elapsed_ms"), 10, 64)
	return time.Duration(ms) * time.Millisecond
}
