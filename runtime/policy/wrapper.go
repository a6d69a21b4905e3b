package policy

import (
	"strings"
)

// options walks the options of a program in the way getopt_long does.
type options struct {
	a      *analyser
	p      *program
	args   []arg
	i      int
	s      scope
	via    string
	strict bool // an unknown option is refused
	lax    bool // an unknown option makes what follows doubtful
	unsure int  // index of the first word that was counted as one although it is only known at run time, 0 for none
	failed bool // it cannot be told where the operands are; a reason was given
	info   bool // --help and its like
	seen   func(name string, value *arg)
}

func (a *analyser) options(p *program, args []arg, s scope) *options {
	return &options{a: a, p: p, args: args, i: 1, s: s, via: p.first, strict: true}
}

func (o *options) fail(w *arg, message string) {
	o.failed = true
	o.a.cannotTell("R7", w, o.s, message, "")
	if o.a.suspects == 0 {
		o.a.doubt(o.args[o.i:], o.s.wrapped(o.via))
	}
}

// next consumes options and returns the next operand's index, or -1 at the end.
func (o *options) next() int {
	for o.i < len(o.args) && !o.failed {
		w := &o.args[o.i]
		switch {
		case w.kind == aTail:
			return o.i
		case w.is("-") && o.p.long["-"] != 0:
			o.i++
		case w.is("--"):
			o.i++
			if o.i < len(o.args) {
				return o.i
			}
			return -1
		case strings.HasPrefix(w.val, "--") && len(w.val) > 2:
			o.longOption(w)
		case strings.HasPrefix(w.val, "-") && len(w.val) > 1:
			o.shortOptions(w)
		case strings.HasPrefix(w.val, "-") && w.kind != aLit:
			o.fail(w, "whether this is an option of "+o.p.first+" is only known at run time")
		default:
			return o.i
		}
	}
	return -1
}

// find resolves a long option, abbreviations included.
func (o *options) find(name string) (string, kind1) {
	if k, ok := o.p.long[name]; ok {
		return name, k
	}
	found, kind := "", kind1(0)
	for full, k := range o.p.long {
		if strings.HasPrefix(full, name) && strings.HasPrefix(full, "--") {
			if kind != 0 && kind != k {
				return "", 0
			}
			if found == "" || full < found {
				found = full
			}
			kind = k
		}
	}
	return found, kind
}

func (o *options) longOption(w *arg) {
	name, value, glued := strings.Cut(w.val, "=")
	if !glued && w.kind != aLit {
		o.fail(w, "which option of "+o.p.first+" this is is only known at run time")
		return
	}
	full, kind := o.find(name)
	if kind == 0 {
		o.unknown(w)
		return
	}
	if glued && !o.glued(w, false) {
		return
	}
	o.i++
	v := *w
	v.val = value
	switch {
	case glued && kind == optNone:
		o.unknown(w)
	case glued:
		o.take(full, kind, gluedValue(w, len(name)+1))
	case kind == optNone, kind == optMaybe, kind == optDeny, kind == optInfo:
		o.take(full, kind, nil)
	default:
		o.separate(full, kind)
	}
}

// shortOptions reads a cluster like -xvf FILE.
func (o *options) shortOptions(w *arg) {
	if k, ok := o.p.long[w.val]; ok && w.kind == aLit { // a long option with one dash
		o.i++
		if k == optValue || k == optCode || k == optSet {
			o.separate(w.val, k)
		} else {
			o.take(w.val, k, nil)
		}
		return
	}
	if name, _, ok := strings.Cut(w.val, "="); ok && o.p.long[name] > optNone {
		o.i++
		o.take(name, o.p.long[name], gluedValue(w, len(name)+1))
		return
	}
	for j := 1; j < len(w.val); j++ {
		c := w.val[j]
		kind, ok := o.p.short[c]
		if !ok && '0' <= c && c <= '9' {
			kind, ok = o.p.short['#'], o.p.short['#'] != 0 // "-#" in a row: a number is an option
		}
		switch {
		case !ok:
			o.unknown(w)
			return
		case kind == optNone || kind == optInfo || kind == optDeny:
			o.take("-"+string(c), kind, nil)
		case kind == optMaybe || j+1 < len(w.val) || w.kind != aLit:
			if !o.glued(w, j+1 == len(w.val)) {
				return
			}
			o.i++
			o.take("-"+string(c), kind, gluedValue(w, j+1))
			return
		default:
			o.i++
			o.separate("-"+string(c), kind)
			return
		}
	}
	if w.kind != aLit {
		o.fail(w, "which option of "+o.p.first+" this is is only known at run time")
		return
	}
	o.i++
}

// glued judges a value that stands in the option's own word: an unquoted one may split, and one that may be empty leaves
// the next word to the option.
func (o *options) glued(w *arg, empty bool) bool {
	switch {
	case w.kind == aLit || w.kind == aOne && !empty:
		return true
	case w.kind == aSplit && !w.free && !w.all && o.strict:
		o.fail(w, "this word may become several before the command that "+o.p.first+" starts")
		return false
	}
	if o.unsure == 0 {
		o.unsure = o.i
	}
	return true
}

// gluedValue is what follows in the same word.
func gluedValue(w *arg, from int) *arg {
	v := *w
	v.val = w.val[min(from, len(w.val)):]
	if w.kind != aLit {
		v.word = nil
		if w.all {
			v.all, v.vals = false, nil
		}
		v.vals = nil
	}
	return &v
}

func (o *options) separate(name string, kind kind1) {
	if o.i >= len(o.args) {
		return
	}
	w := &o.args[o.i]
	if !o.operand(w) {
		return
	}
	o.i++
	o.take(name, kind, w)
}

func (o *options) unknown(w *arg) {
	if o.lax && o.unsure == 0 {
		o.unsure = o.i
	}
	if o.lax || !o.strict {
		o.i++
		return
	}
	o.fail(w, o.a.show(w)+" is no documented option of "+o.p.first)
}

// take looks at an option's value.
func (o *options) take(name string, kind kind1, v *arg) {
	switch kind {
	case optCode:
		if v != nil {
			o.a.runCode("sh", []arg{*v}, o.s, o.via+" "+name)
		}
	case optSet:
		if v != nil {
			o.a.setWord(v, o.s, o.via)
		}
	case optDeny:
		o.fail(&o.args[min(o.i, len(o.args)-1)], "the option "+name+" of "+o.p.first+" starts what cannot be seen here")
	case optInfo:
		o.info = true
	}
	if o.seen != nil {
		o.seen(name, v)
	}
}

// operand says whether w counts as exactly one word, and remembers when that is a guess.
func (o *options) operand(w *arg) bool {
	switch {
	case w.kind == aLit && !w.special, w.kind == aTail:
		return true
	case w.kind == aOne && w.val != "" && w.val[0] != '-' && !w.special:
		return true // its beginning shows that it is no option
	case w.kind == aOne && !w.special, w.kind == aSplit && (w.free || w.all) && !w.special:
		if o.unsure == 0 {
			o.unsure = o.i
		}
		return true
	case w.kind == aOne && w.special && strings.HasPrefix(w.val, "~"):
		return true
	}
	o.fail(w, "this word may become none or several before the command that "+o.p.first+" starts")
	return false
}

// wrapper opens a program by its row. What the operands are is a list of words:
//
//	operand   one word that is data
//	assign    any number of NAME=VALUE
//	command   the rest is a command
//	code      the rest, joined by blanks, is code text
//	data      the rest is data, options may stand anywhere in it
func (a *analyser) wrapper(p *program, args []arg, s scope) {
	o := a.options(p, args, s)
	shape := strings.Fields(p.rest)
	if p.rest == "data" {
		o.strict = false
	}
	for {
		i := o.next()
		if i < 0 || o.failed {
			return
		}
		w := &args[i]
		if w.is("-") && p.long["-"] != 0 { // also behind --
			o.i++
			continue
		}
		if shape[0] == "assign" {
			if o.assignment(w) {
				if o.failed {
					return
				}
				continue
			}
			shape = shape[1:]
		}
		switch shape[0] {
		case "operand":
			if !o.operand(w) {
				return
			}
			o.i++
			if shape = shape[1:]; len(shape) == 0 {
				return
			}
		case "data":
			o.i++
		default:
			a.inner(o, shape[0], i)
			return
		}
	}
}

// assignment consumes w if it is NAME=VALUE. A word that is only known in part may be one or the command.
func (o *options) assignment(w *arg) bool {
	if w.kind == aTail {
		return false
	}
	if w.kind == aSplit && !w.free && !w.all {
		if strings.IndexByte(w.val, '=') >= 0 {
			o.fail(w, "this word may become none or several before the command that "+o.p.first+" starts")
			return true
		}
		return false
	}
	assigned := strings.IndexByte(w.val, '=') >= 0
	for _, v := range w.vals {
		assigned = assigned || strings.IndexByte(v, '=') >= 0
	}
	if w.kind != aLit && o.unsure == 0 && (!assigned || w.kind == aSplit) {
		o.unsure = o.i
	}
	if assigned {
		o.a.setWord(w, o.s, o.p.first)
		o.i++
	}
	return assigned
}

// inner opens the command or code text that begins at args[i].
func (a *analyser) inner(o *options, what string, i int) {
	rest := o.args[i:]
	s := o.s.wrapped(o.via)
	if what == "code" {
		if rest[0].kind == aTail {
			a.cannotTell("R7", &rest[0], o.s, "the command that "+o.p.first+" runs comes from the data", "")
			return
		}
		a.runCode("sh", rest, o.s, o.via)
	} else {
		a.call(rest, s)
	}
	if o.unsure > 0 {
		a.doubt(rest, s)
	}
}
