package config

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"go.starlark.net/starlark"
)

// Limits of one conversion: a list may hold itself, or one list a million times.
const (
	maxDepth  = 32
	maxValues = 100_000
)

// toGo gives v as plain Go: nil, bool, int64, float64, string, []any or map[string]any.
func toGo(v starlark.Value) (any, error) {
	c := converter{left: maxValues}
	return c.value(v, maxDepth)
}

type converter struct {
	left   int
	nested bool // values of config functions may be in it, and come out as their structs
	broken bool // one of them was a mistake
}

func (c *converter) value(v starlark.Value, depth int) (any, error) {
	if c.left--; c.left < 0 || depth < 0 {
		return nil, errors.New("the value is too large, nested too deep, or holds itself")
	}
	switch v := v.(type) {
	case broken:
		c.broken = true
		return nil, nil
	case *made:
		if c.nested {
			return v.v, nil
		}
	case starlark.NoneType:
		return nil, nil
	case starlark.Bool:
		return bool(v), nil
	case starlark.Int:
		n, ok := v.Int64()
		if !ok {
			return nil, errors.New("the number is too large")
		}
		return n, nil
	case starlark.Float:
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, fmt.Errorf("%s is not a number that can be used here", v)
		}
		return float64(v), nil
	case starlark.String:
		return string(v), nil
	case starlark.Bytes:
		return string(v), nil
	case starlark.IterableMapping:
		return c.dict(v, depth)
	case starlark.HasAttrs:
		if _, list := v.(starlark.Iterable); !list {
			return c.attrs(v, depth)
		}
	}
	if it, ok := v.(starlark.Iterable); ok {
		return c.list(it, depth)
	}
	return nil, fmt.Errorf("a %s cannot be used here", v.Type())
}

func (c *converter) list(it starlark.Iterable, depth int) (any, error) {
	list := []any{}
	for v := range starlark.Elements(it) {
		x, err := c.value(v, depth-1)
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	return list, nil
}

func (c *converter) dict(m starlark.IterableMapping, depth int) (any, error) {
	out := map[string]any{}
	for k, v := range starlark.Entries(m) {
		key, ok := starlark.AsString(k)
		if !ok {
			return nil, fmt.Errorf("the key %s is no string", k)
		}
		x, err := c.value(v, depth-1)
		if err != nil {
			return nil, err
		}
		out[key] = x
	}
	return out, nil
}

// attrs takes struct(...) as a dict.
func (c *converter) attrs(v starlark.HasAttrs, depth int) (any, error) {
	if v.Type() != "struct" {
		return nil, fmt.Errorf("a %s cannot be used here", v.Type())
	}
	out := map[string]any{}
	for _, name := range v.AttrNames() {
		a, err := v.Attr(name)
		if err != nil {
			return nil, err
		}
		if out[name], err = c.value(a, depth-1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// toStar is the way back, for the arguments of a config's functions. The result is frozen.
func toStar(v any) (starlark.Value, error) {
	out, err := toStarlark(v)
	if err == nil {
		out.Freeze()
	}
	return out, err
}

func toStarlark(v any) (starlark.Value, error) {
	switch v := v.(type) {
	case nil:
		return starlark.None, nil
	case starlark.Value:
		return v, nil
	case bool:
		return starlark.Bool(v), nil
	case int:
		return starlark.MakeInt(v), nil
	case int64:
		return starlark.MakeInt64(v), nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return starlark.MakeInt64(int64(v)), nil // JSON knows one kind of number; range(p.count) needs an int
		}
		return starlark.Float(v), nil
	case string:
		return starlark.String(v), nil
	case []string:
		list := make([]starlark.Value, len(v))
		for i, s := range v {
			list[i] = starlark.String(s)
		}
		return starlark.NewList(list), nil
	case []any:
		list := make([]starlark.Value, len(v))
		for i, x := range v {
			e, err := toStarlark(x)
			if err != nil {
				return nil, err
			}
			list[i] = e
		}
		return starlark.NewList(list), nil
	case map[string]string:
		return toDict(v)
	case map[string]any:
		return toDict(v)
	}
	return nil, fmt.Errorf("config: a %T cannot be given to a function of the config", v)
}

func toDict[V any](m map[string]V) (starlark.Value, error) {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	d := starlark.NewDict(len(m))
	for _, k := range keys {
		x, err := toStarlark(m[k])
		if err != nil {
			return nil, err
		}
		if err := d.SetKey(starlark.String(k), x); err != nil {
			return nil, err
		}
	}
	return d, nil
}
