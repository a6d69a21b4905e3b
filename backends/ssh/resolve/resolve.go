// Package resolve says how a target is reached: what ssh_config says about it, read by OpenSSH itself, hop by hop.
package resolve

import (
	"context"
	"net"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"time"

	"cmd-exec-mcp/runtime/job"
)

// Options are what config.star says. What is zero there is left to ssh_config.
type Options struct {
	Target     string // an alias or [user@]host[:port]
	User       string // where neither the target nor ssh_config has one
	Port       int
	ConfigFile string // "" reads none
}

// Hop is one server on the way.
type Hop struct {
	Alias, Host, User string
	Port              int
	HostKeyAlias      string
	KnownHosts        []string // files, the user's first
	HashKnownHosts    bool
	IdentityFiles     []string // in the order in which they are tried; some may not exist
	CertificateFiles  []string
	IdentitiesOnly    bool
	IdentityAgent     string // a socket, "none", or "" for the usual one
	ProxyCommand      string // of the first hop only
	ConnectTimeout    time.Duration
	Interval          time.Duration // between signs of life, 0 where ssh_config has none
	Missed            int           // how many of them may be missed
	jump              string        // ProxyJump as ssh_config has it, for the tokens that hold it
}

// Address is the host and port to dial.
func (h Hop) Address() string { return net.JoinHostPort(h.Host, strconv.Itoa(h.Port)) }

// KeyName is the name under which the host's key is known.
func (h Hop) KeyName() string {
	if h.HostKeyAlias != "" {
		return h.HostKeyAlias
	}
	return h.Address()
}

// maxHops is more than anybody has; beyond it the jumps go round in a circle.
const maxHops = 8

// Hops returns the servers in the order in which they are dialled, the target last. Without a config file, or where there
// is none and no ssh program, the target is an address. Kinds: Invalid, Unavailable (no ssh program to read the file).
func Hops(ctx context.Context, o Options) ([]Hop, error) {
	name, port, err := split(o.Target)
	if err != nil {
		return nil, err
	}
	if o.Port != 0 {
		port = o.Port
	}
	program, err := exec.LookPath("ssh")
	if err != nil || o.ConfigFile == "" {
		if o.ConfigFile != "" && exists(o.ConfigFile) {
			return nil, job.Errorf(job.Unavailable, "there is no ssh program here to read %s", o.ConfigFile).
				WithHint("install OpenSSH's client, or write ssh(..., ssh_config=None) and the address as target")
		}
		return []Hop{plain(name, port, o.User)}, nil
	}
	r := &reader{program: program, file: o.ConfigFile}
	return r.hops(ctx, name, port, o.User, 0)
}

// split takes [user@]host[:port] apart; the name keeps its user.
func split(target string) (name string, port int, err error) {
	account, host, found := cutLast(target, "@")
	if !found {
		account, host = "", target
	}
	if h, p, err := net.SplitHostPort(host); err == nil && h != "" {
		if port, err = strconv.Atoi(p); err != nil || port < 1 || port > 65535 {
			return "", 0, job.Errorf(job.Invalid, "the port of %q is no number from 1 to 65535", target).WithHint("write [user@]host:port, or an alias of ssh_config")
		}
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if host == "" || strings.HasPrefix(host, "-") || strings.HasPrefix(account, "-") {
		return "", 0, job.Errorf(job.Invalid, "%q names no host", target).WithHint("write [user@]host[:port], or an alias of ssh_config")
	}
	if account != "" {
		host = account + "@" + host
	}
	return host, port, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// plain is a hop that no config file knows: OpenSSH's defaults.
func plain(name string, port int, account string) Hop {
	if given, host, ok := cutLast(name, "@"); ok {
		account, name = given, host
	}
	if account == "" {
		account = localUser()
	}
	h := Hop{Alias: name, Host: name, User: account, Port: port, KnownHosts: []string{home(".ssh/known_hosts"), "/etc/ssh/ssh_known_hosts"}}
	if h.Port == 0 {
		h.Port = 22
	}
	for _, key := range []string{"id_rsa", "id_ecdsa", "id_ed25519"} {
		h.IdentityFiles = append(h.IdentityFiles, home(".ssh/"+key))
	}
	return h
}

func localUser() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return os.Getenv("USER")
}

func home(file string) string {
	dir, err := os.UserHomeDir()
	if err != nil {
		return file
	}
	return dir + "/" + file
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
