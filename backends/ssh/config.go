package ssh

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
)

// Driver makes ssh(...) known to config.star.
var Driver = backends.Driver{
	Name: "ssh",
	Doc:  "Runs commands on another host over SSH, as ~/.ssh/config says how to reach it.",
	New:  func() backends.Config { return New() },
}

// Config is ssh(...).
type Config struct {
	Target         string            `star:"target,positional" doc:"an alias of ssh_config, or [user@]host[:port]"`
	User           string            `star:"user" doc:"who commands run as where neither the target nor ssh_config says"`
	Port           *int              `star:"port" doc:"the server's port; left out: what ssh_config says, else 22"`
	Key            string            `star:"key" doc:"a file with the private key; what is no file is taken as a password"`
	Passphrase     string            `star:"passphrase" doc:"what opens an encrypted key, as secret(...)"`
	Password       string            `star:"password" doc:"the account's password, as secret(...)"`
	KnownHosts     KnownHosts        `star:"known_hosts" doc:"whether the host's key must be known: True, accept-new (the first one seen is kept) or False (any key, not safe)"`
	SSHConfig      string            `star:"ssh_config" doc:"the file with aliases and how to connect; None reads none"`
	Persistent     bool              `star:"persistent" doc:"whether a connection stays for the next command"`
	ConnectTimeout *time.Duration    `star:"connect_timeout" doc:"seconds for the whole of connecting; left out: what ssh_config says, else 10"`
	Keepalive      *time.Duration    `star:"keepalive" doc:"seconds between signs of life, of which three may be missed; 0 is none; left out: what ssh_config says, else 15"`
	Env            map[string]string `star:"env" doc:"variables that every command gets"`
	Shell          string            `star:"shell" doc:"the shell that runs command text; left out: bash if the host has it, else sh"`
}

const (
	defaultConnect   = 10 * time.Second
	defaultKeepalive = 15 * time.Second
)

// New returns the defaults.
func New() *Config {
	return &Config{User: "admin", KnownHosts: "yes", SSHConfig: "~/.ssh/config", Persistent: true}
}

// KnownHosts says how a host's key is checked: "yes", "accept-new" or "no".
type KnownHosts string

// FromConfig takes True, False or "accept-new".
func (k *KnownHosts) FromConfig(v any) error {
	switch v {
	case true:
		*k = "yes"
	case false:
		*k = "no"
	case "accept-new":
		*k = "accept-new"
	default:
		return invalid(fmt.Sprintf("known_hosts is %v", v), `write True, "accept-new" or False`)
	}
	return nil
}

// Validate checks what can be checked without a file or a host.
func (c *Config) Validate() error {
	switch {
	case c.Target == "":
		return invalid("ssh: target is missing", `write ssh("myhost"), an alias of ~/.ssh/config, or ssh("user@host:22")`)
	case strings.ContainsAny(c.Target, " \t\n\x00") || strings.HasPrefix(c.Target, "-"):
		return invalid(fmt.Sprintf("ssh: target is %q", c.Target), "write an alias of ssh_config or [user@]host[:port], without spaces")
	case c.Port != nil && (*c.Port < 1 || *c.Port > 65535):
		return invalid(fmt.Sprintf("ssh: port is %d", *c.Port), "write a number from 1 to 65535")
	case c.ConnectTimeout != nil && *c.ConnectTimeout <= 0:
		return invalid("ssh: connect_timeout must be more than 0 seconds", "write connect_timeout=10")
	case c.Keepalive != nil && *c.Keepalive < 0 && *c.Keepalive != job.Unlimited:
		return invalid("ssh: keepalive cannot be negative", "write keepalive=15, or 0 for none")
	case strings.ContainsAny(c.Shell, "/ "):
		return invalid(fmt.Sprintf("ssh: shell is %q", c.Shell), "write its name, bash or sh")
	case c.Shell != "" && c.Shell != "bash" && c.Shell != "sh" && c.Shell != "dash":
		return invalid(fmt.Sprintf("ssh: the shell %s cannot run command text here", c.Shell), "write bash, sh or dash, or leave it out")
	}
	for name, value := range c.Env {
		if !isName(name) || strings.ContainsRune(value, 0) {
			return invalid(fmt.Sprintf("ssh: env has %q", name), "names are letters, digits and underscores, and values hold no NUL")
		}
	}
	return nil
}

// credentials tells a key file from a password given as key.
func (c *Config) credentials() (key, password string, err error) {
	if c.Key == "" {
		return "", c.Password, nil
	}
	file := expandHome(c.Key)
	info, err := os.Stat(file)
	switch {
	case err == nil && info.Mode().IsRegular():
		return file, c.Password, nil
	case err == nil:
		return "", "", invalid("ssh: key names a folder", "give the file with the private key")
	case strings.ContainsAny(c.Key, `/\`) || strings.HasPrefix(c.Key, "~"):
		hint := "give the file with the private key; a password goes into password=secret(...)"
		if errors.Is(err, fs.ErrPermission) {
			return "", "", job.Errorf(job.Denied, "ssh: the key file cannot be read: %w", err).WithHint("%s", hint)
		}
		return "", "", job.Errorf(job.NotFound, "ssh: the key looks like a path, and there is no such file").WithHint("%s", hint)
	case c.Password != "":
		return "", "", invalid("ssh: key is no file, and a password is given besides", "give the key's whole path, or leave it out")
	}
	return "", c.Key, nil
}

func expandHome(file string) string {
	rest, ok := strings.CutPrefix(file, "~")
	if !ok || rest != "" && rest[0] != '/' && rest[0] != filepath.Separator {
		return file
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return file
	}
	return filepath.Join(home, rest)
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
