package mcp

import "strings"

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
		if d := edits(plain, n); d < distance && d < len(n)/2 {
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

// edits is the number of single-character changes between two short names.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
