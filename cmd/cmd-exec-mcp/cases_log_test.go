package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestO1: secrets are in no log, no audit, no progress and no answer.
func TestO1(t *testing.T) {
	t.Parallel()
	w := start(t, star{server: `log_level="debug", audit_file="audit.jsonl"`, local: `env_pass=["MY_TOKEN"]`}, "MY_TOKEN=server-side-secret")
	header := "Authorization: Bearer abcdefghijklmnop1234567890"
	w.run(t, "echo \""+header+"\"; echo ghp_"+strings.Repeat("a1B2", 10))
	w.run(t, "echo $API_KEY; printf 'call-'; sleep 0.1; printf 'side-secret\\n'", args{"env": args{"API_KEY": "call-side-secret"}})
	w.run(t, "echo $MY_TOKEN; sleep 0.6; echo $MY_TOKEN")
	r := w.callWith(t, args{"name": "execute_local", "arguments": w.arguments("for i in 1 2 3; do echo $MY_TOKEN; sleep 0.3; done"), "_meta": args{"progressToken": 1}})
	id := w.session(t, "read x; echo $x; echo $MY_TOKEN")
	r2 := w.act(t, id, "send", args{"command": header + "\n", "wait_for": "exit"})
	all := w.log(t) + r.String() + r2.String()
	for _, n := range w.notifications("notifications/progress") {
		all += n["message"].(string)
	}
	w.close(t)
	audit, err := os.ReadFile(filepath.Join(w.home, "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"abcdefghijklmnop", "a1B2a1B2", "call-side-secret", "server-side-secret"} {
		if strings.Contains(all, secret) || strings.Contains(string(audit), secret) {
			t.Errorf("%s was written", secret)
		}
	}
	if !strings.Contains(w.log(t), "execute: echo") || !strings.Contains(string(audit), "echo") {
		t.Error("the log or the audit is empty")
	}
}

// TestO2: the audit names the program that would run, not only the one in front.
func TestO2(t *testing.T) {
	t.Parallel()
	w := start(t, star{server: `audit_file="audit.jsonl"`}.restricted())
	w.run(t, "sudo env A=1 rm x").fails(t, "denied", "rm")
	w.run(t, "echo hi")
	w.close(t)
	audit, err := os.ReadFile(filepath.Join(w.home, "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if s := string(audit); !strings.Contains(s, `"rm"`) || !strings.Contains(s, `"deny"`) || !strings.Contains(s, `"allow"`) {
		t.Errorf("got %s", s)
	}
}

// TestO3: what cannot be recorded does not run, unless the owner says that it may.
func TestO3(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full")
	}
	w := start(t, star{server: `audit_file="/dev/full"`})
	w.run(t, "touch ran").fails(t, "unavailable", "audit")
	if _, err := os.Stat(w.path("ran")); err == nil {
		t.Error("it ran")
	}
	w = start(t, star{server: `audit_file="/dev/full", audit_required=False`})
	w.run(t, "echo hi").has(t, "stdout", "hi\n")
}

// TestO4: the log is rotated.
func TestO4(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	path := filepath.Join(w.home, "log.txt")
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.Truncate(20 << 20)
	f.Close()
	w.close(t)
	w2 := start(t, star{server: `log_file="` + path + `"`})
	w2.run(t, "echo hi")
	info, err := os.Stat(path)
	if err != nil || info.Size() > 10<<20 {
		t.Errorf("the log has %d bytes: %v", info.Size(), err)
	}
	if old, _ := filepath.Glob(filepath.Join(w.home, "log-*.txt")); len(old) != 1 {
		t.Errorf("got %v, want the old log beside it", old)
	}
}

// TestP11: a config in the folder where a command runs, or where the server was started, is somebody else's.
func TestP11(t *testing.T) {
	t.Parallel()
	w := start(t, local.restricted())
	if err := os.Mkdir(w.path(".cmdexec"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"config.star", ".cmdexec/config.star", ".cmd-exec-mcp.star"} {
		w.write(t, name, "shell_tool('execute_local', backend=local(), policy=policy(mode='full'))\n")
	}
	w.run(t, "rm config.star").fails(t, "denied", "rm")
}
