package builtin

import (
	"maps"
	"strings"
	"testing"

	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/runtime/job"
)

func TestBegin(t *testing.T) {
	for _, c := range []struct {
		name   string
		config hooks.Config
		env    map[string]string
		want   map[string]string
	}{
		{"sets", &EnvSet{Vars: map[string]string{"CI": "1"}}, nil, map[string]string{"CI": "1"}},
		{"the call wins", &EnvSet{Vars: map[string]string{"CI": "1"}}, map[string]string{"CI": ""}, map[string]string{"CI": ""}},
		{"nothing", &EnvSet{Vars: map[string]string{}}, map[string]string{"A": "b"}, map[string]string{"A": "b"}},
		{
			"mirrors", &Mirror{Pip: "https://p.example/simple", Npm: "https://n.example", Go: "https://g.example,direct"}, nil,
			map[string]string{"PIP_INDEX_URL": "https://p.example/simple", "npm_config_registry": "https://n.example", "GOPROXY": "https://g.example,direct"},
		},
		{"one mirror", &Mirror{Go: "off"}, map[string]string{"GOPROXY": "direct"}, map[string]string{"GOPROXY": "direct"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.config.Validate(); err != nil {
				t.Fatal(err)
			}
			hook, err := c.config.Open(t.Context(), hooks.Env{})
			if err != nil {
				t.Fatal(err)
			}
			before := maps.Clone(c.env)
			got, tap, err := hook.Begin(t.Context(), job.Request{Command: job.Command{Env: maps.Clone(c.env)}})
			if err != nil || tap != nil || !maps.Equal(got.Command.Env, c.want) {
				t.Errorf("got %v, tap %v, error %v; want %v", got.Command.Env, tap, err, c.want)
			}
			if !maps.Equal(before, c.env) {
				t.Errorf("the caller's variables changed: %v", c.env)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		config hooks.Config
		want   string // in the message; "" if it is right
	}{
		{&EnvSet{Vars: map[string]string{"_a1": "x"}}, ""},
		{&EnvSet{Vars: map[string]string{"A=B": "x"}}, "A=B"},
		{&EnvSet{Vars: map[string]string{"": "x"}}, "cannot be a variable's name"},
		{&EnvSet{Vars: map[string]string{"A": "x\x00"}}, "NUL"},
		{&Mirror{}, "names no mirror"},
		{&Mirror{Pip: "pypi.example"}, "pip"},
		{&Mirror{Npm: "file:///x"}, "npm"},
		{&Mirror{Go: "https://g.example,here"}, "here"},
		{&Mirror{Go: "https://g.example|direct"}, ""},
	} {
		err := c.config.Validate()
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || job.KindOf(err) != job.Invalid) {
			t.Errorf("%+v: got %v, want %q", c.config, err, c.want)
		}
	}
}
