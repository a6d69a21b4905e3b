package resolve

import (
	"bytes"
	"context"
	"crypto/sha1" // what OpenSSH names a connection by
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"cmd-exec-mcp/runtime/job"
)

// patience is for ssh -G, which reads files and may run what a Match exec says.
const patience = 10 * time.Second

// reader asks the ssh program what its files say.
type reader struct {
	program, file string
}

// hops resolves one name and, before it, what it jumps through. Each jump is resolved by itself, with its own user, port and keys.
func (r *reader) hops(ctx context.Context, name string, port int, account string, depth int) ([]Hop, error) {
	if depth >= maxHops {
		return nil, job.Errorf(job.Invalid, "ssh_config jumps through more than %d hosts to reach %s", maxHops, name).WithHint("look for a ProxyJump that leads back to itself: ssh -G %s", name)
	}
	said, err := r.ask(ctx, name, port, account)
	if err != nil {
		return nil, err
	}
	_, alias, ok := cutLast(name, "@")
	if !ok {
		alias = name
	}
	h := said.hop(alias)
	var before []Hop
	if jump := said.one("proxyjump"); jump != "" && jump != "none" {
		for i, j := range strings.Split(jump, ",") {
			jumpName, jumpPort, err := split(strings.TrimPrefix(strings.TrimSpace(j), "ssh://"))
			if err != nil {
				return nil, err
			}
			through, err := r.hops(ctx, jumpName, jumpPort, "", depth+1)
			if err != nil {
				return nil, err
			}
			if i > 0 { // only the first of a chain may have a way of its own
				through = through[len(through)-1:]
			}
			before = append(before, through...)
		}
		h.ProxyCommand = ""
	}
	if len(before) >= maxHops {
		return r.hops(ctx, name, port, account, maxHops)
	}
	return append(before, h), nil
}

// ask runs ssh -G. The user that applies where the file has none stands behind the file, where the first value has won already.
func (r *reader) ask(ctx context.Context, name string, port int, account string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	file, err := r.combined(account)
	if err != nil {
		return nil, err
	}
	defer os.Remove(file)
	args := []string{"-G", "-F", file}
	if port != 0 {
		args = append(args, "-p", strconv.Itoa(port))
	}
	cmd := exec.CommandContext(ctx, r.program, append(args, "--", name)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		text := strings.ReplaceAll(strings.TrimSpace(said.String()), file, "ssh_config")
		if text == "" {
			text = err.Error()
		}
		return nil, &job.Error{Op: "ssh.Resolve", Kind: job.Invalid, Err: errors.New(text), Hint: fmt.Sprintf("`ssh -G %s` shows what OpenSSH makes of the file", name)}
	}
	a := answer{}
	for line := range strings.Lines(string(out)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		a[key] = append(a[key], value)
	}
	return a, nil
}

// combined is a config that includes the user's, then the system's, as ssh reads them without -F, and ends with the default user.
func (r *reader) combined(account string) (string, error) {
	f, err := os.CreateTemp("", "ssh-config-")
	if err != nil {
		return "", &job.Error{Op: "ssh.Resolve", Kind: job.Unavailable, Err: err, Hint: "the folder for temporary files must be writable"}
	}
	defer f.Close()
	fmt.Fprintf(f, "Include %q\nInclude /etc/ssh/ssh_config\n", r.file)
	if account != "" {
		fmt.Fprintf(f, "Host *\n  User %q\n", account)
	}
	return f.Name(), nil
}

// answer is what ssh -G printed: one value a line, some keys on several.
type answer map[string][]string

func (a answer) one(key string) string {
	if list := a[key]; len(list) > 0 {
		return list[0]
	}
	return ""
}

func (a answer) number(key string) int {
	n, err := strconv.Atoi(a.one(key))
	if err != nil {
		return 0
	}
	return n
}

func (a answer) yes(key string) bool { v := a.one(key); return v == "yes" || v == "true" }

func (a answer) hop(alias string) Hop {
	h := Hop{
		Alias: alias, Host: a.one("hostname"), User: a.one("user"), Port: a.number("port"), HostKeyAlias: a.one("hostkeyalias"),
		HashKnownHosts: a.yes("hashknownhosts"), IdentitiesOnly: a.yes("identitiesonly"), ProxyCommand: a.one("proxycommand"),
		ConnectTimeout: time.Duration(a.number("connecttimeout")) * time.Second,
		Interval:       time.Duration(a.number("serveraliveinterval")) * time.Second, Missed: a.number("serveralivecountmax"),
	}
	if h.jump = a.one("proxyjump"); h.jump == "none" {
		h.jump = ""
	}
	for _, files := range [][]string{a["userknownhostsfile"], a["globalknownhostsfile"]} {
		for _, line := range files {
			for _, file := range strings.Fields(line) {
				if file != "none" {
					h.KnownHosts = append(h.KnownHosts, expand(h.tokens(file)))
				}
			}
		}
	}
	for _, file := range a["identityfile"] {
		if file != "none" {
			h.IdentityFiles = append(h.IdentityFiles, expand(h.tokens(file)))
		}
	}
	for _, file := range a["certificatefile"] {
		if file != "none" {
			h.CertificateFiles = append(h.CertificateFiles, expand(h.tokens(file)))
		}
	}
	switch agent := a.one("identityagent"); agent {
	case "", "SSH_AUTH_SOCK":
	case "none":
		h.IdentityAgent = agent
	default:
		h.IdentityAgent = expand(strings.TrimPrefix(os.ExpandEnv(h.tokens(agent)), "$"))
	}
	if h.ProxyCommand == "none" {
		h.ProxyCommand = ""
	}
	h.ProxyCommand = h.tokens(h.ProxyCommand)
	return h
}

// tokens replaces those that ssh -G leaves in: it prints these values as they stand in the file.
func (h Hop) tokens(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	local, _ := os.Hostname()
	short, _, _ := strings.Cut(local, ".")
	known := h.HostKeyAlias
	if known == "" {
		known = h.Alias
	}
	connection := sha1.Sum([]byte(local + h.Host + strconv.Itoa(h.Port) + h.User + h.jump))
	return strings.NewReplacer("%%", "%", "%C", hex.EncodeToString(connection[:]), "%j", h.jump, "%k", known, "%h", h.Host, "%p", strconv.Itoa(h.Port), "%r", h.User, "%n", h.Alias,
		"%d", strings.TrimSuffix(home(""), "/"), "%u", localUser(), "%l", local, "%L", short, "%i", strconv.Itoa(os.Getuid())).Replace(s)
}

func expand(file string) string {
	if rest, ok := strings.CutPrefix(file, "~/"); ok {
		return home(rest)
	}
	return file
}
