package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	cmdexecmcp "cmd-exec-mcp"
	"cmd-exec-mcp/backends/all"
	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/hooks/wasm"
	"cmd-exec-mcp/runtime/config"
	"github.com/rs/zerolog"
)

// embeddedName is how the built-in config appears in messages.
const embeddedName = "config.star (built in)"

// builtin is the config that applies when no other is named.
func builtin() string { return cmdexecmcp.Config }

func options(log zerolog.Logger) config.Options {
	return config.Options{Backends: all.Drivers(), Hooks: []hooks.Driver{wasm.Driver()}, Log: log}
}

// load evaluates the config that applies. Its errors are for the owner: exit status 2.
func (a *app) load(log zerolog.Logger) (*config.Config, error) {
	c, err := a.evaluate(log)
	if err != nil {
		return nil, &status{exitConfig, err}
	}
	if a.logLevel != "" {
		if !slices.Contains(logLevels, a.logLevel) {
			return nil, &status{exitConfig, fmt.Errorf("--log-level is %q: write one of %s", a.logLevel, strings.Join(logLevels, ", "))}
		}
		c.Server.LogLevel = a.logLevel
	}
	return c, nil
}

func (a *app) evaluate(log zerolog.Logger) (*config.Config, error) {
	path, ok := config.Find(a.configFlag, os.LookupEnv)
	if !ok {
		return config.Parse(embeddedName, []byte(builtin()), "", options(log))
	}
	return config.Load(path, options(log))
}

// logLevels are those that the config takes.
var logLevels = []string{"debug", "info", "warning", "error"}

// source says where the config came from.
func source(c *config.Config) string {
	if c.Path == "" {
		return "the built-in config"
	}
	return c.Path
}
