package config

import (
	"errors"
	"slices"

	"cmd-exec-mcp/runtime/shell"
	"go.starlark.net/starlark"
)

type getenvArgs struct {
	Name    string `star:"name,positional,required" doc:"the variable's name"`
	Default any    `star:"default,positional" doc:"what to return if it is not set"`
}

func newGetenv() getenvArgs { return getenvArgs{} }

func runGetenv(c *call, v any) starlark.Value {
	a := v.(*getenvArgs)
	if s, ok := c.o.Getenv(a.Name); ok {
		return starlark.String(s)
	}
	d, err := toStar(a.Default)
	if err != nil {
		c.fail(c.at("default"), "", "getenv: %s", err)
		return broken{}
	}
	return d
}

type secretArgs struct {
	Name string `star:"name,positional,required" doc:"the variable's name; None is returned if it is not set or empty"`
}

func newSecret() secretArgs { return secretArgs{} }

// runSecret remembers the name even when the variable is not set: a reload may find it set.
func runSecret(c *call, v any) starlark.Value {
	name := v.(*secretArgs).Name
	if !slices.Contains(c.cfg.Secrets, name) {
		c.cfg.Secrets = append(c.cfg.Secrets, name)
	}
	s, _ := c.o.Getenv(name)
	if s == "" {
		return starlark.None
	}
	if !slices.Contains(c.cfg.SecretValues, s) {
		c.cfg.SecretValues = append(c.cfg.SecretValues, s)
	}
	return starlark.String(s)
}

type quoteArgs struct {
	Word any `star:"word,positional,required" doc:"a string, or a list of strings that become words with spaces between"`
}

func newQuote() quoteArgs { return quoteArgs{} }

func runQuote(c *call, v any) starlark.Value {
	switch w := v.(*quoteArgs).Word.(type) {
	case string:
		return starlark.String(shell.Quote(w))
	case []any:
		if argv, ok := stringList(w); ok {
			return starlark.String(shell.QuoteAll(argv))
		}
	}
	c.fail(c.at("word"), `write quote("a b") or quote(["a b", "c"])`, "quote: word is neither a string nor a list of strings")
	return broken{}
}

// quoteLater is quote inside the config's own functions, which run when config.star was read long ago: what they put
// into shell text comes from the call.
func quoteLater(args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var word starlark.Value
	if err := starlark.UnpackArgs("quote", args, kwargs, "word", &word); err != nil {
		return nil, err
	}
	if s, ok := starlark.AsString(word); ok {
		return starlark.String(shell.Quote(s)), nil
	}
	bad := errors.New(`quote: word is neither a string nor a list of strings: write quote("a b") or quote(["a b", "c"])`)
	list, ok := word.(starlark.Sequence)
	if !ok {
		return nil, bad
	}
	var argv []string
	for w := range starlark.Elements(list) {
		s, ok := starlark.AsString(w)
		if !ok {
			return nil, bad
		}
		argv = append(argv, s)
	}
	return starlark.String(shell.QuoteAll(argv)), nil
}

func stringList(list []any) ([]string, bool) {
	out := make([]string, len(list))
	for i, x := range list {
		s, ok := x.(string)
		if !ok {
			return nil, false
		}
		out[i] = s
	}
	return out, true
}
