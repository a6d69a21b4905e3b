package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// engine is the tests' Docker engine: its address. Where it cannot be started the test skips.
func engine(t *testing.T) string {
	t.Helper()
	address, err := dockerEngine()
	if err != nil || address == "" {
		skipOrFail(t, "the service docker does not start: %v", err)
	}
	return address
}

var dockerEngine = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("../../.ci/services/docker").Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = errors.New(err.Error() + ": " + string(failed.Stderr))
	}
	for line := range strings.Lines(string(out)) {
		if address, ok := strings.CutPrefix(strings.TrimSpace(line), "DOCKER_HOST="); ok {
			return address, err
		}
	}
	return "", err
})

// written is a config.star as it stands.
type written string

func (s written) String() string { return string(s) }

// box is a config with the sandbox's two tools; options are those of docker(...) after the image.
func box(image, options, policy string) written {
	if policy == "" {
		policy = `mode="full"`
	}
	return written(fmt.Sprintf(`box = docker(image=%q, pull="never", %s)
shell_tool("execute_sandbox", backend=box, policy=policy(%s))
file_tool("execute_sandbox_file", backend=box, policy=policy(%s))
`, image, options, policy, policy))
}

// sandbox starts a server with such a config; nothing of it may be left in the engine after it.
func sandbox(t *testing.T, config fmt.Stringer) *wire {
	t.Helper()
	address := engine(t)
	var w *wire
	t.Cleanup(func() { // runs after the server's own
		if w != nil {
			eventually(t, "no container of the server", func() bool { return len(w.containers(t)) == 0 })
		}
	})
	w = start(t, config, "DOCKER_HOST="+address)
	return w
}

func (w *wire) box(t testing.TB, command string, more ...args) reply {
	t.Helper()
	all := args{"command": command}
	for _, m := range more {
		for name, value := range m {
			all[name] = value
		}
	}
	return w.callWith(t, args{"name": "execute_sandbox", "arguments": all})
}

func (w *wire) boxAct(t testing.TB, id any, action string, more ...args) reply {
	t.Helper()
	all := args{"session_id": id, "action": action}
	for _, m := range more {
		for name, value := range m {
			all[name] = value
		}
	}
	return w.callWith(t, args{"name": "execute_sandbox", "arguments": all})
}

func (w *wire) boxFile(t testing.TB, action, path string, more ...args) reply {
	t.Helper()
	all := args{"action": action, "path": path}
	for _, m := range more {
		for name, value := range m {
			all[name] = value
		}
	}
	return w.callWith(t, args{"name": "execute_sandbox_file", "arguments": all})
}

func docker(t testing.TB, arguments ...string) string {
	t.Helper()
	address, _ := dockerEngine()
	out, err := exec.Command("docker", append([]string{"--host", address}, arguments...)...).CombinedOutput()
	if err != nil {
		t.Errorf("docker %v: %v %s", arguments, err, out)
	}
	return string(out)
}

// containers are those of this server that exist, each as its id and its role.
func (w *wire) containers(t testing.TB) (list []string) {
	t.Helper()
	mine := fmt.Sprintf(`"pid":%d,`, w.cmd.Process.Pid)
	all := docker(t, "ps", "-a", "--filter", "label=cmd-exec-mcp.owner", "--format", `{{.ID}} {{.Label "cmd-exec-mcp.role"}} {{.Label "cmd-exec-mcp.owner"}}`)
	for line := range strings.Lines(all) {
		if fields := strings.SplitN(line, " ", 3); len(fields) == 3 && strings.Contains(fields[2], mine) {
			list = append(list, fields[0]+" "+fields[1])
		}
	}
	return list
}

// TestSandbox: a fresh container for each command, with what the call says about it.
func TestSandbox(t *testing.T) {
	t.Parallel()
	w := sandbox(t, box("cem-test/debian", `env={"CONF": "a b"}, prefix="export PRE=1; echo noise"`, ""))
	w.box(t, "echo hi; echo err >&2; exit 3").has(t, "stdout", "hi\n", "stderr", "err\n", "exit_code", 3, "is_timeout", false)
	w.box(t, "touch /made; echo $CONF $PRE $MORE", args{"env": args{"MORE": "x\ny'\"$(id)"}}).has(t, "stdout", "a b 1 x y'\"$(id)\n")
	w.box(t, `printf %s "$MORE"`, args{"env": args{"MORE": "x\n\ty'\"$(id)`id`\\ \n"}}).has(t, "stdout", "x\n\ty'\"$(id)`id`\\ \n")
	w.box(t, "ls /made").has(t, "exit_code", 2)
	w.box(t, "pwd", args{"cwd": "/usr"}).has(t, "stdout", "/usr\n")
	w.box(t, "pwd", args{"cwd": "/usr/nope/x"}).fails(t, "notfound", "/usr/nope/x").says(t, "hint", "/usr")
	w.box(t, "cat; echo .", args{"stdin": "in\x01\n"}).has(t, "stdout", "in\x01\n.\n")
	w.box(t, "cat; echo .").has(t, "stdout", ".\n")
	w.box(t, "tty; stty size", args{"tty": true, "cols": 100, "rows": 30}).says(t, "stdout", "/dev/", "30 100")
	w.box(t, "echo part; sleep 100", args{"timeout": 1}).has(t, "stdout", "part\n", "is_timeout", true, "exit_code", -1)
	parts := w.box(t, "sleep 0.1 && echo 'a && b' && false", args{"parallel": true}).results(t)
	if len(parts) != 3 {
		t.Fatalf("%d parts", len(parts))
	}
	parts[1].has(t, "stdout", "a && b\n")
	parts[2].has(t, "exit_code", 1)
	file := filepath.Join(t.TempDir(), "out")
	w.box(t, "seq 5000", args{"output_file": file}).has(t, "output_file", file)
	if text, err := os.ReadFile(file); err != nil || !strings.HasSuffix(string(text), "\n5000\n") {
		t.Errorf("output_file: %v, %d bytes", err, len(text))
	}
}

// TestSandboxSession: a container of its own that takes further commands, files included.
func TestSandboxSession(t *testing.T) {
	t.Parallel()
	w := sandbox(t, box("cem-test/debian", "", ""))
	id := w.box(t, "cat", args{"detach": true}).args["session_id"]
	w.boxAct(t, id, "send", args{"command": "x\n", "wait_for": "x\n"}).has(t, "stdout", "x\n", "is_running", true)
	w.boxAct(t, id, "run", args{"command": "mkdir /d; echo hello >/d/f; echo done"}).has(t, "stdout", "done\n", "exit_code", 0)
	w.boxAct(t, id, "run", args{"command": "cat f; exit 4", "cwd": "/d"}).has(t, "stdout", "hello\n", "exit_code", 4)
	w.boxAct(t, id, "run", args{"command": "echo part; sleep 60", "timeout": 1}).has(t, "stdout", "part\n", "is_timeout", true)
	w.boxAct(t, id, "run", args{"command": "pgrep -x sleep"}).has(t, "exit_code", 1)
	in := args{"session_id": id}
	w.boxFile(t, "read", "/d/f", in).has(t, "success", true, "data", "hello\n")
	w.boxFile(t, "write", "/new/deep/g", in, args{"content": "text é\n"}).has(t, "success", true)
	w.boxFile(t, "write", "/new/bin", in, args{"content_base64": "AAH/"}).has(t, "success", true)
	w.boxFile(t, "read", "/new/bin", in).has(t, "data", "AAH/", "encoding", "base64")
	w.boxAct(t, id, "run", args{"command": "cat /new/deep/g"}).has(t, "stdout", "text é\n")
	w.boxFile(t, "mkdir", "/new/folder", in).has(t, "success", true)
	w.boxFile(t, "list", "/new", in).says(t, "data", "deep", "bin", "folder")
	w.boxFile(t, "stat", "/new/bin", in).says(t, "data", "size:3", "type:file")
	w.boxFile(t, "exists", "/new/bin", in).says(t, "data", "true")
	w.boxFile(t, "delete", "/new", in).has(t, "success", true)
	w.boxFile(t, "exists", "/new/bin", in).says(t, "data", "false")
	w.boxFile(t, "read", "/new/bin", in).fails(t, "notfound")
	w.boxFile(t, "read", "relative", in).fails(t, "invalid")
	w.boxFile(t, "read", "/etc/passwd").says(t, "data", "root:x:0:0")
	w.boxFile(t, "write", "/x", args{"content": "y"}).fails(t, "invalid").says(t, "hint", "detach")
	w.boxAct(t, id, "kill").has(t, "killed", true)
	w.boxFile(t, "read", "/d/f", in).fails(t, "notfound")
	w.boxAct(t, id, "run", args{"command": "true"}).fails(t, "notfound")

	id = w.box(t, "bash --norc", args{"tty": true, "detach": true}).args["session_id"]
	w.boxAct(t, id, "send", args{"command": "echo $((40+2))", "keys": nil})
	w.boxAct(t, id, "send", args{"keys": []string{"enter"}, "wait_for": "42\\s"}).says(t, "stdout", "42")
	w.boxAct(t, id, "send", args{"command": "exit 7\n", "wait_for": "exit"}).has(t, "exit_code", 7, "is_running", false)
}

// TestSandboxChoice: an image and a network of the list, and no others.
func TestSandboxChoice(t *testing.T) {
	t.Parallel()
	w := sandbox(t, box("cem-test/debian", `images=["cem-test/debian", "cem-test/busybox"], networks=["none", "bridge"]`, ""))
	tools, _ := json.Marshal(w.request(t, "tools/list", args{}).Result)
	for _, want := range []string{`"enum":["cem-test/debian","cem-test/busybox"]`, `"enum":["none","bridge"]`} {
		if !strings.Contains(string(tools), want) {
			t.Errorf("the schema has no %s", want)
		}
	}
	w.box(t, "busybox | head -n 1", args{"image": "cem-test/busybox"}).says(t, "stdout", "BusyBox")
	w.box(t, "ls /sys/class/net | wc -l", args{"network": "bridge"}).has(t, "stdout", "2\n")
	w.box(t, "ls /sys/class/net | wc -l").has(t, "stdout", "1\n")
	w.box(t, "true", args{"image": "cem-test/user"}).fails(t, "invalid", "cem-test/user")
	w.box(t, "true", args{"network": "host"}).fails(t, "invalid", "host")
}

// TestSandboxOptions: mounts, user, limits and the read-only root act as the config says.
func TestSandboxOptions(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "given"), []byte("given\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	w := sandbox(t, box("cem-test/debian", fmt.Sprintf(
		`mounts=[mount(%q, "/w"), mount(%q, "/r", readonly=True)], user="agent", memory=64*MiB, pids=32, readonly_root=True, tmpfs={"/tmp": "size=1m"}, workdir="/w"`,
		folder, folder), ""))
	w.box(t, "pwd; id -un; cat given /r/given").has(t, "stdout", "/w\nagent\ngiven\ngiven\n")
	w.box(t, "echo x >/r/new").says(t, "stderr", "Read-only").has(t, "exit_code", 1)
	w.box(t, "echo x >/home/agent/new").says(t, "stderr", "Read-only")
	w.box(t, "head -c 2000000 /dev/zero >/tmp/x").says(t, "stderr", "No space left")
	w.box(t, "tail /dev/zero").says(t, "notes", "OOM-killed")
	w.box(t, "for i in $(seq 60); do sleep 5 & done; echo on").says(t, "stderr", "Resource temporarily unavailable")
	w.box(t, "echo fine").has(t, "stdout", "fine\n")
}

// TestSandboxPolicy: the sandbox has rules of its own.
func TestSandboxPolicy(t *testing.T) {
	t.Parallel()
	w := sandbox(t, box("cem-test/debian", "", `mode="restricted", blacklist=["mount"]`))
	w.box(t, "sh -c 'mount /x'").fails(t, "denied", "mount")
	w.box(t, "echo hi; rm -f /etc/passwd; echo $?").has(t, "stdout", "hi\n0\n")
	id := w.box(t, "bash", args{"detach": true}).args["session_id"]
	w.boxAct(t, id, "send", args{"command": "mount\n"}).fails(t, "denied", "mount")
	w.boxAct(t, id, "run", args{"command": "m=mount; $m"}).fails(t, "denied")
	w.boxAct(t, id, "send", args{"command": "echo on\n", "wait_for": "on"}).has(t, "stdout", "on\n")
}
