package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestReload changes the config of a running server: calls follow it, what runs goes on, a mistake changes nothing.
func TestReload(t *testing.T) {
	t.Parallel()
	first := star{policy: `blacklist=["uname"]`}
	w := start(t, first)
	session := w.run(t, "cat", args{"detach": true})
	denied := func() bool { return w.run(t, "uname").text("kind") == "denied" }
	if !denied() {
		t.Fatal("the first config does not hold")
	}
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(w.home, "config.star"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(star{policy: `blacklist=["whoami"]`}.String())
	eventually(t, "the new policy", func() bool { return !denied() })
	if got := w.act(t, session.text("session_id"), "send", args{"command": "still here\n", "wait_for": "here"}); got.text("stdout") != "still here\n" {
		t.Errorf("the session answered %v", got)
	}
	write("shell_tool(")
	time.Sleep(2 * watchEvery)
	if denied() {
		t.Error("a broken config took effect")
	}
	if log := w.log(t); !strings.Contains(log, "[ERROR] config: not reloaded, the old config stays in force") {
		t.Errorf("the log does not say so:\n%s", log)
	}
	write(`shell_tool("other", backend=local(), policy=policy(mode="full"))`)
	other := args{"name": "other", "arguments": args{"command": "echo hi", "cwd": w.dir}}
	eventually(t, "the new tool", func() bool { return w.request(t, "tools/call", other).Error == nil })
	w.callWith(t, other).has(t, "stdout", "hi\n")
	if got := w.notifications("notifications/tools/list_changed"); len(got) == 0 {
		t.Error("the client was not told")
	}
}
