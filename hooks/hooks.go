// Package hooks says what a hook is: something that may change or refuse a command before it runs, and filter what it
// prints. Hooks run in the order they are declared; policy looks at the command again after they changed it.
package hooks

import (
	"context"

	"cmd-exec-mcp/runtime/job"
	"github.com/rs/zerolog"
)

// Hook is asked once per job. Its methods may be called concurrently.
type Hook interface {
	// Begin may change the request or refuse it (kind Denied), or return an *Ask as its error. A nil Tap means that there
	// is nothing more to do. The request is a clone: "changed" is a comparison with the original.
	Begin(ctx context.Context, req job.Request) (job.Request, Tap, error)
	Close(ctx context.Context) error
}

// Ask is the error of a hook that wants a person to decide.
type Ask struct {
	Request  job.Request
	Tap      Tap
	Question job.Question
}

func (a *Ask) Error() string { return "a person has to decide: " + a.Question.Reason }

// Flags accompany a chunk of output.
type Flags uint8

const (
	Idle  Flags = 1 << iota // the stream paused: what is carried may be a prompt
	Final                   // nothing follows on this stream
)

// Tap is one job's part of a hook. Calls are serialised. A Tap whose job never started gets none.
type Tap interface {
	// Output filters one chunk. Final comes once per stream, walks the chain first to last and may add bytes. When it fails,
	// the bytes it returns are what it has not shown yet. The result is valid until the next call.
	Output(ctx context.Context, s job.Stream, p []byte, f Flags) ([]byte, error)
	// End comes after both Finals, last hook to first; it adds no output but may add notes.
	End(ctx context.Context, exit job.Exit) (job.Exit, error)
}

// Config is what config.star says of one hook.
type Config interface {
	Validate() error
	Open(ctx context.Context, env Env) (Named, error)
}

// Named is an opened hook. Allow says what happens when its output filter breaks: pass the output on, or withhold it.
type Named struct {
	Name  string
	Allow bool
	Hook
}

// Env is what a hook gets from the server it runs in.
type Env struct {
	Data  string // the running server's own folder; it goes with the server
	Cache string // a folder that outlives it, for what can be made again; "" if there is none
	Log   zerolog.Logger
	Mask  func(job.Request, string) string // takes the secrets out of a text about a request, for the log; nil: none are known
}

// Driver puts a kind of hook into config.star.
type Driver struct {
	Name string
	Doc  string
	New  func() Config
}
