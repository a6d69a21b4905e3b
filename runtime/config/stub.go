package config

import (
	"fmt"
	"reflect"
	"strings"
)

// Stub is the language as a typed Python stub: an editor that knows Python completes and checks config.star with it.
func Stub(o Options) string {
	var b strings.Builder
	b.WriteString("\"\"\"The functions of cmd-exec-mcp's config.star. Made from the program by `cmd-exec-mcp stub`.\"\"\"\n\n" +
		"from typing import Any, Callable\n\n")
	for _, c := range constants {
		fmt.Fprintf(&b, "%s: int = %d\n", c.name, c.value)
	}
	b.WriteString("\nclass host:\n    \"\"\"The machine that the server runs on.\"\"\"\n\n    os: str\n    arch: str\n    hostname: str\n    user: str\n\n" +
		"class json:\n    @staticmethod\n    def encode(x: Any) -> str: ...\n    @staticmethod\n    def decode(x: str, default: Any = ...) -> Any: ...\n" +
		"    @staticmethod\n    def indent(str: str, *, prefix: str = \"\", indent: str = \"\\t\") -> str: ...\n\n" +
		"class struct:\n    def __init__(self, **fields: Any) -> None: ...\n    def __getattr__(self, name: str) -> Any: ...\n\n" +
		"def deny(reason: str) -> Any:\n    \"\"\"What a hook's before returns to refuse the command.\"\"\"\n\n" +
		"def ask(reason: str) -> Any:\n    \"\"\"What a hook's before returns to let a person decide.\"\"\"\n\n" +
		"def load(module: str, *names: str, **renamed: str) -> None: ...\ndef fail(*args: Any) -> None: ...\n")
	l := &loader{o: o, functions: language(o)}
	for _, f := range l.functions {
		if f.returns == "" {
			fmt.Fprintf(&b, "\nclass %s:\n    \"\"\"%s.\n\n%s    \"\"\"\n\n    def __init__(\n        self,\n%s    ) -> None: ...\n",
				f.name, sentence(f.doc), l.stubDocs(f, "    "), l.stubArgs(f, "        "))
			continue
		}
		fmt.Fprintf(&b, "\ndef %s(\n%s) -> %s:\n    \"\"\"%s.\n\n%s    \"\"\"\n    ...\n",
			f.name, l.stubArgs(f, "    "), f.returns, sentence(f.doc), l.stubDocs(f, "    "))
	}
	return b.String()
}

func (l *loader) stubDocs(f function, indent string) string {
	var b strings.Builder
	for _, a := range fieldsOf(reflect.TypeOf(f.fresh()).Elem()) {
		fmt.Fprintf(&b, "%s%s: %s\n", indent, a.name, strings.ReplaceAll(a.doc, `\`, `\\`))
	}
	return b.String()
}

// stubArgs lists the parameters: those that may go without a name first, then those that need one.
func (l *loader) stubArgs(f function, indent string) string {
	v := reflect.ValueOf(f.fresh()).Elem()
	var b strings.Builder
	fields, star := fieldsOf(v.Type()), false
	for _, positional := range []bool{true, false} {
		for _, a := range fields {
			if a.positional != positional {
				continue
			}
			if !positional && !star {
				star = true
				fmt.Fprintf(&b, "%s*,\n", indent)
			}
			if a.required {
				fmt.Fprintf(&b, "%s%s: %s,\n", indent, a.name, l.stubType(a.typ))
				continue
			}
			t, def := l.stubType(a.typ), defaultOf(v.Field(a.index), a)
			if def == "None" && t != "Any" {
				t += " | None"
			}
			fmt.Fprintf(&b, "%s%s: %s = %s,\n", indent, a.name, t, def)
		}
	}
	return b.String()
}

// stubType is a type in Python's words.
func (l *loader) stubType(t reflect.Type) string {
	if t == reflect.TypeFor[targets]() {
		var kinds []string
		for _, d := range l.o.Backends {
			kinds = append(kinds, d.Name)
		}
		one := strings.Join(kinds, " | ")
		return strings.TrimPrefix(fmt.Sprintf("%s | dict[str, %s]", one, one), " | ")
	}
	switch t {
	case durationType:
		return "float"
	case reflect.TypeFor[cwd]():
		return "str"
	case reflect.TypeFor[command]():
		return "Callable[[Any], list[str] | str]"
	case reflect.TypeFor[annotations]():
		return "dict[str, bool | str]"
	}
	if kinds := l.makers(t); len(kinds) > 0 {
		return strings.Join(kinds, " | ")
	}
	if t.Kind() != reflect.Slice && (t.Implements(reflect.TypeFor[fromConfig]()) || reflect.PointerTo(t).Implements(reflect.TypeFor[fromConfig]())) {
		return "Any"
	}
	switch t.Kind() {
	case reflect.String:
		return "str"
	case reflect.Bool:
		return "bool"
	case reflect.Int, reflect.Int64:
		return "int"
	case reflect.Float64:
		return "float"
	case reflect.Slice:
		return "list[" + l.stubType(t.Elem()) + "]"
	case reflect.Map:
		return "dict[str, " + l.stubType(t.Elem()) + "]"
	case reflect.Pointer:
		return l.stubType(t.Elem())
	case reflect.Func:
		if t == reflect.TypeFor[Func2]() {
			return "Callable[[Any, Any], Any]"
		}
		return "Callable[[Any], Any]"
	}
	return "Any"
}

func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + strings.TrimSuffix(s[1:], ".")
}
