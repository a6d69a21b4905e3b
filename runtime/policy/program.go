package policy

import (
	"slices"
	"strings"
	"sync"
)

// program is what the analysis knows of a program that can start others. The tables are written as rows; each row is
// parsed once.
type program struct {
	names  string // "nice" or "vi vim nvim"
	opts   string // all its options, see parseOptions
	rest   string // what the operands are: see wrapper
	handle func(a *analyser, p *program, args []arg, s scope)

	short map[byte]kind1
	long  map[string]kind1
	once  sync.Once
	first string // the first of names
}

// kind1 says what an option takes.
type kind1 uint8

const (
	optNone  kind1 = iota + 1
	optValue       // a value: glued, after =, or the next word
	optMaybe       // an optional value, glued or after = only
	optCode        // a value that is shell code, or a command line
	optSet         // a value that sets a variable: NAME=VALUE or NAME
	optStop        // what follows is no longer read as this program's options
	optDeny        // it makes the program run something that cannot be seen here
	optInfo        // help or version: nothing is started
)

// parseOptions reads the options of a row. One token is one option: "-i" or "--long" take nothing, "-n:" and "--long="
// take a value, "-e?" and "--long?" may have one glued; "-c:code", "--cmd=code" take code text, "-e:set" a variable; "-x!"
// is refused.
func (p *program) parseOptions() {
	p.short, p.long = map[byte]kind1{}, map[string]kind1{}
	for tok := range strings.FieldsSeq(p.opts) {
		name, kind := tok, optNone
		if tok == "-" { // the dash alone, as in env - and su -
			p.long[tok] = optNone
			continue
		}
		if i := strings.IndexAny(tok[2:], ":=?!%"); i >= 0 && !strings.HasPrefix(tok, "-:") {
			name = tok[:i+2]
			switch tok[i+2:] {
			case ":", "=":
				kind = optValue
			case "?":
				kind = optMaybe
			case ":code", "=code":
				kind = optCode
			case ":set", "=set":
				kind = optSet
			case "!":
				kind = optDeny
			case "%":
				kind = optInfo
			default:
				panic("policy: option " + tok + " of " + p.names)
			}
		}
		if len(name) == 2 && name[0] == '-' && name[1] != '-' {
			p.short[name[1]] = kind
		} else {
			p.long[name] = kind
		}
	}
}

// index is built at its first use and never changes after that.
var index struct {
	once sync.Once
	rows map[string]*program
}

// programs returns all rows by name.
func programs() map[string]*program {
	index.once.Do(func() { index.rows = buildIndex() })
	return index.rows
}

func buildIndex() map[string]*program {
	m := map[string]*program{}
	for _, rows := range [][]*program{wrapperTable(), shellTable(), builtinTable(), toolTable()} {
		for _, p := range rows {
			for name := range strings.FieldsSeq(p.names) {
				if p.first == "" {
					p.first = name
				}
				if m[name] != nil {
					panic("policy: two rows for " + name)
				}
				m[name] = p
			}
		}
	}
	return m
}

func (a *analyser) program(name string) *program {
	if p := a.site[name]; p != nil {
		return p
	}
	if p := programs()[name]; p != nil {
		return p
	}
	return versioned(name)
}

// versioned finds bash5, python3.11 and their like by their plain name.
func versioned(name string) *program {
	plain := strings.TrimRight(name, "0123456789.-")
	if plain != name && plain != "" {
		return programs()[plain]
	}
	return nil
}

// wraps says whether the program starts others by itself, so that listing it lists more than its name.
func (p *program) wraps() bool { return p.rest != "data" || p.names == "git" }

// program makes a row of the owner's declaration.
func (w *Wrapper) program() *program {
	p := &program{names: w.Name, first: fold(w.Name), rest: strings.Repeat("operand ", w.Positionals) + "command"}
	opts := slices.Clone(w.Options)
	for _, o := range w.OptionsWithValue {
		if len(o) == 2 {
			opts = append(opts, o+":")
		} else {
			opts = append(opts, strings.TrimSuffix(o, "=")+"=")
		}
	}
	p.opts = strings.Join(opts, " ")
	return p
}

func (p *program) open(a *analyser, args []arg, s scope) {
	p.once.Do(p.parseOptions)
	if p.handle != nil {
		p.handle(a, p, args, s)
		return
	}
	a.wrapper(p, args, s)
}
