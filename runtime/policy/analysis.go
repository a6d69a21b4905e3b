package policy

// Kind says how an Exec came about.
type Kind uint8

const (
	Program  Kind = iota // a command by this name is started: a builtin or a program
	Wrapped              // started by a wrapper, an option or a variable that holds a command
	Function             // a call of a function that the same text defined before
	Suspect              // a word that might become a command, should a word before it be an option or nothing
	Script               // a script file that a shell reads; only the blacklist is asked
)

func (k Kind) String() string {
	return [...]string{"program", "wrapped", "function", "suspect", "script"}[min(k, Script)]
}

// Exec is a command that the text would start.
type Exec struct {
	Name  string   // the compared name: base name, folded, without an executable suffix
	Raw   string   // as it was written, quotes removed
	Args  []string // what follows; a word only known at run time stands as ""
	Via   string   // the wrapper it was found in, like "find -exec"; "" for none
	Kind  Kind
	Shell string // the dialect of the text it stands in
	At    int    // byte offset in the text

	hidden bool // its directory is only known at run time
}

// Issue is something that is refused whatever the lists say.
type Issue struct {
	Rule    string
	Command string
	Via     string
	At      int
	Message string
	Suggest string
}

// EnvSet is a variable that the text sets or unsets. Name is "" when it is only known at run time.
type EnvSet struct {
	Name string
	At   int
	Via  string
	IFS  bool // an empty IFS for one read, which changes no command's meaning
}

// Write is a file that the text opens for writing.
type Write struct {
	Path  string // what is known of it from its beginning
	Known bool   // Path is all of it
	At    int
	Op    string
}

// Analysis is what a text would start, set and write.
type Analysis struct {
	Text   string
	Execs  []Exec
	Issues []Issue
	Sets   []EnvSet
	Writes []Write
	Chdir  bool // the text changes its directory somewhere

	Readers []string // dialects of the shells that would read what is typed: the text's own stdin
}
