package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// stdinKind says where a command's input comes from, as far as a shell among the commands could take it for code.
type stdinKind uint8

const (
	stdinTop     stdinKind = iota // the request's own: what a session types
	stdinPipe                     // a pipe or a device: a stream nobody has seen
	stdinUnknown                  // it depends on the caller
	stdinFile                     // a regular file: a script
	stdinCode                     // literal text
	stdinEmpty
)

// stdin is shared by the commands that read the same stream.
type stdin struct {
	kind  stdinKind
	used  bool   // something before may have read part of it
	why   string // of unknown
	word  *syntax.Word
	body  string // of stdinCode: the text
	plain bool   // of stdinCode: the text holds no expansion
	at    int
}

func topStdin() *stdin               { return &stdin{} }
func pipeStdin() *stdin              { return &stdin{kind: stdinPipe} }
func unknownStdin(why string) *stdin { return &stdin{kind: stdinUnknown, why: why} }

// again is the same stream in a loop: from the second round on part of it is gone.
func (in *stdin) again() *stdin {
	if in.kind == stdinFile || in.kind == stdinEmpty {
		return in
	}
	c := *in
	c.used = true
	return &c
}

// redirects walks the words of a statement's redirections, notes what they write, and returns the stdin they leave.
func (a *analyser) redirects(st *syntax.Stmt, s scope) *stdin {
	in := s.stdin
	for _, r := range st.Redirs {
		if r.Hdoc != nil {
			a.word(r.Hdoc, s)
		}
		if r.Op != syntax.Hdoc && r.Op != syntax.DashHdoc {
			a.word(r.Word, s)
		}
		zero := r.N == nil || r.N.Value == "0"
		switch r.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
			a.writes(r)
		case syntax.RdrInOut:
			a.writes(r)
			if zero {
				in = a.fileStdin(r)
			}
		case syntax.DplOut:
			if v, ok := literal(r.Word); !ok || strings.Trim(v, "0123456789-") != "" {
				a.writes(r)
			}
			if r.N != nil && r.N.Value == "0" {
				in = pipeStdin()
			}
		case syntax.RdrIn:
			if zero {
				in = a.fileStdin(r)
			}
		case syntax.DplIn:
			if zero {
				in = duplicated(r)
			}
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			if zero {
				in = a.textStdin(r)
			}
		}
	}
	return in
}

func duplicated(r *syntax.Redirect) *stdin {
	if v, ok := literal(r.Word); ok && v == "-" {
		return &stdin{kind: stdinEmpty}
	}
	return pipeStdin()
}

func (a *analyser) writes(r *syntax.Redirect) {
	for _, w := range a.expand(r.Word) {
		known := w.kind == aLit
		if w.special && known {
			known = false
		}
		if strings.HasPrefix(w.val, "~") && !quotedStart(r.Word) {
			known = false
		}
		val := w.val
		if lit := r.Word.Lit(); strings.HasPrefix(lit, "~/") && !strings.ContainsAny(lit, "\\*?[{") {
			val, known = lit, true // below a home, which the rules expand
		}
		a.out.Writes = append(a.out.Writes, Write{Path: val, Known: known, At: w.at, Op: r.Op.String()})
	}
}

func quotedStart(w *syntax.Word) bool {
	_, bare := w.Parts[0].(*syntax.Lit)
	return !bare
}

// fileStdin: a regular file is a script, like one that is named; a device or a stream could hold anything.
func (a *analyser) fileStdin(r *syntax.Redirect) *stdin {
	w := a.arg(r.Word, false)
	if w.is("/dev/null") {
		return &stdin{kind: stdinEmpty}
	}
	if w.proc || streamPath(&w) {
		return pipeStdin()
	}
	return &stdin{kind: stdinFile}
}

// streamPath says whether a path is, or may be, below /dev or /proc.
func streamPath(w *arg) bool {
	bad := func(p string) bool {
		for strings.Contains(p, "//") {
			p = strings.ReplaceAll(p, "//", "/")
		}
		return strings.HasPrefix(p, "/dev/") || strings.HasPrefix(p, "/proc/") || p == "/dev" || p == "/proc" ||
			strings.Contains(p, "/../dev/") || strings.Contains(p, "/../proc/") || strings.Contains(p, "../dev/") || strings.Contains(p, "../proc/") ||
			strings.HasPrefix(p, "/./")
	}
	switch {
	case w.kind == aLit:
		return bad(w.val)
	case w.all:
		for _, v := range w.vals {
			if bad(v) {
				return true
			}
		}
		return false
	}
	if w.val != "" { // a known beginning
		return bad(w.val) || w.val == "/" || strings.HasPrefix("/dev/", w.val) || strings.HasPrefix("/proc/", w.val)
	}
	return !w.free && !w.dirOK
}

// textStdin is a here-document or here-string.
func (a *analyser) textStdin(r *syntax.Redirect) *stdin {
	in := &stdin{kind: stdinCode, word: r.Word, at: a.offset(r.Pos())}
	if r.Op != syntax.WordHdoc {
		in.word = r.Hdoc
		if in.word == nil {
			return &stdin{kind: stdinEmpty}
		}
		if quotedDelimiter(r.Word) {
			in.body, in.plain = rawText(r.Hdoc), true
			if r.Op == syntax.DashHdoc {
				in.body = untab(in.body)
			}
			return in
		}
	}
	in.body, in.plain = a.codeText(in.word, r.Op != syntax.WordHdoc)
	if r.Op == syntax.WordHdoc {
		in.body += "\n"
	}
	if r.Op == syntax.DashHdoc {
		in.body = untab(in.body)
	}
	return in
}

func untab(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimLeft(l, "\t")
	}
	return strings.Join(lines, "\n")
}

func quotedDelimiter(w *syntax.Word) bool {
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if strings.IndexByte(p.Value, '\\') >= 0 {
				return true
			}
		default:
			return true
		}
	}
	return false
}

func rawText(w *syntax.Word) string {
	var b strings.Builder
	for _, p := range w.Parts {
		if l, ok := p.(*syntax.Lit); ok {
			b.WriteString(l.Value)
		}
	}
	return b.String()
}
