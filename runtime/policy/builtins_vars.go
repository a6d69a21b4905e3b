package policy

import (
	"strings"
)

// setWord notes NAME=VALUE, or NAME, given as a word: env, export, docker -e.
func (a *analyser) setWord(w *arg, s scope, via string) {
	name, value, assigned := strings.Cut(w.val, "=")
	name = strings.TrimSuffix(name, "+")
	if i := strings.IndexByte(name, '['); i > 0 {
		a.nameArg(arg{kind: aLit, val: name, at: w.at}, true)
		name = name[:i]
	}
	if w.kind != aLit && !assigned {
		name = ""
	}
	if w.kind == aLit && name == "" {
		return // env =1: no variable has this name
	}
	a.sets(EnvSet{Name: name, At: w.at, Via: s.via})
	if name == "" || !assigned {
		return
	}
	a.literalValue(w)
	if w.kind == aLit {
		a.vars.add(name, value)
	} else {
		a.vars.unknown(name)
	}
	switch holdsCode(name) {
	case codeVar:
		a.variableCode(name, gluedCode(a, w, name), w, s)
	case textVar:
		if w.kind == aLit {
			a.expandable(value, w.at, s, name)
		} else if src := gluedCode(a, w, name); src != nil {
			a.expandable(*src, w.at, s, name)
		}
	case optionVar:
		a.optionsVar(name, gluedCode(a, w, name), w, s)
	}
}

// gluedCode is the value part of NAME=VALUE as code text, nil if it is only known at run time.
func gluedCode(a *analyser, w *arg, name string) *string {
	src, ok := a.codeOf([]arg{*w})
	if !ok {
		return nil
	}
	_, v, _ := strings.Cut(src, "=")
	return &v
}

// declare is the family when it stands behind command or builtin, or in a grammar without it.
func (a *analyser) declare(p *program, args []arg, s scope) {
	name := args[0].val
	for i := 1; i < len(args); i++ {
		w := &args[i]
		switch {
		case w.kind == aLit && w.dash():
			if name != "export" && name != "readonly" && strings.Contains(w.val, "n") {
				a.rebind(w, s, "a name reference assigns variables under another name")
			}
			if strings.ContainsAny(w.val, "iaA") {
				a.evals(w.at)
			}
			if name == "export" && strings.Contains(w.val, "f") {
				a.rebind(w, s, "an exported function takes the place of a command in every child shell")
			}
		case w.kind == aLit && strings.HasPrefix(w.val, "+"):
		default:
			a.declared(w, s, name)
		}
	}
}

func (a *analyser) declared(w *arg, s scope, name string) {
	if w.kind != aLit && !strings.Contains(w.val, "=") {
		// export $(grep -v '^#' .env): names from data, as opaque as source .env
		if w.kind == aOne || w.dash() {
			a.evals(w.at)
		}
		if w.dash() {
			a.rebind(w, s, "an option of "+name+" is only known at run time")
		}
		a.sets(EnvSet{At: w.at, Via: s.via})
		return
	}
	left, _, assigned := strings.Cut(w.val, "=")
	a.nameArg(arg{kind: aLit, val: strings.TrimSuffix(left, "+"), at: w.at}, true)
	if strings.IndexByte(left, '[') > 0 {
		a.literalValue(w)
	}
	if assigned || name != "export" {
		a.setWord(w, s, name)
	}
}

// setArg is a word of declare that is no plain assignment: declare "$V" or declare 'a[1]=x'.
func (a *analyser) setArg(variant, v string, whole bool, at int) {
	name, _, assigned := strings.Cut(v, "=")
	if i := strings.IndexByte(name, '['); i > 0 {
		name = name[:i]
	}
	if strings.IndexByte(name, 0) >= 0 || !whole && !assigned {
		name = ""
	}
	a.value(v, at)
	a.sets(EnvSet{Name: name, At: at})
	if name != "" {
		a.vars.unknown(name)
	}
	if holdsCode(name) != dataVar {
		a.issue(Issue{Rule: "R10", Command: name, At: at, Message: "the value of " + name + ", which holds a command, is only known at run time"})
	}
}

// target is a name that a builtin fills.
func (a *analyser) target(w *arg, s scope) {
	a.nameArg(*w, w.kind == aLit)
	name, _, _ := strings.Cut(w.val, "[")
	if w.kind != aLit {
		name = ""
	}
	a.sets(EnvSet{Name: name, At: w.at, Via: s.via})
	if name != "" {
		a.vars.unknown(name)
		if holdsCode(name) != dataVar {
			a.issue(Issue{Rule: "R10", Command: name, Via: s.via, At: w.at, Message: "the value of " + name + ", which holds a command, is only known at run time"})
		}
	}
}

// letters walks the options of a builtin and returns the operands. value is called for each option that has one.
func (a *analyser) letters(args []arg, withValue string, s scope, value func(option byte, w *arg)) []arg {
	for i := 1; i < len(args); i++ {
		w := &args[i]
		if w.is("--") {
			return args[i+1:]
		}
		if !w.dash() || w.is("-") {
			return args[i:]
		}
		for j := 1; j < len(w.val); j++ {
			if strings.IndexByte(withValue, w.val[j]) < 0 {
				continue
			}
			v := gluedValue(w, j+1)
			if j+1 == len(w.val) && w.kind == aLit {
				if i++; i >= len(args) {
					return nil
				}
				v = &args[i]
			}
			value(w.val[j], v)
			break
		}
	}
	return nil
}

func (a *analyser) readBuiltin(p *program, args []arg, s scope) {
	rest := a.letters(args, "adinNptu", s, func(option byte, w *arg) {
		if option == 'a' {
			a.target(w, s)
		}
	})
	for i := range rest {
		a.target(&rest[i], s)
	}
}

func (a *analyser) mapfile(p *program, args []arg, s scope) {
	rest := a.letters(args, "dnOsuCc", s, func(option byte, w *arg) {
		switch option {
		case 'C':
			a.runCode(a.codeShell(), []arg{*w}, s.from(unknownStdin("a callback")), args[0].val+" -C")
		case 'O':
			a.literalValue(w)
			if w.kind != aLit || strings.Trim(w.val, "0123456789") != "" {
				a.evals(w.at)
			}
		}
	})
	for i := range rest {
		a.target(&rest[i], s)
	}
}

func (a *analyser) printf(p *program, args []arg, s scope) {
	named := false
	rest := a.letters(args, "v", s, func(_ byte, w *arg) {
		named = true
		a.target(w, s)
	})
	if len(rest) > 0 && !named && rest[0].kind != aLit && rest[0].val == "" && !rest[0].free && a.codeShell() == "bash" {
		a.assignedOption(&rest[0], s, "-v")
	}
	if named {
		for i := range rest {
			a.literalValue(&rest[i])
		}
	}
}

// assignedOption: a word that is only known at run time may be an option if some value of the text looks like one.
func (a *analyser) assignedOption(w *arg, s scope, option string) {
	for _, v := range a.vars.m {
		for _, value := range v.values {
			if strings.HasPrefix(value, option) {
				a.evals(w.at)
				a.sets(EnvSet{At: w.at, Via: s.via})
			}
		}
	}
}

func (a *analyser) waitBuiltin(p *program, args []arg, s scope) {
	a.letters(args, "p", s, func(_ byte, w *arg) { a.target(w, s) })
}

func (a *analyser) getopts(p *program, args []arg, s scope) {
	if len(args) > 2 {
		a.target(&args[2], s)
	}
}

// test: -v and -R take a variable's name, and so evaluate its subscript.
func (a *analyser) test(p *program, args []arg, s scope) {
	for i := 1; i+1 < len(args); i++ {
		w, v := &args[i], &args[i+1]
		if w.is("-v") || w.is("-R") || w.kind != aLit && w.val == "" && a.anyValue("-v", "-R") {
			a.nameArg(*v, v.kind == aLit)
		}
	}
}

func (a *analyser) anyValue(wanted ...string) bool {
	for _, v := range a.vars.m {
		for _, value := range v.values {
			for _, w := range wanted {
				if value == w {
					return true
				}
			}
		}
	}
	return false
}

func (a *analyser) unset(p *program, args []arg, s scope) {
	rest := a.letters(args, "", s, nil)
	for i := range rest {
		w := &rest[i]
		a.nameArg(*w, w.kind == aLit)
		name, _, _ := strings.Cut(w.val, "[")
		if w.kind != aLit {
			name = ""
		}
		a.sets(EnvSet{Name: name, At: w.at, Via: s.via})
		if name == "" && w.kind != aLit || name == "IFS" {
			a.vars.get("IFS")
		}
	}
}

// let behind command or builtin, or in the POSIX grammar.
func (a *analyser) let(p *program, args []arg, s scope) {
	a.evals(args[0].at)
	for i := range args[1:] {
		w := &args[1+i]
		a.literalValue(w)
		name, _, _ := strings.Cut(w.val, "=")
		name = strings.Trim(name, " +-*/%&|^<>")
		if w.kind != aLit || !identifier(name) {
			name = ""
		}
		a.sets(EnvSet{Name: name, At: w.at, Via: s.via})
	}
}
