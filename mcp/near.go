package mcp

import (
	"strings"

	"cmd-exec-mcp/runtime/job"
)

// aliases are what other servers call our parameters: models carry the habit along.
var aliases = map[string]string{
	"cmd": "command", "script": "command", "code": "command", "workdir": "cwd", "directory": "cwd", "dir": "cwd",
	"input": "stdin", "background": "detach", "pty": "tty", "host": "target", "id": "session_id", "session": "session_id",
}

// near returns the known name that was probably meant, "" if none is close.
func near(name string, known []string) string {
	plain := normal(name)
	best, distance := "", 3
	for _, k := range known {
		n := normal(k)
		if n == plain || aliases[plain] == k || len(n) > 3 && strings.Contains(plain, n) {
			return k
		}
		if d := job.Edits(plain, n); d < distance && d < len(n)/2 {
			best, distance = k, d
		}
	}
	return best
}

func normal(name string) string {
	if len(name) > 48 {
		name = name[:48]
	}
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
}
