package config

import (
	"fmt"
	"reflect"
	"strings"

	"go.starlark.net/starlark"
)

// want says how a value of type t is written, for the end of a message.
func (l *loader) want(t reflect.Type, f field) string {
	if made := l.makers(t); len(made) > 0 {
		return strings.Join(made, "(...) or ") + "(...)"
	}
	switch {
	case t == durationType:
		return "seconds as a number, like 30 or 0.5 (-1: no limit)"
	case t == reflect.TypeFor[Func2]():
		return "a function with two parameters"
	case t.Kind() == reflect.Func:
		return "a function with one parameter"
	case f.path && t.Kind() == reflect.String:
		return `a path in quotes, like "dir/file"`
	}
	switch t.Kind() {
	case reflect.String:
		return `a string in quotes, like "text"`
	case reflect.Bool:
		return "True or False"
	case reflect.Int, reflect.Int64:
		if f.size {
			return "a whole number of 0 or more, like 1000 or 10*MiB"
		}
		return "a whole number, like 8"
	case reflect.Float64:
		return "a number, like 1.5"
	case reflect.Slice:
		return fmt.Sprintf("a list, like [%s]", l.sample(t.Elem()))
	case reflect.Map:
		return fmt.Sprintf(`a dict, like {"name": %s}`, l.sample(t.Elem()))
	case reflect.Pointer:
		return l.want(t.Elem(), f)
	}
	return "a value of the kind that its description names"
}

// sample is a short value of type t.
func (l *loader) sample(t reflect.Type) string {
	if made := l.makers(t); len(made) > 0 {
		return made[0] + "(...)"
	}
	switch t.Kind() {
	case reflect.String:
		return `"text"`
	case reflect.Bool:
		return "True"
	case reflect.Slice:
		return "[" + l.sample(t.Elem()) + "]"
	case reflect.Map:
		return `{"name": ` + l.sample(t.Elem()) + "}"
	case reflect.Interface:
		return `"value"`
	}
	return "1"
}

// makers are the config functions whose value fits t.
func (l *loader) makers(t reflect.Type) []string {
	var list []string
	if t.Kind() == reflect.Interface && t.NumMethod() == 0 {
		return nil
	}
	for _, f := range l.functions {
		if v := reflect.TypeOf(f.fresh()); f.returns == "" && (v.AssignableTo(t) || v.Elem().AssignableTo(t) && t.Kind() == reflect.Struct) {
			list = append(list, f.name)
		}
	}
	return list
}

// example is a value for an argument that is missing.
func example(f field) string {
	switch {
	case f.typ == durationType:
		return "30"
	case f.typ.Kind() == reflect.String:
		return `"..."`
	case f.typ.Kind() == reflect.Slice:
		return "[...]"
	case f.typ.Kind() == reflect.Map:
		return "{...}"
	}
	return "..."
}

// show is how a message quotes what was given.
func show(v starlark.Value) string {
	s := v.String()
	if r := []rune(s); len(r) > 40 {
		s = string(r[:37]) + "..."
	}
	if v == starlark.None {
		return s
	}
	return fmt.Sprintf("%s (%s)", s, article(v.Type()))
}

func article(noun string) string {
	if noun != "" && strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}
