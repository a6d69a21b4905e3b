package job

import "time"

// ToolKind says which of the request shapes a tool takes.
type ToolKind uint8

const (
	ShellTool   ToolKind = iota + 1 // Request
	FileTool                        // FileRequest
	CommandTool                     // Request with Args
)

// Tool is what a client is told of a tool. It holds facts; the schema that is made of them is mcp's business.
type Tool struct {
	Name        string
	Kind        ToolKind
	Description string // at most 2 kB, made from the live configuration

	Isolated   bool     // not this host's files: cwd is optional
	Sandbox    bool     // a fresh place for every command: files and run work in a session
	Stdin, TTY bool     // what its backends can do
	Shells     []string // the shells a call may choose from, the default first; fewer than two: no parameter
	Targets    []string // names of its backends, the default first; one unnamed: empty
	Groups     []string // names that stand for several targets
	Images     []string // what a call may choose from, the default first
	Networks   []string

	Timeout, MaxTimeout time.Duration // MaxTimeout 0: none
	Alive               time.Duration
	InlineLimit         int
	OutputLimit         int             // bytes of preview when a call has an output_file
	Fields              map[string]bool // default of `fields`; nil: all

	Params      map[string]map[string]any // overrides of a property's schema; a nil value takes the property away
	Schema      map[string]any            // of a command tool: the whole input schema
	Annotations Annotations
}

// Annotations are hints for clients; each is sent, none is left to a client's default.
type Annotations struct {
	Title                                        string
	ReadOnly, Destructive, Idempotent, OpenWorld bool
}
