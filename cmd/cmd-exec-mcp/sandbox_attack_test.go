package main

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The tests of this file take the part of a command that wants out, or of an agent that sends what nobody thought of.

// readWord finds the outer shell's word in its memory, which a command of the same user may read.
const readWord = `range=$(grep -m1 heap /proc/1/maps | cut -d' ' -f1); from=$((0x${range%-*})); to=$((0x${range#*-}))
word=$(dd if=/proc/1/mem bs=4096 skip=$((from/4096)) count=$(((to-from)/4096)) 2>/dev/null | grep -a -o 'cem[a-z2-7]\{26\}' | head -n 1)
say() { printf '\036%s%s\036' "$word" "$1"; printf '\036%s%s\036' "$word" "$1" >&2; }
`

// TestSandboxFalseEnd: a command that forges the end of its answer, and goes on, is ended all the same.
func TestSandboxFalseEnd(t *testing.T) {
	t.Parallel()
	w := sandbox(t, box("cem-test/debian", "pool=0", ""))
	r := w.box(t, readWord+`[ "$word" ] || exit 9
for p in /proc/[0-9]*; do p=${p#/proc/}; [ $p = 1 ] || [ $p = $$ ] || kill -9 $p 2>/dev/null; done
say '=0/'; sleep 300`, args{"timeout": 30})
	if r.number("exit_code") == 9 {
		t.Skip("this kernel hides the memory of PID 1 from its neighbours")
	}
	r.has(t, "exit_code", 0, "stdout", "")
	eventually(t, "the end of a command that said it had ended", func() bool { return len(w.containers(t)) == 0 })
	for _, body := range []string{"=", "=x/", "=-1/", "=999/", "!m/nowhere"} {
		if r := w.box(t, readWord+`say '`+body+`'; sleep 300`, args{"timeout": 30}); !r.isError || r.text("kind") != "lost" {
			t.Errorf("%s: %v", body, r)
		}
	}
	w.box(t, readWord+`printf '\036%s<-1\036' "$word"; printf '\036%s<0\036' "$word"; echo on; sleep 100`, args{"timeout": 2}).has(t, "stdout", "on\n", "is_timeout", true)
	w.box(t, "echo on").has(t, "stdout", "on\n")
}

// TestSandboxStreams: what a command does to its streams and its parents is its own loss.
func TestSandboxStreams(t *testing.T) {
	t.Parallel()
	w := sandbox(t, box("cem-test/debian", "", ""))
	w.box(t, `exec >&- 2>&- <&-; exit 5`).has(t, "stdout", "", "exit_code", 5)
	w.box(t, `kill -9 1; kill -TERM 1; kill -SEGV 1; echo on`).has(t, "stdout", "on\n", "exit_code", 0)
	w.box(t, `kill -9 $$; echo never`).has(t, "stdout", "", "exit_code", 137, "signal", "KILL")
	w.box(t, `kill -9 -1; echo on`).has(t, "is_timeout", false)
	w.box(t, `exec 0</proc/1/fd/0; timeout 0.3 cat; echo on`).has(t, "stdout", "on\n")
	w.box(t, `printf '\036cem'; printf '\036'; echo on`).has(t, "stdout", "\x1ecem\x1eon\n")
	w.box(t, `head -c 3000000 /dev/zero | tr '\0' x & head -c 3000000 /dev/zero | tr '\0' y >&2; wait`).has(t, "exit_code", 0, "truncated", true)
	w.box(t, `head -c 100000 /dev/urandom`).says(t, "stdout", "binary, 100000 bytes")
	w.box(t, `printf 'a\0b'`, args{"base64": true}).has(t, "stdout", "YQBi", "encoding", "base64")
	w.box(t, "echo a\r\necho b").says(t, "stdout", "a", "b").has(t, "exit_code", 0)
	w.box(t, "echo a\x00b").fails(t, "invalid", "NUL")
	w.box(t, "echo hi", args{"env": args{"X": "a\x00b"}}).fails(t, "invalid")
	w.box(t, "echo hi", args{"env": args{"X; touch /tmp/x": "a"}}).fails(t, "invalid")
	w.box(t, "echo hi", args{"cwd": "/\x00"}).fails(t, "invalid")
	w.box(t, "pwd", args{"cwd": "$(touch /tmp/x)"}).fails(t, "invalid")
	w.box(t, "-n x").has(t, "exit_code", 127)
	w.box(t, "if true").says(t, "stderr", "syntax error")
	w.box(t, "echo "+strings.Repeat("x", 100000)+" | wc -c").has(t, "stdout", "100001\n")
	lines := w.box(t, "cat <<'E' | wc -l\n"+strings.Repeat("a line of text that is nothing but text\n", 3000)+"E\n", args{"timeout": 60}).has(t, "stdout", "3000\n", "exit_code", 0)
	if lines.took > 20*time.Second {
		t.Errorf("a command of 3000 lines took %v", lines.took)
	}
	w.box(t, "echo "+strings.Repeat("x", 131072)).fails(t, "invalid", "131071").says(t, "hint", "stdin")
	w.box(t, "wc -c", args{"stdin": strings.Repeat("z", 200000)}).has(t, "stdout", "200000\n")
	w.box(t, "head -c 1", args{"stdin": strings.Repeat("z", 4<<20)}).has(t, "stdout", "z", "exit_code", 0)
	w.box(t, "sleep 100", args{"timeout": 1, "stdin": strings.Repeat("z", 4<<20)}).has(t, "is_timeout", true)
}

// TestSandboxSecrets: what a call brings is in no label, argument or variable that the engine shows.
func TestSandboxSecrets(t *testing.T) {
	t.Parallel()
	w := sandbox(t, box("cem-test/debian", `env={"CONF_TOKEN": "in-the-config-5150"}`, ""))
	id := w.box(t, "echo $MY_TOKEN; cat", args{"env": args{"MY_TOKEN": "hunter2-and-more"}, "detach": true})
	w.boxAct(t, id.args["session_id"], "run", args{"command": "sleep 0.1; echo $OTHER_TOKEN | wc -c", "env": args{"OTHER_TOKEN": "hunter3-and-more"}}).has(t, "stdout", "17\n")
	for _, c := range w.containers(t) {
		c, _, _ = strings.Cut(c, " ")
		seen := docker(t, "inspect", c) + docker(t, "ps", "-a", "--no-trunc")
		for _, secret := range []string{"hunter2", "hunter3", "5150"} {
			if strings.Contains(seen, secret) {
				t.Errorf("the engine shows %s", secret)
			}
		}
	}
	w.boxAct(t, id.args["session_id"], "kill")
}

// TestSandboxHardening: the built-in config's options, as the engine understood them.
func TestSandboxHardening(t *testing.T) {
	t.Parallel()
	w := sandbox(t, box("cem-test/debian", `network="bridge", pool=2`, `mode="full", blacklist=["docker", "mount", "fdisk"]`))
	w.box(t, "cat", args{"detach": true})
	var seen []struct {
		HostConfig struct {
			NetworkMode                  string
			CapAdd, CapDrop, SecurityOpt []string
			Memory, MemorySwap, NanoCpus int64
			PidsLimit                    int64
			Privileged, PublishAllPorts  bool
			Binds, Devices               []any
			PidMode, IpcMode, UTSMode    string
			LogConfig                    struct{ Type string }
		}
		Mounts []any
	}
	id, _, _ := strings.Cut(w.containers(t)[0], " ")
	if err := json.Unmarshal([]byte(docker(t, "inspect", id)), &seen); err != nil {
		t.Fatal(err)
	}
	h := seen[0].HostConfig
	slices.Sort(h.CapAdd)
	caps := strings.ReplaceAll(strings.Join(h.CapAdd, " "), "CAP_", "")
	if h.NetworkMode != "bridge" || caps != "CHOWN DAC_OVERRIDE FOWNER SETGID SETUID" || !slices.Equal(h.CapDrop, []string{"ALL"}) ||
		!slices.Equal(h.SecurityOpt, []string{"no-new-privileges"}) || h.Memory != 2<<30 || h.MemorySwap != 2<<30 || h.NanoCpus != 2e9 || h.PidsLimit != 512 {
		t.Errorf("%+v", h)
	}
	if h.Privileged || h.PublishAllPorts || h.PidMode != "" || h.IpcMode == "host" || h.UTSMode == "host" || len(h.Binds)+len(h.Devices)+len(seen[0].Mounts) > 0 || h.LogConfig.Type != "none" {
		t.Errorf("%+v %v", h, seen[0].Mounts)
	}
}

// TestSandboxIsolation: twenty calls at once see nothing of each other.
func TestSandboxIsolation(t *testing.T) {
	t.Parallel()
	w := sandbox(t, box("cem-test/debian", `network="bridge"`, ""))
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			mine := strconv.Itoa(n)
			w.box(t, "ls /mine-* 2>/dev/null; ps -e | grep -c sleep; touch /mine-"+mine+"; echo "+mine+" >/tmp/x; sleep 1; cat /tmp/x; ls -d /mine-*", args{"timeout": 60}).
				has(t, "stdout", "0\n"+mine+"\n/mine-"+mine+"\n", "exit_code", 0)
		})
	}
	all.Wait()
}

// TestSandboxOrphans: the next server removes what a killed one left, and nothing else.
func TestSandboxOrphans(t *testing.T) {
	t.Parallel()
	config := box("cem-test/debian", "pool=1", "")
	other, dead := sandbox(t, config), sandbox(t, config)
	kept := other.box(t, "cat", args{"detach": true}).args["session_id"]
	foreign := strings.TrimSpace(docker(t, "run", "-d", "--rm", "cem-test/debian", "sleep", "600"))
	defer docker(t, "rm", "-f", foreign)
	for n := range 10 {
		dead.box(t, []string{"sleep 600", "cat", "bash"}[n%3], args{"detach": true, "tty": n%3 == 2})
	}
	if err := exec.Command("kill", "-9", strconv.Itoa(dead.cmd.Process.Pid)).Run(); err != nil {
		t.Fatal(err)
	}
	dead.finish()
	_ = dead.cmd.Wait()
	next := sandbox(t, config)
	next.box(t, "true")
	eventually(t, "the dead server's containers gone", func() bool { return len(dead.containers(t)) == 0 })
	other.boxAct(t, kept, "send", args{"command": "x\n", "wait_for": "x"}).has(t, "stdout", "x\n")
	if docker(t, "inspect", "-f", "{{.State.Running}}", foreign) != "true\n" {
		t.Error("somebody else's container was removed")
	}
}
