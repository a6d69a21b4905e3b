package policy

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// set judges a variable that the text sets.
func (j *judge) set(s EnvSet) {
	for _, r := range j.p.envRules {
		if s.Name == "" || slices.ContainsFunc(r.Names, func(pattern string) bool { return glob(pattern, s.Name) }) {
			j.fired = append(j.fired, r.Name)
			message := r.Reason
			if message == "" {
				message = "the variable " + s.Name + " must not be set"
			}
			j.add(verdictOf(r.Decision), Issue{Rule: r.Name, Command: s.Name, Via: s.Via, At: s.At, Message: message, Suggest: r.Suggest})
		}
	}
	if !j.p.whitelist || s.IFS {
		return
	}
	switch {
	case s.Name == "":
		j.add(j.p.unresolved, Issue{Rule: "R10", Via: s.Via, At: s.At, Message: "the name of the variable that is set is only known at run time"})
	case identity(s.Name):
		j.add(j.p.unresolved, Issue{Rule: "R10", Command: s.Name, Via: s.Via, At: s.At, Message: s.Name + " decides what a listed name means"})
	}
}

// write judges a file that is opened for writing.
func (j *judge) write(w Write) {
	for _, r := range j.p.writeRules {
		if j.under(w, r.Under) {
			j.fired = append(j.fired, r.Name)
			message := r.Reason
			if message == "" {
				message = "writing to " + strconv.Quote(w.Path) + " is not allowed"
			}
			j.add(verdictOf(r.Decision), Issue{Rule: r.Name, At: w.At, Message: message, Suggest: r.Suggest})
		}
	}
	if !j.p.whitelist || w.Known && j.harmlessTarget(w.Path) {
		return
	}
	message := strconv.Quote(w.Path) + " is not below the working directory"
	if !w.Known {
		message = "where this writes is only known at run time"
	}
	j.add(j.p.unresolved, Issue{Rule: "R11", At: w.At, Message: message})
}

// harmlessTarget: a device that stores nothing, or a visible file below a directory that stays the same.
func (j *judge) harmlessTarget(p string) bool {
	switch p {
	case "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr":
		return true
	}
	if n, ok := strings.CutPrefix(p, "/dev/fd/"); ok {
		return n != "" && strings.Trim(n, "0123456789") == ""
	}
	if dialectOf(j.in.Shell) != "posix" {
		if strings.EqualFold(p, "nul") || p == "$null" {
			return true
		}
		p = strings.ReplaceAll(p, `\`, "/")
		if strings.Contains(p, ":") {
			return false
		}
	}
	for strings.HasPrefix(p, "./") {
		p = strings.TrimLeft(p[2:], "/")
	}
	if p == "" || j.a.Chdir || strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") {
		return false
	}
	for part := range strings.SplitSeq(p, "/") {
		if strings.HasPrefix(part, ".") {
			return false
		}
	}
	return true
}

// under says whether w is, or cannot be told not to be, below one of the directories.
func (j *judge) under(w Write, dirs []string) bool {
	p := w.Path
	if strings.HasPrefix(p, "/dev/") {
		return false
	}
	if !path.IsAbs(p) && !strings.HasPrefix(p, "~") {
		switch {
		case p == "" || j.a.Chdir:
			return true // unknown from its first byte, or relative to a directory that the text changes
		case j.in.Dir != "":
			p = path.Join(j.in.Dir, p)
		case slices.Contains(strings.Split(p, "/"), ".."):
			return true
		default:
			return false
		}
	}
	if w.Known || strings.Contains(p, "/..") {
		p = path.Clean(p)
	}
	p = j.home(p)
	for _, dir := range dirs {
		dir = j.home(strings.TrimSuffix(dir, "/"))
		if p == dir || strings.HasPrefix(p, dir+"/") || !w.Known && strings.HasPrefix(dir, p) || maybeUnder(p, dir) {
			return true
		}
	}
	return false
}

// home expands a leading ~ where it is known what it stands for.
func (j *judge) home(p string) string {
	if rest, ok := strings.CutPrefix(p, "~"); ok && j.in.Home != "" && (rest == "" || rest[0] == '/') {
		return path.Join(j.in.Home, rest)
	}
	return p
}

// maybeUnder compares a path with a folder when just one of them begins with a home that is not known: whether some home
// would put the one below the other.
func maybeUnder(p, dir string) bool {
	inside, homeDir := strings.CutPrefix(dir, "~/")
	if homeDir && !strings.HasPrefix(p, "~") {
		return strings.Contains(p+"/", "/"+inside+"/")
	}
	rest, homePath := strings.CutPrefix(p, "~/")
	if !homePath || homeDir {
		return false
	}
	for i := len(dir) - 1; i > 0; i-- {
		if dir[i] == '/' && strings.HasPrefix(rest+"/", dir[i+1:]+"/") {
			return true
		}
	}
	return false
}

// glob matches * against anything, also nothing; every other character stands for itself.
func glob(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == s
	}
	if !strings.HasPrefix(s, parts[0]) {
		return false
	}
	s = s[len(parts[0]):]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return strings.HasSuffix(s, parts[len(parts)-1])
}
