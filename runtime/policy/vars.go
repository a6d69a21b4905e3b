package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// variables is what the text and the env parameter say about variables, wherever in the text they say it: loops and
// functions make the order of the text no order of time.
type variables struct {
	m      map[string]*variable
	ifsSet bool
}

type variable struct {
	values []string
	opaque bool // some value is not a plain literal
}

// plainValue says whether a value consists of characters that no shell reads as anything but themselves.
func plainValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("_./:@%+=-", c) >= 0) {
			return false
		}
	}
	return true
}

func (v *variables) get(name string) *variable {
	if v.m == nil {
		v.m = map[string]*variable{}
	}
	x := v.m[name]
	if x == nil {
		x = &variable{}
		v.m[name] = x
	}
	return x
}

func (v *variables) add(name, value string) {
	if name == "IFS" {
		v.ifsSet = true
	}
	x := v.get(name)
	const most = 64 // more alternatives than anybody needs to be told apart
	switch {
	case slices.Contains(x.values, value):
	case len(x.values) == most:
		x.opaque = true
	default:
		x.values = append(x.values, value)
		x.opaque = x.opaque || !plainValue(value)
	}
}

// unknown notes that name gets a value that is only known at run time.
func (v *variables) unknown(name string) {
	if name == "IFS" {
		v.ifsSet = true
	}
	v.get(name).opaque = true
}

// ifs says whether the text changes how words are split.
func (v *variables) ifs() bool { return v.ifsSet }

// constants returns the values that a plain expansion of a variable can have, if all are plain literals of the text.
func (v *variables) constants(p *syntax.ParamExp) ([]string, bool) {
	if v.m == nil || !simple(p) {
		return nil, false
	}
	x := v.m[p.Param.Value]
	if x == nil || x.opaque {
		return nil, false
	}
	return x.values, true
}

// free says whether p is the plain expansion of a variable that neither the text nor env sets.
func (v *variables) free(p *syntax.ParamExp) bool {
	return simple(p) && v.m[p.Param.Value] == nil && !shellSet(p.Param.Value)
}

// simple is $x or ${x} with an ordinary name.
func simple(p *syntax.ParamExp) bool {
	return p.Param != nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.Index == nil && p.Slice == nil && p.Repl == nil &&
		p.Names == 0 && p.Exp == nil && p.Flags == nil && p.NestedParam == nil && len(p.Modifiers) == 0 && identifier(p.Param.Value)
}

func identifier(s string) bool {
	if s == "" || '0' <= s[0] && s[0] <= '9' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !(c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9') {
			return false
		}
	}
	return true
}

// shellSet names the variables that a shell fills by itself with pieces of the text.
func shellSet(name string) bool {
	switch name {
	case "_", "REPLY", "OPTARG", "MAPFILE", "COPROC", "FUNCNAME", "DIRSTACK":
		return true
	}
	return strings.HasPrefix(name, "BASH_") || strings.HasPrefix(name, "COMP_") || strings.HasPrefix(name, "READLINE_")
}

// literal returns a word's value if no part of it depends on the run. Globs count as text.
func literal(w *syntax.Word) (string, bool) {
	if w == nil {
		return "", true
	}
	if len(w.Parts) == 1 {
		switch p := w.Parts[0].(type) {
		case *syntax.Lit:
			if strings.IndexByte(p.Value, '\\') < 0 {
				return p.Value, true
			}
		case *syntax.SglQuoted:
			if !p.Dollar {
				return p.Value, true
			}
		}
	}
	var b strings.Builder
	whole := pieces(&b, w.Parts)
	return b.String(), whole
}

// pieces writes the literal text of parts, a NUL for each piece that is only known at run time. It says whether there
// was none.
func pieces(b *strings.Builder, parts []syntax.WordPart) bool {
	whole := true
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(unescapeBare(p.Value))
			continue
		case *syntax.SglQuoted:
			if !p.Dollar {
				b.WriteString(p.Value)
				continue
			}
			if s, ok := decodeDollar(p.Value); ok {
				b.WriteString(s)
				continue
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				if l, ok := q.(*syntax.Lit); ok {
					b.WriteString(unescapeDouble(l.Value))
				} else {
					b.WriteByte(0)
					whole = false
				}
			}
			whole = whole && !p.Dollar
			continue
		}
		b.WriteByte(0)
		whole = false
	}
	return whole
}

// unescapeBare removes what quotes in unquoted text.
func unescapeBare(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			if i++; i >= len(s) || s[i] == '\n' {
				continue
			}
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

// assign takes over one assignment.
func (v *variables) assign(as *syntax.Assign) {
	if as.Name == nil {
		return
	}
	name := as.Name.Value
	if as.Naked {
		v.get(name)
		return
	}
	if as.Array != nil || as.Index != nil || as.Append {
		v.unknown(name)
		if as.Value != nil {
			v.word(name, as.Value)
		}
		if as.Array != nil {
			for _, e := range as.Array.Elems {
				if e.Value != nil {
					v.word(name, e.Value)
				}
			}
		}
		return
	}
	v.word(name, as.Value)
}

// word notes a word as a value of name; of one that is only known in part, its literal pieces.
func (v *variables) word(name string, w *syntax.Word) {
	if value, ok := literal(w); ok {
		v.add(name, value)
		return
	}
	v.unknown(name)
	var b strings.Builder
	pieces(&b, w.Parts)
	if strings.Trim(b.String(), "\x00") != "" {
		v.add(name, b.String())
	}
}

// wordVariables are the variables that a word expands.
func wordVariables(w *syntax.Word) []string {
	var names []string
	syntax.Walk(w, func(n syntax.Node) bool {
		if p, ok := n.(*syntax.ParamExp); ok && p.Param != nil {
			names = append(names, p.Param.Value)
		}
		return true
	})
	return names
}
