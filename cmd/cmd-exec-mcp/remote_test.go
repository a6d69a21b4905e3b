package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// sshd starts the SSH servers of .ci/services and returns what the script prints.
var sshd = sync.OnceValues(func() (map[string]string, error) {
	out, err := exec.Command("../../.ci/services/sshd").Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = errors.New(err.Error() + ": " + string(failed.Stderr))
	}
	said := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		said[name] = value
	}
	return said, err
})

func servers(t testing.TB) map[string]string {
	t.Helper()
	s, err := sshd()
	if err != nil {
		if os.Getenv("CI") == "true" || os.Getenv("CEM_NO_SKIP") == "1" {
			t.Fatalf("no SSH server: %v", err)
		}
		t.Skipf("no SSH server: %v", err)
	}
	return s
}

// account is ssh(...) for an account of the tests' server.
func account(s map[string]string, user, more string) string {
	return fmt.Sprintf("ssh(\"%s@%s:%s\", key=%q, known_hosts=False, ssh_config=None, %s)", user, s["SSH_HOST"], s["SSH_PORT"], s["KEY"], more)
}

// remote is a config with execute_remote on one account.
func remote(s map[string]string, more, policy string) written {
	if policy == "" {
		policy = `mode="full"`
	}
	return written(fmt.Sprintf("shell_tool(\"execute_remote\", backend=%s, policy=policy(%s))\n", account(s, "cem-bash", more), policy))
}

// far calls execute_remote.
func (w *wire) far(t testing.TB, command string, more ...args) reply {
	t.Helper()
	arguments := w.arguments(command, more...)
	delete(arguments, "cwd") // it is a folder of this machine
	return w.farCall(t, arguments)
}

func (w *wire) farCall(t testing.TB, arguments args) reply {
	t.Helper()
	return w.callWith(t, args{"name": "execute_remote", "arguments": arguments})
}

func TestRemote(t *testing.T) {
	t.Parallel()
	s := servers(t)
	w := start(t, remote(s, `env={"FROM": "the config"}`, ""))
	w.far(t, `echo out; echo err >&2; exit 3`).has(t, "stdout", "out\n", "stderr", "err\n", "exit_code", 3)
	w.far(t, `whoami; echo "$FROM:$X"`, args{"env": args{"X": "a'b \"c\" $d"}}).has(t, "stdout", "cem-bash\nthe config:a'b \"c\" $d\n")
	w.far(t, `wc -c`, args{"stdin": strings.Repeat("z", 200000)}).has(t, "stdout", "200000\n")
	w.far(t, `sleep 300 & echo on`).has(t, "stdout", "on\n", "exit_code", 0)
	w.far(t, `echo before; sleep 300`, args{"timeout": 1}).has(t, "stdout", "before\n", "is_timeout", true)
	w.far(t, `no-such-program`).has(t, "exit_code", 127)
	w.farCall(t, args{"command": "pwd", "cwd": "/usr/share"}).has(t, "stdout", "/usr/share\n")
	w.farCall(t, args{"command": "touch /tmp/never", "cwd": "/no/such/folder"}).fails(t, "notfound", "/no/such/folder")
}

// TestRemoteByEnvironment: the built-in config has execute_remote when the environment says where that is.
func TestRemoteByEnvironment(t *testing.T) {
	t.Parallel()
	s := servers(t)
	w := start(t, written(builtin()), "SSH_DEFAULT_TARGET="+s["SSH_HOST"], "SSH_DEFAULT_USER=cem-bash", "SSH_DEFAULT_PORT="+s["SSH_PORT"], "SSH_DEFAULT_KEY="+s["KEY"],
		"SSH_DEFAULT_NO_KNOWN_HOSTS=true", "SSH_CONNECTION_TIMEOUT=20")
	w.far(t, "whoami").has(t, "stdout", "cem-bash\n")
	w.far(t, "rm x").fails(t, "denied", "rm")
	without := start(t, written(builtin()))
	if r := without.request(t, "tools/list", args{}); strings.Contains(fmt.Sprint(string(r.Result)), "execute_remote") {
		t.Error("without a target there is execute_remote, which could only fail")
	}
}

func TestRemoteSession(t *testing.T) {
	t.Parallel()
	s := servers(t)
	w := start(t, remote(s, "", ""))
	id := w.far(t, "cat", args{"detach": true}).args["session_id"]
	w.farCall(t, args{"action": "send", "session_id": id, "command": "over there\n", "wait": 10}).says(t, "stdout", "over there")
	w.farCall(t, args{"action": "kill", "session_id": id})
	tty := w.far(t, "stty size; read x; stty size", args{"detach": true, "tty": true, "cols": 100, "rows": 40})
	w.farCall(t, args{"action": "send", "session_id": tty.args["session_id"], "command": "\n", "cols": 90, "rows": 30, "wait": 10}).says(t, "stdout", "30 90")
}

// TestM14: a name that no target has is an error with those there are; the first one does not stand in for it.
func TestM14(t *testing.T) {
	t.Parallel()
	s := servers(t)
	w := start(t, written(fmt.Sprintf(`shell_tool("execute_remote", policy=policy(mode="full"), groups={"web": ["prod", "lab"]},
    backend={"prod": %s, "lab": %s, "gone": ssh("nobody@127.0.0.1:1", known_hosts=False, ssh_config=None, key=%q)})
`, account(s, "cem-bash", ""), account(s, "cem-dash", ""), s["KEY"])))
	w.farCall(t, args{"command": "whoami", "target": "prd"}).fails(t, "notfound", "prd").says(t, "hint", "prod", "lab")
	w.farCall(t, args{"command": "whoami", "target": "lab"}).has(t, "stdout", "cem-dash\n")
	both := w.farCall(t, args{"command": "whoami", "target": "web"}).results(t)
	if len(both) != 2 {
		t.Fatalf("a group of two gave %d results", len(both))
	}
	both[0].has(t, "stdout", "cem-bash\n")
	both[1].has(t, "stdout", "cem-dash\n")
	list := w.farCall(t, args{"command": "whoami", "target": []string{"gone", "prod"}}).results(t)
	if len(list) != 2 {
		t.Fatalf("a list of two gave %d results", len(list))
	}
	if kind := fmt.Sprint(list[0].args["error"], list[0].args["kind"]); !strings.Contains(kind, "unavailable") && !strings.Contains(kind, "refused") {
		t.Errorf("a host that is not there: %v", list[0])
	}
	list[1].has(t, "stdout", "cem-bash\n")
}

// TestRemotePolicy: it is the same check as for the host's own commands, also of what is typed.
func TestRemotePolicy(t *testing.T) {
	t.Parallel()
	s := servers(t)
	w := start(t, remote(s, "", `blacklist=["rm"]`))
	w.far(t, "sudo sh -c 'rm x'").fails(t, "denied", "rm")
	w.far(t, "echo rm").has(t, "stdout", "rm\n")
	w.far(t, "sh", args{"stdin": "r''m x\n"}).fails(t, "denied", "rm")
	id := w.far(t, "bash", args{"detach": true}).args["session_id"]
	w.farCall(t, args{"action": "send", "session_id": id, "command": "rm x\n"}).fails(t, "denied", "rm")
	w.farCall(t, args{"action": "send", "session_id": id, "command": "echo typed\n", "wait": 10}).says(t, "stdout", "typed")
}

// TestRemoteMessages: what a person does next is in the answer.
func TestRemoteMessages(t *testing.T) {
	t.Parallel()
	s := servers(t)
	for name, c := range map[string]struct{ backend, kind, says string }{
		"closed port": {fmt.Sprintf(`ssh("cem-bash@127.0.0.1:1", known_hosts=False, ssh_config=None, key=%q)`, s["KEY"]), "unavailable", "127.0.0.1:1"},
		"wrong key":   {fmt.Sprintf(`ssh("cem-bash@%s:%s", known_hosts=False, ssh_config=None, key=%q)`, s["SSH_HOST"], s["SSH_PORT"], s["KEY_UNKNOWN"]), "denied", s["KEY_UNKNOWN"]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, written("shell_tool(\"execute_remote\", policy=policy(mode=\"full\"), backend="+c.backend+")\n"))
			r := w.far(t, "echo never").fails(t, c.kind, c.says)
			if r.text("hint") == "" {
				t.Errorf("no hint: %v", r)
			}
		})
	}
}

// TestRemoteSecrets: a password, and a variable that came as a secret, are in no process list, log or answer.
func TestRemoteSecrets(t *testing.T) {
	t.Parallel()
	s := servers(t)
	const token = "hunter2-from-afar"
	w := start(t, remote(s, `env={"MY_TOKEN": secret("FAR_TOKEN")}`, ""), "FAR_TOKEN="+token)
	r := w.far(t, `sleep 0.3; echo "$MY_TOKEN" | wc -c; echo "$MY_TOKEN"; ps axww -o args`)
	r.says(t, "stdout", fmt.Sprint(len(token)+1))
	if strings.Contains(fmt.Sprint(r), token) {
		t.Errorf("the secret is in the answer: %v", r)
	}
	done := make(chan reply, 1)
	go func() { done <- w.far(t, "sleep 2; echo slept") }()
	for seen := time.Now().Add(time.Second); time.Now().Before(seen); time.Sleep(50 * time.Millisecond) {
		if out, _ := exec.Command("ps", "axww", "-o", "args").Output(); strings.Contains(string(out), token) {
			t.Fatal("the secret is in the process list")
		}
	}
	(<-done).has(t, "stdout", "slept\n")
	if strings.Contains(w.log(t), token) {
		t.Error("the secret is in the log")
	}
}

// TestRemoteEndsWithUs: the far side notices that we were killed.
func TestRemoteEndsWithUs(t *testing.T) {
	t.Parallel()
	s := servers(t)
	w := start(t, remote(s, "", ""))
	const mark = "31.4159"
	for range 10 {
		w.far(t, "sleep "+mark+" & setsid sleep "+mark+"; wait", args{"detach": true})
	}
	sleeping := func() int {
		out, _ := exec.Command("pgrep", "-fc", "^sleep "+mark).Output()
		var n int
		fmt.Sscan(string(out), &n)
		return n
	}
	eventually(t, "twenty programs over there", func() bool { return sleeping() == 20 })
	w.kill(t)
	eventually(t, "the end of what ran over there", func() bool { return sleeping() == 0 })
}
