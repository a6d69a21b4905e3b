package policy

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"cmd-exec-mcp/runtime/shell"
	"mvdan.cc/sh/v3/syntax"
)

// analyser turns one request into an Analysis. It knows shells and programs and no list.
type analyser struct {
	reeval
	out  *Analysis
	site map[string]*program // the owner's wrapper(...) declarations

	vars      variables
	functions map[string]bool // every function that the text defines anywhere
	free      map[string]int  // functions that need no place on a list, by the offset of their definition
	units     []*unit
	quoted    map[*syntax.CmdSubst]*unit // the texts of backquotes
	pending   []setting

	mark      int   // what was known when the second pass began
	u         *unit // the second pass is in this text
	replaced  *stdin
	commands  int
	started   int
	expanded  int // words of brace expansions
	code      int // bytes of code text so far
	suspects  int // more than 0: only names are compared, nothing else is refused
	inShell   int
	simulated bool // the words are those of one of the other readings
	trouble   bool // a suspect is a shell whose code cannot be told
	args      []string
	pool      []arg // the words of the commands that are being judged, a stack
	inSubst   *stdin
	pipe      *stdin
	flags     []uint8
	probed    map[string]bool
}

// unit is one text: the request's, or code text in it.
type unit struct {
	src    string
	shell  string // bash or sh
	posix  bool   // this reading is the POSIX one
	nested bool   // it stands in a substitution
	origin int    // where it begins in the request's text
	fixed  bool   // its own offsets mean nothing there
	via    string
	level  int
	files  []*syntax.File
}

func (u *unit) start() int { return u.origin }

func (u *unit) at(p syntax.Pos) int {
	if u.fixed {
		return u.origin
	}
	return u.origin + int(p.Offset())
}

func (u *unit) source(n syntax.Node) string {
	from, to := n.Pos().Offset(), n.End().Offset()
	if from > to || to > uint(len(u.src)) {
		return ""
	}
	return u.src[from:to]
}

func (a *analyser) offset(p syntax.Pos) int { return a.u.at(p) }

// setting is a variable whose value is a command, to be looked at when all else is known.
type setting struct {
	name string
	word *syntax.Word
	u    *unit
}

// maxRounds bounds how often the text is read again because code text in it set new variables.
const maxRounds = 4

// analyse normalises and reads one request. What code text sets counts everywhere in the text, so a text whose code text
// sets something is read again with that known.
func (p *Policy) analyse(in Input) *Analysis {
	text, issue := normalise(in.Text)
	if issue != nil {
		return &Analysis{Text: text, Issues: []Issue{*issue}}
	}
	var known variables
	var functions map[string]bool
	for range maxRounds {
		a := analyser{out: &Analysis{Text: text}, site: p.wrappers, vars: known.clone(), functions: maps.Clone(functions)}
		a.where, a.bait, a.bracket, a.head = -1, -1, -1, -1
		if a.functions == nil {
			a.functions = map[string]bool{}
		}
		a.request(in, text)
		if a.known() == a.mark || len(a.out.Issues) > 0 {
			return a.out
		}
		known, functions = a.vars, a.functions
	}
	return &Analysis{Text: text, Issues: []Issue{{Rule: "R14", Message: "code in this text keeps setting what other code in it reads"}}}
}

// known changes whenever something new becomes known.
func (a *analyser) known() int { return a.vars.size() + len(a.functions) }

func (a *analyser) issue(i Issue) {
	if a.suspects > 0 {
		a.trouble = a.trouble || a.inShell > 0 && (i.Rule != "R9" || a.simulated) || a.simulated && (i.Rule == "R2" || i.Rule == "R4")
		return
	}
	if i.Via == "" && a.u != nil {
		i.Via = a.u.via
	}
	if len(a.out.Issues) < maxCollected {
		a.out.Issues = append(a.out.Issues, i)
	}
}

func (a *analyser) sets(s EnvSet) {
	if a.suspects > 0 {
		return
	}
	if rebinding(s.Name) {
		a.issue(Issue{Rule: "R12", Command: s.Name, Via: s.Via, At: s.At, Message: s.Name + " gives a name another meaning"})
	}
	a.out.Sets = append(a.out.Sets, s)
}

func (a *analyser) later(name string, w *syntax.Word, u *unit) {
	if w != nil && holdsCode(name) != dataVar {
		a.pending = append(a.pending, setting{name, w, u})
	}
}

// request reads the whole request: the text or argv, the env parameter, and what the server writes for it.
func (a *analyser) request(in Input, text string) {
	a.env(in)
	for _, path := range in.Writes {
		a.out.Writes = append(a.out.Writes, Write{Path: below(in.Dir, path), Known: true, At: -1, Op: ">"})
	}
	for _, path := range in.Deletes {
		a.out.Execs = append(a.out.Execs, Exec{Name: "rm", Raw: "rm", Args: []string{path}, Via: "delete", Shell: "bash", At: -1})
	}
	switch {
	case in.Argv != nil:
		a.argv(in.Argv)
	case strings.TrimSpace(text) == "":
	case shell.Known(in.Shell):
		name := "bash"
		if in.Shell != "bash" {
			name = "sh"
		}
		a.text(name, text)
	case in.Shell == "cmd":
		a.cmd(text)
	case in.Shell == "pwsh" || in.Shell == "powershell":
		a.pwsh(text)
	default:
		a.issue(Issue{Rule: "R2", Message: "there is no grammar for " + in.Shell + " here, so its text cannot be checked", Suggest: "use bash or sh"})
	}
	a.finishReeval()
}

// below makes an absolute path below dir relative to it, as a redirection there would be written.
func below(dir, path string) string {
	if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, "/")+"/"); ok && dir != "" {
		return rest
	}
	return path
}

// argv is a command without a shell: every word is literal.
func (a *analyser) argv(argv []string) {
	if len(argv) == 0 {
		return
	}
	a.u = &unit{shell: "sh", fixed: true, origin: -1}
	args := make([]arg, len(argv))
	for i, s := range argv {
		args[i] = lit(s, -1)
		if len(s) > maxText || !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0 {
			a.issue(Issue{Rule: "R1", At: -1, Message: "an argument is too long, or holds a NUL or bytes that are not UTF-8"})
			return
		}
	}
	a.mark = a.known()
	a.call(args, scope{stdin: topStdin()})
	a.settle(0)
}

// text reads the request's text.
func (a *analyser) text(name, text string) {
	u := &unit{src: text, shell: name}
	if !a.parse(u) {
		return
	}
	a.mark = a.known()
	a.out.Execs = slices.Grow(a.out.Execs, a.commands+2)
	if name == "bash" {
		a.free = freeFunctions(u.files[0])
	} else {
		a.free = freeFunctions(u.files[len(u.files)-1])
	}
	a.run(u, scope{stdin: topStdin(), top: true})
}

// run makes the second pass over a parsed unit, and over the variables that hold commands.
func (a *analyser) run(u *unit, s scope) {
	outer := a.u
	a.u = u
	mark := len(a.pending)
	for i, f := range u.files {
		u.posix = u.shell == "sh" && i == 0
		a.stmts(f.Stmts, s)
	}
	a.u = outer
	if outer == nil {
		mark = 0
	}
	a.settle(mark)
}

// parse reads u in every grammar of its shell, applies the guards, and makes the first pass.
func (a *analyser) parse(u *unit) bool {
	outer := a.u
	a.u = u
	defer func() { a.u = outer }()
	if u.level > maxLevels || a.code > maxCode {
		a.issue(Issue{Rule: "R14", At: u.start(), Message: "code text is nested too deeply or too long"})
		return false
	}
	a.code += len(u.src)
	grammars := []string{"bash"}
	if u.shell == "sh" {
		grammars = []string{"sh", "bash"}
	}
	for _, g := range grammars {
		f, err := shell.Parse(u.src, g)
		if err != nil {
			a.syntaxError(u, err)
			return false
		}
		u.files = append(u.files, f)
	}
	a.units = append(a.units, u)
	for i, f := range u.files {
		u.posix = u.shell == "sh" && i == 0
		a.guardSource(u, f)
		a.scan(u, f)
	}
	return !a.over()
}

func (a *analyser) over() bool {
	return slices.ContainsFunc(a.out.Issues, func(i Issue) bool { return i.Rule == "R14" })
}

func (a *analyser) syntaxError(u *unit, err error) {
	if strings.Contains(err.Error(), shell.ErrDepth.Error()) {
		a.issue(Issue{Rule: "R14", At: u.start(), Message: "the text is nested too deeply"})
		return
	}
	at := u.start()
	message := err.Error()
	switch e := err.(type) {
	case syntax.ParseError:
		at, message = u.at(e.Pos), e.Text
	case syntax.LangError:
		at = u.at(e.Pos)
		message = "this is not read alike by every " + u.shell
	}
	a.issue(Issue{Rule: "R2", At: at, Message: "cannot be parsed as " + u.shell + ": " + message})
}

func (v *variables) clone() variables {
	c := variables{ifsSet: v.ifsSet}
	for name, x := range v.m {
		y := c.get(name)
		y.values, y.opaque = slices.Clone(x.values), x.opaque
	}
	return c
}

func (v *variables) size() int {
	n := 0
	if v.ifsSet {
		n++
	}
	for _, x := range v.m {
		n++
		if x.opaque {
			n += 1 << 20
		}
		n += len(x.values)
	}
	return n
}
