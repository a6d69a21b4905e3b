package config

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// made is what a config function returns: a struct of Go that can only be handed on.
type made struct {
	call *call
	v    any // a pointer to the struct
}

func (m *made) String() string        { return m.call.fn + "(...)" }
func (m *made) Type() string          { return m.call.fn }
func (m *made) Freeze()               {}
func (m *made) Truth() starlark.Bool  { return true }
func (m *made) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: %s", m.Type()) }

// broken stands for a value whose mistake was already reported. Whatever is done with it gives no further mistake.
type broken struct{}

func (broken) String() string                                   { return "(an earlier mistake)" }
func (broken) Type() string                                     { return "mistake" }
func (broken) Freeze()                                          {}
func (broken) Truth() starlark.Bool                             { return true }
func (broken) Hash() (uint32, error)                            { return 1, nil }
func (broken) Name() string                                     { return "mistake" }
func (broken) Attr(string) (starlark.Value, error)              { return broken{}, nil }
func (broken) AttrNames() []string                              { return nil }
func (broken) Iterate() starlark.Iterator                       { return starlark.Tuple{}.Iterate() }
func (broken) Get(starlark.Value) (starlark.Value, bool, error) { return broken{}, true, nil }

func (broken) CallInternal(*starlark.Thread, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
	return broken{}, nil
}

func (broken) Binary(syntax.Token, starlark.Value, starlark.Side) (starlark.Value, error) {
	return broken{}, nil
}

// record is what a function of the config gets: its fields are there as cmd.args and as cmd["args"].
type record struct {
	fields starlark.StringDict
}

func (r record) String() string        { return r.dict().String() }
func (r record) Type() string          { return "record" }
func (r record) Freeze()               {}
func (r record) Truth() starlark.Bool  { return true }
func (r record) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: record") }
func (r record) AttrNames() []string   { return r.fields.Keys() }

func (r record) Attr(name string) (starlark.Value, error) {
	v, ok := r.fields[name]
	if !ok && name == "get" { // as a dict has it
		return starlark.NewBuiltin("get", r.get), nil
	}
	if !ok {
		return nil, starlark.NoSuchAttrError(fmt.Sprintf("there is no .%s: %s", name, didYouMean(name, r.fields.Keys())))
	}
	return v, nil
}

func (r record) Get(key starlark.Value) (starlark.Value, bool, error) {
	name, _ := starlark.AsString(key)
	v, ok := r.fields[name]
	return v, ok, nil
}

func (r record) get(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var name string
	def := starlark.Value(starlark.None)
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &name, &def); err != nil {
		return nil, err
	}
	if v, ok := r.fields[name]; ok {
		return v, nil
	}
	return def, nil
}

func (r record) Items() []starlark.Tuple    { return r.dict().Items() }
func (r record) Iterate() starlark.Iterator { return r.dict().Iterate() }

func (r record) dict() *starlark.Dict {
	d := starlark.NewDict(len(r.fields))
	for _, k := range slices.Sorted(slices.Values(r.fields.Keys())) {
		_ = d.SetKey(starlark.String(k), r.fields[k])
	}
	d.Freeze()
	return d
}

var (
	_ starlark.Callable        = broken{}
	_ starlark.HasAttrs        = broken{}
	_ starlark.HasBinary       = broken{}
	_ starlark.Iterable        = broken{}
	_ starlark.Mapping         = broken{}
	_ starlark.HasAttrs        = record{}
	_ starlark.IterableMapping = record{}
)
