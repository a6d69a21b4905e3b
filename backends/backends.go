// Package backends says what a backend is: something that can start a process, on this host or elsewhere.
//
// The interfaces live here, the implementations in the folders below, and backends/all lists them. What backends
// differ in is data (Properties); nothing above this package asks which backend it has.
package backends

import (
	"context"
	"io"

	"cmd-exec-mcp/runtime/job"
	"github.com/rs/zerolog"
)

// Backend starts processes. Its methods may be called concurrently.
type Backend interface {
	// Properties are static; asking for them dials nothing.
	Properties() Properties
	// Resolve says what will really run (shell, working directory), before policy looks at it. It may dial. It is
	// idempotent, and runs again when hooks changed the command. Kinds: NotFound (directory, shell), Invalid, Unavailable.
	Resolve(ctx context.Context, cmd job.Command) (job.Command, error)
	// Start begins a resolved command. ctx bounds the starting, not the process. An error means that nothing was started
	// and that nothing will be written to io.
	Start(ctx context.Context, cmd job.Command, io IO) (Process, error)
	// Close ends what still runs and removes what was made, background processes of finished commands included.
	Close(ctx context.Context) error
}

// Process is a started command. Its methods may be called concurrently and after its end.
type Process interface {
	// Stdin is nil unless Command.Stdin is StdinPipe. A Write returns once the process is killed.
	Stdin() io.WriteCloser
	// Resize changes the terminal's size; Unsupported without a terminal.
	Resize(job.Size) error
	// Signal reaches the whole tree. Signalling an ended process is no error.
	Signal(ctx context.Context, s job.Signal) error
	// Kill is the ladder's last step. What could not be confirmed as ended is in Exit.Survivors.
	Kill(ctx context.Context) error
	// Wait returns when the process has ended and all its output was delivered; none follows. It may be called from
	// several goroutines, and again after Kill, when Exit.Survivors is complete: a leader may end on INT while its children
	// live on. An error (kind Lost) means that the end could not be observed.
	Wait() (job.Exit, error)
}

// IO is where output goes. The writers are called from at most one goroutine each; with a terminal only Stdout is used.
// A written slice belongs to the backend again when Write returns. Write errors are ignored: output is drained to its end.
// Both may be one writer, which then is safe for concurrent use: see Merged.
type IO struct {
	Stdout, Stderr io.Writer          // pointers or nil
	Progress       func(job.Progress) // pulling an image, connecting; may be nil
}

// Merged says that both streams go to one writer. A backend that can gives the command one pipe for both then, since
// nothing else keeps the order in which a program wrote to two.
func (io IO) Merged() bool { return io.Stdout != nil && io.Stdout == io.Stderr }

// Properties is what backends differ in.
type Properties struct {
	Name        string   // "local": for logs and hooks
	Shells      []string // those present, the default first
	Stdin, TTY  bool
	KillTree    bool // false: processes that left the tree may survive a kill
	Isolated    bool // the command cannot reach this host's files, so no working directory needs to be given
	Sandbox     bool // every command gets a place of its own, which ends with it; false: what it changes stays
	Connections int  // how many may be needed at once; 0: does not matter
	Images      []string
	Networks    []string
	Encoding    string // of what its programs print, where a call names none; "" is UTF-8
}

// Filer is optional, of a Backend and of a Process: file access without a shell.
type Filer interface{ Files() Files }

// Files works on absolute paths. Errors have kind NotFound, Invalid, Denied or Unavailable.
type Files interface {
	Read(ctx context.Context, path string, offset, limit int64) ([]byte, job.FileInfo, error)
	Write(ctx context.Context, path string, content []byte) (job.FileInfo, error) // makes parents
	List(ctx context.Context, path string) ([]job.FileInfo, error)
	Stat(ctx context.Context, path string) (job.FileInfo, error)
	Mkdir(ctx context.Context, path string) error
	Delete(ctx context.Context, path string) error // recursive
}

// Runner is optional, of a Process: another command in its sandbox.
type Runner interface {
	Run(ctx context.Context, cmd job.Command, io IO) (Process, error)
}

// Checker is optional, of a Backend: its part of `doctor`.
type Checker interface {
	Check(ctx context.Context) []job.Check
}

// Config is what config.star says of one backend. Its exported fields carry `star` tags (runtime/config explains them).
type Config interface {
	// Validate is pure; its error names the argument and how to write it.
	Validate() error
	// Open dials nothing: a server must start where a backend is down.
	Open(ctx context.Context, env Env) (Backend, error)
}

// Env is what a backend gets from the server it runs in.
type Env struct {
	Data     string // this instance's own folder, 0700, removed after a crash by the next start
	Instance string // a random id, for labels on things that outlive a crash
	Log      zerolog.Logger
	Secrets  []string // names of environment variables that no child may inherit
}

// Driver puts a backend into config.star: a function of this name that fills a Config.
type Driver struct {
	Name   string
	Doc    string        // one sentence, for the reference and the editor stub
	New    func() Config // a pointer to a struct that holds the defaults
	Values []Value
}

// Value is a nested value of a driver's own, like docker's mount(...).
type Value struct {
	Name string
	Doc  string
	New  func() any // a pointer to a struct that holds the defaults
}
