// Package policy answers one question: may this text run? It reads syntax, runs nothing and opens no file.
//
// Analyse knows shells and programs and turns a text into what it would start, set and write; Decide knows the owner's
// lists and rules and judges that. A name list promises one thing: no command whose name is listed (or is not listed)
// is started by the text of the request. It promises nothing about what an allowed program does.
package policy

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
)

// Config is what policy(...) of config.star says. NewConfig holds the defaults.
type Config struct {
	Mode      string   `star:"mode" doc:"restricted: every command is checked; full: nothing is"`
	List      string   `star:"list" doc:"blacklist: what is listed is refused; whitelist: what is not listed is refused too"`
	Whitelist []string `star:"whitelist" doc:"names, or absolute paths, of the commands that may run with list=\"whitelist\""`
	Blacklist []string `star:"blacklist" doc:"names of the commands that never run, with either list"`
	Rules     Rules    `star:"rules" doc:"rule(...), write_rule(...), env_rule(...) and wrapper(...) values; the strictest answer wins"`

	Unresolved string `star:"unresolved" doc:"deny or ask: the answer when it cannot be told what would run"`
	ShellStdin string `star:"shell_stdin" doc:"checked: what is typed into a shell is checked statement by statement; deny: no such sessions"`

	TrustedDirs      []string `star:"trusted_dirs" doc:"directories in which a whitelisted name also counts when it is written as an absolute path"`
	ImplicitBuiltins []string `star:"implicit_builtins" doc:"shell builtins that need no place on the whitelist"`
}

// NewConfig returns the defaults: the lists that the original server shipped, as a blacklist.
func NewConfig() *Config {
	return &Config{
		Mode:        "restricted",
		List:        "blacklist",
		Whitelist:   []string{"ls", "dir", "git", "python", "echo", "cat", "type", "pwd", "cd"},
		Blacklist:   []string{"rm", "del", "shutdown", "reboot", "format", "dd"},
		Unresolved:  "deny",
		ShellStdin:  "checked",
		TrustedDirs: []string{"/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin"},
		ImplicitBuiltins: []string{
			"[", "test", ":", "true", "false", "exit", "return", "break", "continue", "shift", "wait", "set", "unset",
			"export", "readonly", "local", "declare", "typeset", "read", "let",
		},
	}
}

// Validate names the first argument that cannot be meant, and how to write it.
func (c *Config) Validate() error {
	oneOf := func(name, value string, allowed ...string) error {
		for _, a := range allowed {
			if value == a {
				return nil
			}
		}
		return fmt.Errorf("%s is %q: write one of %q", name, value, allowed)
	}
	errs := []error{
		oneOf("mode", c.Mode, "restricted", "full"),
		oneOf("list", c.List, "blacklist", "whitelist"),
		oneOf("unresolved", c.Unresolved, "deny", "ask"),
		oneOf("shell_stdin", c.ShellStdin, "checked", "deny"),
	}
	for _, name := range c.Blacklist {
		if name == "" || strings.ContainsAny(name, "/\\ \t\n") {
			errs = append(errs, fmt.Errorf("blacklist holds %q: write names without a path or arguments, as in \"rm\"", name))
		}
	}
	for _, name := range c.Whitelist {
		if name == "" || strings.ContainsAny(name, " \t\n") || strings.Contains(name, "/") && !path.IsAbs(name) {
			errs = append(errs, fmt.Errorf("whitelist holds %q: write a name or an absolute path, without arguments", name))
		}
	}
	for _, dir := range c.TrustedDirs {
		if !path.IsAbs(dir) || path.Clean(dir) != dir {
			errs = append(errs, fmt.Errorf("trusted_dirs holds %q: write a clean absolute path", dir))
		}
	}
	return errors.Join(errs...)
}

// Predicate is a function of config.star that a rule asks about one command.
type Predicate = func(ctx context.Context, args map[string]any) (any, error)

// Item is a *Rule, *WriteRule, *EnvRule or *Wrapper.
type Item interface {
	Validate() error
	item()
}

// Rules are the items in the order of config.star.
type Rules []Item

// FromConfig takes the decoded list.
func (r *Rules) FromConfig(v any) error {
	list, ok := v.([]any)
	if !ok {
		return fmt.Errorf("got %T: write a list, as in [rule(...)]", v)
	}
	out := make(Rules, 0, len(list))
	for i, e := range list {
		it, ok := e.(Item)
		if !ok {
			return fmt.Errorf("element %d is %T: write rule(...), write_rule(...), env_rule(...) or wrapper(...)", i, e)
		}
		out = append(out, it)
	}
	*r = out
	return nil
}
