// Package builtin holds the hooks that most people need, written in Go: no file to load, no limit to set.
package builtin

import (
	"context"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/runtime/job"
)

// Drivers are the config functions of this package.
func Drivers() []hooks.Driver {
	return []hooks.Driver{
		{Name: "env_set", Doc: "sets environment variables that the call does not set itself", New: func() hooks.Config { return &EnvSet{} }},
		{Name: "mirror", Doc: "points package managers to mirrors, by environment variables that the call does not set itself", New: func() hooks.Config { return &Mirror{} }},
	}
}

// EnvSet is env_set(...).
type EnvSet struct {
	Vars map[string]string `star:"vars,positional,required" doc:"names and values"`
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Validate implements hooks.Config.
func (e *EnvSet) Validate() error {
	for _, name := range slices.Sorted(maps.Keys(e.Vars)) {
		if !envName.MatchString(name) {
			return job.Errorf(job.Invalid, "vars has %q, which cannot be a variable's name", name).
				WithHint("write letters, digits and _, like \"HTTP_PROXY\"")
		}
		if strings.ContainsRune(e.Vars[name], 0) {
			return job.Errorf(job.Invalid, "vars[%q] holds a NUL", name).WithHint("take it away: no variable can hold one")
		}
	}
	return nil
}

// Open implements hooks.Config.
func (e *EnvSet) Open(context.Context, hooks.Env) (hooks.Named, error) {
	return hooks.Named{Name: "env_set", Hook: env(maps.Clone(e.Vars))}, nil
}

// Mirror is mirror(...).
type Mirror struct {
	Pip string `star:"pip" doc:"PyPI mirror, like https://pypi.example/simple (PIP_INDEX_URL)"`
	Npm string `star:"npm" doc:"npm registry (npm_config_registry)"`
	Go  string `star:"go" doc:"Go module proxies, like https://proxy.example,direct (GOPROXY)"`
}

// Validate implements hooks.Config.
func (m *Mirror) Validate() error {
	if m.Pip == "" && m.Npm == "" && m.Go == "" {
		return job.Errorf(job.Invalid, "it names no mirror").WithHint("write pip=, npm= or go=, or take it away")
	}
	for _, u := range []struct{ name, value string }{{"pip", m.Pip}, {"npm", m.Npm}} {
		if u.value != "" && !isURL(u.value) {
			return job.Errorf(job.Invalid, "%s is %q, which is no address", u.name, u.value).WithHint("write it whole, like \"https://mirror.example/simple\"")
		}
	}
	for _, p := range strings.FieldsFunc(m.Go, func(r rune) bool { return r == ',' || r == '|' }) {
		if p != "direct" && p != "off" && !isURL(p) {
			return job.Errorf(job.Invalid, "go has %q, which is no address", p).WithHint("write addresses with commas between, like \"https://proxy.example,direct\"")
		}
	}
	return nil
}

func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http")
}

// Open implements hooks.Config.
func (m *Mirror) Open(context.Context, hooks.Env) (hooks.Named, error) {
	vars := env{}
	for name, value := range map[string]string{"PIP_INDEX_URL": m.Pip, "npm_config_registry": m.Npm, "GOPROXY": m.Go} {
		if value != "" {
			vars[name] = value
		}
	}
	return hooks.Named{Name: "mirror", Hook: vars}, nil
}

// env is the hook of both: variables for commands that do not set them.
type env map[string]string

// Begin implements hooks.Hook.
func (e env) Begin(_ context.Context, req job.Request) (job.Request, hooks.Tap, error) {
	for name, value := range e {
		if _, set := req.Command.Env[name]; set {
			continue
		}
		if req.Command.Env == nil {
			req.Command.Env = map[string]string{}
		}
		req.Command.Env[name] = value
	}
	return req, nil, nil
}

// Close implements hooks.Hook.
func (env) Close(context.Context) error { return nil }

var (
	_ hooks.Config = (*EnvSet)(nil)
	_ hooks.Config = (*Mirror)(nil)
	_ hooks.Hook   = env(nil)
)
