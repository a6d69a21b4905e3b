package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSandboxReload: a new config's containers are made for it, a session keeps its own, and the old pool goes.
func TestSandboxReload(t *testing.T) {
	t.Parallel()
	w := sandbox(t, box("cem-test/debian", `env={"V": "one"}, pool=2`, ""))
	w.box(t, "echo $V").has(t, "stdout", "one\n")
	id := w.box(t, "cat", args{"detach": true}).args["session_id"]
	write := func(config written) {
		if err := os.WriteFile(filepath.Join(w.home, "config.star"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(box("cem-test/debian", `env={"V": "two"}, pool=0`, ""))
	eventually(t, "the new config", func() bool { return w.box(t, "echo $V").text("stdout") == "two\n" })
	w.boxAct(t, id, "send", args{"command": "x\n", "wait_for": "x"}).has(t, "stdout", "x\n")
	w.boxAct(t, id, "run", args{"command": "echo $V"}).has(t, "stdout", "one\n")
	w.boxFile(t, "write", "/f", args{"session_id": id, "content": "y"}).has(t, "success", true)
	w.boxAct(t, id, "kill").has(t, "killed", true)
	eventually(t, "nothing of the old config", func() bool { return len(w.containers(t)) == 0 })
}
