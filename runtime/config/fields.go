package config

import (
	"fmt"
	"reflect"
	"strings"
)

// A field is one argument of a config function, as a struct's tag describes it:
//
//	Image string `star:"image,required" doc:"the image to run"`
//
// Options: positional (may be given without its name, in the order of the fields), required, path (relative to the
// config's folder, ~ expanded), size (bytes, not negative), secret (never shown).
type field struct {
	name, doc                                   string
	index                                       int
	typ                                         reflect.Type
	positional, required, path, size, concealed bool
}

// fieldsOf reads the tags of struct type t. A tag that cannot be read is a defect of the program and panics.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	for i := range t.NumField() {
		sf := t.Field(i)
		tag, ok := sf.Tag.Lookup("star")
		if !ok {
			continue
		}
		words := strings.Split(tag, ",")
		f := field{name: words[0], doc: sf.Tag.Get("doc"), index: i, typ: sf.Type}
		for _, w := range words[1:] {
			switch w {
			case "positional":
				f.positional = true
			case "required":
				f.required = true
			case "path":
				f.path = true
			case "size":
				f.size = true
			case "secret":
				f.concealed = true
			default:
				panic(fmt.Sprintf("config: %s.%s: unknown option %q in its star tag", t, sf.Name, w))
			}
		}
		if f.name == "" || !sf.IsExported() {
			panic(fmt.Sprintf("config: %s.%s: a star tag needs a name and an exported field", t, sf.Name))
		}
		fields = append(fields, f)
	}
	return fields
}

func names(fields []field) []string {
	list := make([]string, len(fields))
	for i, f := range fields {
		list[i] = f.name
	}
	return list
}
