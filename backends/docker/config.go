package docker

import (
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
)

// Driver makes docker(...) and mount(...) known to config.star.
var Driver = backends.Driver{
	Name: "docker",
	Doc:  "Runs each command in a fresh, hardened container of a Docker engine.",
	New:  func() backends.Config { return New() },
	Values: []backends.Value{{
		Name: "mount",
		Doc:  "A folder or file of this host that containers see.",
		New:  func() any { return new(Mount) },
	}},
}

// Config is docker(...).
type Config struct {
	Image        string            `star:"image,positional" doc:"the image that commands run in"`
	Images       []string          `star:"images" doc:"images that a call may choose from, the first is the default; left out: no choice"`
	Shell        string            `star:"shell" doc:"the shell that runs command text; left out: bash if the image has it, else sh"`
	Entrypoint   []string          `star:"entrypoint" doc:"a program and its arguments that start the shell; left out: the shell itself, in place of the image's entrypoint"`
	Env          map[string]string `star:"env" doc:"variables that every command gets"`
	Mounts       []Mount           `star:"mounts" doc:"what of this host a container sees, as mount(...) values"`
	Network      string            `star:"network" doc:"the network: none, bridge, host or a network's name"`
	Networks     []string          `star:"networks" doc:"networks that a call may choose from, the first is the default; left out: no choice"`
	Memory       int64             `star:"memory,size" doc:"memory in bytes, swap included; 0 is no limit"`
	CPUs         float64           `star:"cpus" doc:"how many processors a container may use; 0 is no limit"`
	Pids         int64             `star:"pids" doc:"how many processes and threads a container may have; 0 is no limit"`
	ReadonlyRoot bool              `star:"readonly_root" doc:"whether the image's files cannot be changed"`
	Tmpfs        map[string]string `star:"tmpfs" doc:"folders in memory, as path: options"`
	User         string            `star:"user" doc:"who commands run as: a name, uid or uid:gid; host is this server's user; left out: the image's"`
	CapDrop      []string          `star:"cap_drop" doc:"capabilities taken away"`
	CapAdd       []string          `star:"cap_add" doc:"capabilities given back; the default is what package managers need"`
	SecurityOpt  []string          `star:"security_opt" doc:"security options, like no-new-privileges or seccomp=FILE"`
	Init         bool              `star:"init" doc:"whether a small init process reaps zombies where no shell of ours does"`
	Runtime      string            `star:"runtime" doc:"the engine's runtime, like runsc; left out: its default"`
	Prefix       string            `star:"prefix" doc:"shell text that runs first in the outer shell; what it prints is in no reply"`
	Pull         string            `star:"pull" doc:"when images are pulled: missing, always or never"`
	Workdir      string            `star:"workdir" doc:"the working directory of calls that name none; left out: the image's"`
	Pool         int               `star:"pool" doc:"how many containers wait ready for the next command"`
	Host         string            `star:"host" doc:"the engine's address, like unix:///run/docker.sock; left out: DOCKER_HOST, the docker context, the usual sockets"`
}

// Mount is mount(...).
type Mount struct {
	Host      string `star:"host,positional,required,path" doc:"the path on the engine's host"`
	Container string `star:"container,positional,required" doc:"the path in the container"`
	Readonly  bool   `star:"readonly" doc:"whether the container may only read it"`
}

// New returns the hardened defaults.
func New() *Config {
	return &Config{
		Network: "none", Memory: 2 << 30, CPUs: 2, Pids: 512,
		CapDrop:     []string{"ALL"},
		CapAdd:      []string{"CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"}, // what package managers need
		SecurityOpt: []string{"no-new-privileges"},
		Init:        true, Pull: "missing", Pool: 2,
	}
}

// minMemory is what the engine itself insists on.
const minMemory = 6 << 20

// Validate checks what can be checked without an engine.
func (c *Config) Validate() error {
	switch {
	case c.Image == "" && len(c.Images) == 0:
		return invalid(`docker: image is missing`, `write docker(image="debian:12")`)
	case c.Images != nil && len(c.Images) == 0:
		return invalid("docker: images is empty, so no call could run", "leave it out for no choice")
	case c.Networks != nil && len(c.Networks) == 0:
		return invalid("docker: networks is empty, so no call could run", "leave it out for no choice")
	case slices.Contains(c.Images, ""), slices.Contains(c.Networks, ""):
		return invalid("docker: images and networks hold names, and one is empty", "take it out")
	case !slices.Contains([]string{"missing", "always", "never"}, c.Pull):
		return invalid(fmt.Sprintf("docker: pull is %q", c.Pull), "write missing, always or never")
	case c.Memory != 0 && c.Memory < minMemory:
		return invalid(fmt.Sprintf("docker: memory is %d bytes, and the engine takes no less than 6 MiB", c.Memory), "write memory=512*MiB, or 0 for no limit")
	case c.CPUs < 0 || c.Pids < 0 || c.Pool < 0:
		return invalid("docker: cpus, pids and pool cannot be negative", "0 is no limit, and no pool")
	case c.Pool > 64:
		return invalid(fmt.Sprintf("docker: a pool of %d containers", c.Pool), "write at most 64")
	case c.Workdir != "" && !path.IsAbs(c.Workdir):
		return invalid(fmt.Sprintf("docker: workdir %q is not absolute", c.Workdir), "write the whole path inside the container, from /")
	case strings.ContainsAny(c.Shell, "/ "):
		return invalid(fmt.Sprintf("docker: shell is %q", c.Shell), "write its name, like bash")
	case c.User == "host" && runtime.GOOS == "windows":
		return invalid(`docker: user="host" needs a numeric user, and Windows has none`, "write the uid that files in mounts should have")
	}
	return c.validateLists()
}

func (c *Config) validateLists() error {
	for name, value := range c.Env {
		if !isName(name) || strings.ContainsRune(value, 0) {
			return invalid(fmt.Sprintf("docker: env has %q", name), "names are letters, digits and underscores, and values hold no NUL")
		}
	}
	for _, m := range c.Mounts {
		if err := m.validate(); err != nil {
			return err
		}
	}
	for dir := range c.Tmpfs {
		if !path.IsAbs(dir) {
			return invalid(fmt.Sprintf("docker: tmpfs %q is not absolute", dir), "write the whole path inside the container, from /")
		}
	}
	return nil
}

func (m Mount) validate() error {
	if !path.IsAbs(m.Container) || path.Clean(m.Container) == "/" {
		return invalid(fmt.Sprintf("docker: mount at %q", m.Container), "the second argument is a path below / in the container")
	}
	return nil
}

// images are the images in the order of preference; the first is the default.
func (c *Config) images() []string { return choices(c.Image, New().Image, c.Images) }

// networks likewise.
func (c *Config) networks() []string { return choices(c.Network, New().Network, c.Networks) }

// choices is a list, with the single value in front when it was given besides and is not in the list.
func choices(one, unset string, list []string) []string {
	if list == nil {
		return []string{one}
	}
	if one == unset || slices.Contains(list, one) {
		return list
	}
	return append([]string{one}, list...)
}

func isName(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

func invalid(sentence, hint string) error {
	return job.Errorf(job.Invalid, "%s", sentence).WithHint("%s", hint)
}
