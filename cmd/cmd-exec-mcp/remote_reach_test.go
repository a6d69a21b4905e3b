package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sshConfig writes an ssh_config and returns its path.
func sshConfig(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// alias is a host of an ssh_config on the tests' server; more are further lines.
func alias(s map[string]string, name, user string, more ...string) string {
	lines := append([]string{"Host " + name, "HostName " + s["SSH_HOST"], "Port " + s["SSH_PORT"], "User " + user}, more...)
	lines = append(lines, "IdentityFile "+s["KEY"], "IdentitiesOnly yes", "UserKnownHostsFile "+s["KNOWN_HOSTS"])
	return strings.Join(lines, "\n  ") + "\n"
}

// TestRemoteNewcomer: with a host that `ssh myhost` reaches, one line is enough.
func TestRemoteNewcomer(t *testing.T) {
	t.Parallel()
	s := servers(t)
	file := sshConfig(t, alias(s, "myhost", "cem-bash"))
	w := start(t, written(fmt.Sprintf("shell_tool(\"execute_remote\", backend=ssh(\"myhost\", ssh_config=%q))\n", file)))
	w.far(t, "whoami").has(t, "stdout", "cem-bash\n")
	var tools struct {
		Tools []struct{ Description string }
	}
	if err := json.Unmarshal(w.request(t, "tools/list", args{}).Result, &tools); err != nil {
		t.Fatal(err)
	}
	if said := tools.Tools[0].Description; strings.Contains(said, "sandbox") || !strings.Contains(said, "another host") {
		t.Errorf("the description is %q", said)
	}
}

// TestRemoteM5CutLink: a link that is cut is reported as lost, with what was printed, and another connection goes on.
func TestRemoteM5CutLink(t *testing.T) {
	t.Parallel()
	s := servers(t)
	if s["LINK_HOST"] == "" {
		lacks(t, "no network namespaces: no link to cut")
	}
	ports := strings.Fields(s["LINK_PORTS"])
	port := ports[len(ports)-1]
	to := func(port string) string {
		return fmt.Sprintf("ssh(\"cem-bash@%s:%s\", key=%q, known_hosts=False, ssh_config=None, keepalive=0.3, connect_timeout=3)", s["LINK_HOST"], port, s["KEY"])
	}
	w := start(t, written(fmt.Sprintf("shell_tool(\"execute_remote\", policy=policy(mode=\"full\"), backend={\"cut\": %s, \"whole\": %s})\n", to(port), to(ports[0]))))
	other := w.farCall(t, args{"command": "cat", "target": "whole", "detach": true}).args["session_id"]
	id := w.farCall(t, args{"command": "echo before; sleep 300", "target": "cut", "wait_for": "before"}).args["session_id"]
	cutting(t, "cut", port)
	t.Cleanup(func() { cutting(t, "heal", port) })
	began := time.Now()
	r := w.farCall(t, args{"action": "read", "session_id": id, "offset": 0, "wait": 30, "wait_for": "exit"}).fails(t, "lost", "may still be running")
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s to say so", took)
	}
	r.says(t, "stdout", "before")
	if _, ok := r.args["exit_code"]; ok {
		t.Errorf("a lost command has an exit code: %v", r)
	}
	w.farCall(t, args{"action": "send", "session_id": other, "command": "still here\n", "wait": 10}).says(t, "stdout", "still here")
}

func cutting(t *testing.T, verb, port string) {
	t.Helper()
	if out, err := exec.Command("../../.ci/services/sshd", verb, port).CombinedOutput(); err != nil {
		t.Errorf("%s: %v %s", verb, err, out)
	}
}

// TestRemoteM16Device: a device with dropbear and BusyBox: no bash, no SFTP.
func TestRemoteM16Device(t *testing.T) {
	t.Parallel()
	s := servers(t)
	w := start(t, written(fmt.Sprintf("box = ssh(\"pi@127.0.0.1:%s\", key=%q, known_hosts=False, ssh_config=None)\n"+
		"shell_tool(\"execute_remote\", policy=policy(mode=\"full\"), backend=box)\nfile_tool(\"execute_remote_file\", policy=policy(mode=\"full\"), backend=box)\n", s["DEVICE_PORT"], s["KEY"])))
	w.far(t, `id -un; echo "$X" >&2; exit 4`, args{"env": args{"X": "a'b"}}).has(t, "stdout", "pi\n", "stderr", "a'b\n", "exit_code", 4)
	w.far(t, "echo before; sleep 97.25", args{"timeout": 1}).has(t, "stdout", "before\n", "is_timeout", true)
	eventually(t, "the end of what timed out", func() bool { return exec.Command("pgrep", "-f", "^sleep 97.25").Run() != nil })
	r := w.callWith(t, args{"name": "execute_remote_file", "arguments": args{"action": "stat", "path": "/etc/passwd"}})
	r.fails(t, "unsupported", "")
}

// TestRemoteM15Terminal: a terminal is one stream.
func TestRemoteM15Terminal(t *testing.T) {
	t.Parallel()
	s := servers(t)
	w := start(t, remote(s, "", ""))
	w.far(t, "tty >/dev/null && echo a terminal; echo err >&2", args{"tty": true}).says(t, "stdout", "a terminal", "err").has(t, "stderr", "")
}

func TestRemoteFiles(t *testing.T) {
	t.Parallel()
	s := servers(t)
	w := start(t, written(fmt.Sprintf("far = %s\nshell_tool(\"execute_remote\", policy=policy(mode=\"full\"), backend=far)\nfile_tool(\"execute_remote_file\", policy=policy(mode=\"full\"), backend=far)\n",
		account(s, "cem-bash", ""))))
	dir := strings.TrimSpace(w.far(t, "mktemp -d").text("stdout"))
	file := func(action, path string, more args) reply {
		arguments := args{"action": action, "path": dir + path}
		for name, value := range more {
			arguments[name] = value
		}
		return w.callWith(t, args{"name": "execute_remote_file", "arguments": arguments})
	}
	file("write", "/a/b c.txt", args{"content": "over there\n"}).says(t, "data", "sha256", "11")
	w.farCall(t, args{"command": "cat 'a/b c.txt'", "cwd": dir}).has(t, "stdout", "over there\n")
	file("read", "/a/b c.txt", nil).has(t, "data", "over there\n")
	file("read", "/none", nil).fails(t, "notfound", "none")
	file("delete", "", nil)
	w.far(t, `test -e "$D" || echo gone`, args{"env": args{"D": dir}}).has(t, "stdout", "gone\n")
}

// TestRemoteHostKeys: an unknown host is refused with the line to add, a changed key with both fingerprints.
func TestRemoteHostKeys(t *testing.T) {
	t.Parallel()
	s := servers(t)
	changed := filepath.Join(t.TempDir(), "known_hosts")
	other, err := os.ReadFile(s["HOST_CA"]) // a key of the right kind, and not that host's
	if err != nil {
		t.Fatal(err)
	}
	line := fmt.Sprintf("[%s]:%s %s\n", s["SSH_HOST"], s["SSH_PORT"], strings.Join(strings.Fields(string(other))[:2], " "))
	if err := os.WriteFile(changed, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		known string
		says  []string
	}{
		"unknown": {filepath.Join(t.TempDir(), "none"), []string{"SHA256:", "known"}},
		"changed": {changed, []string{"SHA256:", changed, "ssh-keygen -R"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(alias(s, "myhost", "cem-bash", "GlobalKnownHostsFile none"), s["KNOWN_HOSTS"], c.known, 1)
			w := start(t, written(fmt.Sprintf("shell_tool(\"execute_remote\", backend=ssh(\"myhost\", ssh_config=%q))\n", sshConfig(t, text))))
			r := w.far(t, "echo never").fails(t, "denied", "")
			said := r.text("error") + "\n" + r.text("hint")
			for _, part := range c.says {
				if !strings.Contains(said, part) {
					t.Errorf("%q does not say %q", said, part)
				}
			}
		})
	}
}

// lacks skips, unless nothing may be skipped.
func lacks(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" || os.Getenv("CEM_NO_SKIP") == "1" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// TestExampleRemote runs examples/remote.star with its hosts in ~/.ssh/config; one of the three cannot be reached.
func TestExampleRemote(t *testing.T) {
	t.Parallel()
	s := servers(t)
	source, err := os.ReadFile(filepath.Join(examplesDir, "remote.star"))
	if err != nil {
		t.Fatal(err)
	}
	w := start(t, configText(source))
	if err := os.MkdirAll(filepath.Join(w.home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	aliases := alias(s, "web1", "cem-bash") + alias(s, "web2", "cem-fish")
	if err := os.WriteFile(filepath.Join(w.home, ".ssh", "config"), []byte(aliases), 0o600); err != nil {
		t.Fatal(err)
	}
	list := w.farCall(t, args{"command": "whoami", "target": []string{"web", "db"}}).results(t)
	if len(list) != 3 {
		t.Fatalf("three hosts gave %d results", len(list))
	}
	list[0].has(t, "stdout", "cem-bash\n", "target", "web1")
	list[1].has(t, "stdout", "cem-fish\n", "target", "web2")
	if list[2].text("kind") == "" || list[2].text("hint") == "" {
		t.Errorf("a host that cannot be reached: %v", list[2])
	}
	w.farCall(t, args{"command": "sudo ls", "target": "web1"}).fails(t, "denied", "sudo")
	w.callWith(t, args{"name": "execute_remote_file", "arguments": args{"action": "read", "path": "/etc/hostname", "target": "web2"}}).says(t, "data", "")
}

// TestRemoteHooks: hooks see a remote command, its output and its target, and policy looks at what they made of it.
func TestRemoteHooks(t *testing.T) {
	t.Parallel()
	s := servers(t)
	w := start(t, written(fmt.Sprintf(`def before(cmd):
    if "secret" in cmd.command:
        return deny("not that, on " + cmd.backend)
    return {"command": cmd.command.replace("harmless", "rm")}

def shout(stream, line):
    return line.replace("quiet", "LOUD")

shell_tool("execute_remote", backend=%s, policy=policy(blacklist=["rm"]), hooks=[env_set({"CI": "1"}), hook(before=before, filter=shout)])
`, account(s, "cem-bash", ""))))
	w.far(t, `echo "quiet $CI"`).has(t, "stdout", "LOUD 1\n")
	w.far(t, "cat secret").fails(t, "denied", "not that, on ssh")
	w.far(t, "harmless x").fails(t, "denied", "rm")
}

// TestRemotePassword: a password opens the way and stands nowhere, not in the audit either.
func TestRemotePassword(t *testing.T) {
	t.Parallel()
	s := servers(t)
	for _, port := range []string{s["PASSWORD_PORT"], s["KEYBOARD_PORT"]} {
		w := start(t, written(fmt.Sprintf("server(audit_file=\"audit.jsonl\", log_level=\"debug\")\nshell_tool(\"execute_remote\", policy=policy(mode=\"full\"), backend=ssh(\"cem-bash@%s:%s\", password=secret(\"PW\"), known_hosts=False, ssh_config=None))\n",
			s["SSH_HOST"], port)), "PW="+s["PASSWORD"])
		r := w.far(t, `whoami; ps axww -o args; echo "$X"`, args{"env": args{"X": s["PASSWORD"]}}).says(t, "stdout", "cem-bash")
		audit, err := os.ReadFile(filepath.Join(w.home, "audit.jsonl"))
		if err != nil || !strings.Contains(string(audit), "whoami") {
			t.Errorf("the audit does not hold the command: %v", err)
		}
		for where, text := range map[string]string{"answer": r.String(), "log": w.log(t), "audit": string(audit)} {
			if strings.Contains(text, s["PASSWORD"]) {
				t.Errorf("the password is in the %s", where)
			}
		}
	}
}
