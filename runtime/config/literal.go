package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"cmd-exec-mcp/runtime/job"
)

// word writes a plain value as config.star would have it.
func word(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case string:
		return fmt.Sprintf("%q", v)
	case []any:
		parts := make([]string, len(v))
		for i, x := range v {
			parts[i] = word(x)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		parts := make([]string, 0, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, fmt.Sprintf("%q: %s", k, word(v[k])))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprint(v)
}

// defaultOf writes the default of an argument, for the stub and the reference. What no literal can say is None.
func defaultOf(v reflect.Value, f field) string {
	switch {
	case f.typ == durationType:
		switch d := time.Duration(v.Int()); d {
		case 0:
			return "None"
		case job.Unlimited:
			return "-1"
		default:
			return fmt.Sprint(d.Seconds())
		}
	case f.size && v.CanInt() && v.Int() >= 1<<10:
		return bytesOf(v.Int())
	}
	switch v.Kind() {
	case reflect.Bool:
		return word(v.Bool())
	case reflect.Int, reflect.Int64, reflect.Float64:
		return fmt.Sprint(v.Interface())
	case reflect.String:
		if v.Len() > 0 {
			return word(v.String())
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.String && !v.IsNil() {
			return word(toAny(v))
		}
	case reflect.Map:
		if v.Type().Elem().Kind() == reflect.String && !v.IsNil() {
			return word(toAny(v))
		}
	case reflect.Pointer:
		if !v.IsNil() && v.Elem().Kind() != reflect.Struct {
			return word(v.Elem().Interface())
		}
	}
	return "None"
}

func bytesOf(n int64) string {
	for i := len(constants) - 1; i >= 0; i-- {
		if unit := int64(constants[i].value); n >= unit && n%unit == 0 {
			return fmt.Sprintf("%d*%s", n/unit, constants[i].name)
		}
	}
	return fmt.Sprint(n)
}

func toAny(v reflect.Value) any {
	if v.Kind() == reflect.Slice {
		list := make([]any, v.Len())
		for i := range list {
			list[i] = v.Index(i).String()
		}
		return list
	}
	m := map[string]any{}
	for k, x := range v.Seq2() {
		m[k.String()] = x.String()
	}
	return m
}
