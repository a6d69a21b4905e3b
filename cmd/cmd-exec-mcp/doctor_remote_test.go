package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// TestDoctorRemote: a host that lets us in, one that takes no key of ours, and one where nothing listens, each with what to do.
func TestDoctorRemote(t *testing.T) {
	t.Parallel()
	s := servers(t)
	file := sshConfig(t, alias(s, "myhost", "cem-bash"))
	text := fmt.Sprintf(`shell_tool("execute_remote", backend={
    "good": ssh("myhost", ssh_config=%q),
    "key": ssh("cem-bash@%s:%s", key=%q, known_hosts=False, ssh_config=None),
    "gone": ssh("nobody@127.0.0.1:1", key=%q, known_hosts=False, ssh_config=None)})
`, file, s["SSH_HOST"], s["SSH_PORT"], s["KEY_UNKNOWN"], s["KEY"])
	out, err := exec.Command("cmd-exec-mcp", "doctor", "--json", "--config", sshConfig(t, text), "--data", t.TempDir()).Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); !ok || failed.ExitCode() != exitDefect {
		t.Errorf("two hosts cannot be reached, and the status is %v", err)
	}
	var lines []struct{ Name, Level, Detail, Fix string }
	if err := json.Unmarshal(out, &lines); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	for _, want := range []struct{ level, says string }{{"ok", "cem-bash@"}, {"failed", s["KEY_UNKNOWN"]}, {"failed", "127.0.0.1:1 refuses"}} {
		found := false
		for _, l := range lines {
			found = found || strings.HasPrefix(l.Name, "ssh") && l.Level == want.level && strings.Contains(l.Detail, want.says) && (l.Level == "ok" || l.Fix != "")
		}
		if !found {
			t.Errorf("no line is %s and says %q: %s", want.level, want.says, out)
		}
	}
}
