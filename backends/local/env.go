package local

import (
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"

	"cmd-exec-mcp/runtime/job"
)

// What a command inherits beside env_pass: enough for programs to find one another, themselves and their files, and
// nothing in which people keep tokens.
var (
	inheritUnix = []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TZ", "TMPDIR", "XDG_*", "SSH_AUTH_SOCK",
	}
	inheritWindows = []string{
		"PATH", "PATHEXT", "COMSPEC", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "TEMP", "TMP", "TZ", "LANG", "LC_*", "OS",
		"USERPROFILE", "USERNAME", "USERDOMAIN", "COMPUTERNAME", "HOMEDRIVE", "HOMEPATH", "HOME", "APPDATA", "LOCALAPPDATA",
		"PROGRAMDATA", "ALLUSERSPROFILE", "PUBLIC", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "COMMONPROGRAMFILES*",
		"COMMONPROGRAMW6432", "NUMBER_OF_PROCESSORS", "PROCESSOR_*", "PSMODULEPATH", "DRIVERDATA", "SSH_AUTH_SOCK", "WSLENV",
	}
)

// Variables that change what a shell makes of a text. They are never inherited; a call may set them, under policy.
var startup = []string{
	"BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "BASH_FUNC_*", "PS4", "PROMPT_COMMAND", "CDPATH", "GLOBIGNORE", "IFS",
}

// Nobody is there to answer a pager or a prompt.
var quiet = map[string]string{
	"NO_COLOR": "1", "TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0",
	"DEBIAN_FRONTEND": "noninteractive",
}

// inherited is the environment of every command before the call's own: what the server passes on and what the
// configuration sets.
func (b *backend) inherited() map[string]string {
	allowed := inheritUnix
	if runtime.GOOS == "windows" {
		allowed = inheritWindows
	}
	env := map[string]string{}
	for _, entry := range os.Environ() {
		name, value, ok := cut(entry)
		if ok && (matches(allowed, name) || matches(b.config.EnvPass, name)) && !matches(startup, name) && !b.secret(name) {
			set(env, name, value)
		}
	}
	for name, value := range platformEnv {
		if _, ok := get(env, name); !ok {
			env[name] = value
		}
	}
	if _, ok := env["HOME"]; !ok && runtime.GOOS != "windows" {
		if dir := homeOf(""); dir != "" {
			env["HOME"] = dir
		}
	}
	for name, value := range b.config.Env {
		set(env, name, value)
	}
	return env
}

// secret compares as the system does: the owner's list would mean nothing if another spelling got through.
func (b *backend) secret(name string) bool {
	return slices.ContainsFunc(b.secrets, func(s string) bool {
		return s == name || runtime.GOOS == "windows" && strings.EqualFold(s, name)
	})
}

// environ is the whole environment of cmd; login holds what a login shell adds, nil without one.
func (b *backend) environ(cmd job.Command, login map[string]string) []string {
	env := maps.Clone(b.base())
	if b.config.PathFromLoginShell && b.config.Env["PATH"] == "" {
		if found := b.loginPath(); found != "" {
			env["PATH"] = found
		}
	}
	for name, value := range login {
		env[name] = value
	}
	for name, value := range cmd.Env {
		set(env, name, value)
	}
	for name, value := range quiet {
		if _, ok := get(env, name); ok {
			continue
		}
		if name == "TERM" && cmd.TTY != nil {
			value = "xterm-256color"
		}
		env[name] = value
	}
	if _, ok := cmd.Env["PWD"]; !ok && cmd.Dir != "" && runtime.GOOS != "windows" {
		env["PWD"] = cmd.Dir
	}
	list := make([]string, 0, len(env))
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	return list
}

// cut splits NAME=value; Windows has names that begin with =, which belong to cmd alone.
func cut(entry string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(entry, "=")
	return name, value, ok && name != ""
}

func matches(patterns []string, name string) bool {
	if runtime.GOOS == "windows" {
		name = strings.ToUpper(name)
	}
	return slices.ContainsFunc(patterns, func(p string) bool {
		if runtime.GOOS == "windows" {
			p = strings.ToUpper(p)
		}
		ok, _ := path.Match(p, name)
		return ok
	})
}

// set and get treat a name as the system does: on Windows Path and PATH are one variable.
func set(env map[string]string, name, value string) {
	if runtime.GOOS == "windows" {
		maps.DeleteFunc(env, func(n, _ string) bool { return strings.EqualFold(n, name) })
	}
	env[name] = value
}

func get(env map[string]string, name string) (string, bool) {
	if runtime.GOOS == "windows" {
		for n, value := range env {
			if strings.EqualFold(n, name) {
				return value, true
			}
		}
		return "", false
	}
	value, ok := env[name]
	return value, ok
}
