package local

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"cmd-exec-mcp/runtime/job"
)

// How bash, dash and zsh say it, in the last line of stderr.
var shellNotFound = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)(?:: |^)([^\s:]+): (?:command )?not found\r?\n?\z|command not found: (\S+)\r?\n?\z`)
})

// hint is the next step after a shell's own exit codes, read from what the shell said last.
func hint(code int, said []byte, search string) string {
	switch code {
	case 126:
		if bytes.Contains(said, []byte("rgument list too long")) {
			return "pass the data on stdin or in a file, or in parts with xargs"
		}
		return "chmod +x makes a file executable; or run it with its interpreter"
	case 127:
		if m := shellNotFound().FindSubmatch(said); m != nil {
			return nearName(string(m[1])+string(m[2]), search)
		}
	}
	return ""
}

// nearName is the hint for a command that was not found: a program in the search path whose name differs by one slip of
// the hand, "" if there is none.
func nearName(name, search string) string {
	for _, folder := range filepath.SplitList(search) {
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if oneSlip(name, e.Name()) {
				return "did you mean " + e.Name() + "?"
			}
		}
	}
	return "check the name, or install it, or give its full path"
}

// oneSlip says whether a and b differ by one letter added, left out or changed, or by two neighbours swapped.
func oneSlip(a, b string) bool {
	shorter, longer := min(len(a), len(b)), max(len(a), len(b))
	return shorter > 1 && longer-shorter < 2 && job.Edits(a, b) == 1
}
