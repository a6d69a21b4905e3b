package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cmd-exec-mcp/runtime/job"
	"go.starlark.net/starlark"
)

// Server is server(...).
type Server struct {
	LogFile       string `star:"log_file" doc:"where the log goes, relative to the config's folder (the built-in config: to the data folder); \"\" is no log"`
	LogLevel      string `star:"log_level" doc:"debug, info, warning or error"`
	LogFormat     string `star:"log_format" doc:"text or json"`
	AuditFile     string `star:"audit_file,path" doc:"where each command is recorded before it runs; None is nowhere"`
	AuditRequired bool   `star:"audit_required" doc:"refuse to run what cannot be recorded"`
	Data          string `star:"data,path" doc:"the folder for logs, journals and caches; None is the platform's usual place"`
	MaxConcurrent int    `star:"max_concurrent" doc:"how many commands run at once; the next one waits up to 5 seconds"`
	MaxSessions   int    `star:"max_sessions" doc:"how many sessions may be open"`
}

func newServer() Server {
	return Server{LogFile: "log.txt", LogLevel: "info", LogFormat: "text", AuditRequired: true, MaxConcurrent: 64, MaxSessions: 64}
}

// Validate implements the decoder's check.
func (s *Server) Validate() error {
	if err := oneOf("log_level", s.LogLevel, "debug", "info", "warning", "error"); err != nil {
		return err
	}
	if err := oneOf("log_format", s.LogFormat, "text", "json"); err != nil {
		return err
	}
	if s.MaxConcurrent < 1 {
		return atLeastOne("max_concurrent", s.MaxConcurrent)
	}
	if s.MaxSessions < 1 {
		return atLeastOne("max_sessions", s.MaxSessions)
	}
	return nil
}

func atLeastOne(name string, n int) error {
	return job.Errorf(job.Invalid, "%s is %d", name, n).WithHint("write a number of 1 or more, or leave it out")
}

func oneOf(name, got string, allowed ...string) error {
	if slices.Contains(allowed, got) {
		return nil
	}
	return job.Errorf(job.Invalid, "%s is %q", name, got).WithHint("write one of %s", quoted(allowed))
}

func quoted(words []string) string {
	q := make([]string, len(words))
	for i, w := range words {
		q[i] = fmt.Sprintf("%q", w)
	}
	return strings.Join(q, ", ")
}

func runServer(c *call, v any) starlark.Value {
	if c.first("server") {
		s := *v.(*Server)
		if strings.HasPrefix(s.LogFile, "~") {
			s.LogFile = c.path(s.LogFile)
		}
		c.cfg.Server = s
	}
	return starlark.None
}

// first is false, and a mistake, when the statement or name was there before.
func (c *call) first(what string) bool {
	if pos, ok := c.once[what]; ok {
		c.fail(c.pos, "merge the two, or take one away", "%s is declared twice, first at %s", what, pos)
		return false
	}
	c.once[what] = c.pos
	return true
}

// Defaults is defaults(...). Durations are as in package job: Unlimited is -1; 0 is "none was said".
type Defaults struct {
	Timeout         time.Duration   `star:"timeout" doc:"seconds until a command is killed, if the call does not say"`
	MaxTimeout      time.Duration   `star:"max_timeout" doc:"the longest timeout a call may ask for, in seconds; None is any"`
	Wait            time.Duration   `star:"wait" doc:"seconds until a command that still runs becomes a session; None is 50 (without end for clients that show progress)"`
	InlineLimit     int             `star:"inline_limit,size" doc:"characters of output in a reply, over both streams; the rest can be read later"`
	OutputLimit     int             `star:"output_limit,size" doc:"characters of preview when a call writes to an output_file"`
	MaxOutput       int64           `star:"max_output,size" doc:"bytes of output kept of one command: its head and its tail"`
	AliveTimeout    time.Duration   `star:"alive_timeout" doc:"seconds without a call about it until a session ends"`
	MaxLife         time.Duration   `star:"max_life" doc:"seconds until a session ends whatever happens; None is never"`
	SessionMaxLines int             `star:"session_max_lines,size" doc:"lines of output kept of one session; 0 is no limit"`
	SessionMaxBytes int64           `star:"session_max_bytes,size" doc:"bytes of output kept of one session"`
	Fields          map[string]bool `star:"fields" doc:"which of the result's fields are sent if the call does not say; None is all"`
}

func newDefaults() Defaults {
	return Defaults{
		Timeout: 30 * time.Second, InlineLimit: 16000, OutputLimit: 8000, MaxOutput: 10 << 20,
		AliveTimeout: 300 * time.Second, SessionMaxLines: 10000, SessionMaxBytes: 10 << 20,
	}
}

var resultFields = []string{"stdout", "stderr", "exit_code", "duration", "is_timeout", "command_echo", "output_file"}

// Validate implements the decoder's check.
func (d *Defaults) Validate() error {
	for _, t := range []struct {
		name  string
		value time.Duration
	}{{"timeout", d.Timeout}, {"alive_timeout", d.AliveTimeout}} {
		if t.value == 0 {
			return job.Errorf(job.Invalid, "%s is 0", t.name).WithHint("write a number of seconds above 0, or -1 for no limit")
		}
	}
	for _, n := range []struct {
		name  string
		value int64
	}{{"inline_limit", int64(d.InlineLimit)}, {"max_output", d.MaxOutput}, {"session_max_bytes", d.SessionMaxBytes}} {
		if n.value < 1000 {
			return job.Errorf(job.Invalid, "%s is %d, which is too little to be of use", n.name, n.value).WithHint("write 1000 or more")
		}
	}
	if d.MaxTimeout > 0 && (d.Timeout > d.MaxTimeout || d.Timeout == job.Unlimited) {
		return job.Errorf(job.Invalid, "timeout is longer than max_timeout").WithHint("raise max_timeout, or lower timeout")
	}
	for name := range d.Fields {
		if !slices.Contains(resultFields, name) {
			return job.Errorf(job.Invalid, "fields has %q, which is no field of a result", name).WithHint("%s", didYouMean(name, resultFields))
		}
	}
	return nil
}

func runDefaults(c *call, v any) starlark.Value {
	if c.first("defaults") {
		d := *v.(*Defaults)
		if d.MaxTimeout == job.Unlimited {
			d.MaxTimeout = 0
		}
		if d.MaxLife == job.Unlimited {
			d.MaxLife = 0
		}
		c.cfg.Defaults = d
	}
	return starlark.None
}
