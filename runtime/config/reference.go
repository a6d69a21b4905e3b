package config

import (
	"fmt"
	"reflect"
	"strings"
)

// Reference is the language as a page of Markdown.
func Reference(o Options) string {
	var b strings.Builder
	b.WriteString("# config.star\n\nSeconds are numbers, -1 is no limit. Sizes are bytes: write `10*MiB`. `None`, or leaving an argument out, means its\n" +
		"default; an empty list means nothing. Relative paths start at the config's folder. Beside the functions below there are\n" +
		"`load()` for files in that folder, `host` (`os`, `arch`, `hostname`, `user`), `json`, `struct`, `deny` and `ask` for hooks, `KiB`, `MiB`, `GiB`, and\n" +
		"Starlark's own functions.\n")
	l := &loader{o: o, functions: language(o)}
	for _, group := range []string{statements, tools, places, rules, around, helpers} {
		fmt.Fprintf(&b, "\n## %s\n", group)
		for _, f := range l.functions {
			if f.group == group {
				l.referenceOf(&b, f)
			}
		}
	}
	return b.String()
}

func (l *loader) referenceOf(b *strings.Builder, f function) {
	fmt.Fprintf(b, "\n### %s\n\n%s.\n\n| argument | type | default | meaning |\n|---|---|---|---|\n", f.name, sentence(f.doc))
	v := reflect.ValueOf(f.fresh()).Elem()
	for _, a := range fieldsOf(v.Type()) {
		def := "`" + defaultOf(v.Field(a.index), a) + "`"
		if a.required {
			def = "required"
		}
		cells := []string{"`" + a.name + "`", "`" + l.stubType(a.typ) + "`", def, a.doc}
		for i, c := range cells {
			cells[i] = strings.ReplaceAll(c, "|", `\|`)
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
}
