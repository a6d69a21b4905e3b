package difftest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// listed are the default blacklist; each is a stub that leaves a mark.
var listed = []string{"rm", "del", "shutdown", "reboot", "format", "dd"}

// tools are the real programs that texts may use, where this host has them.
var tools = []string{
	"bash", "dash", "env", "nice", "nohup", "timeout", "stdbuf", "setsid", "xargs", "find", "sort", "split", "sed", "mawk", "gawk", "tar", "ionice", "chrt", "taskset", "flock",
	"cat", "ls", "echo", "printf", "mkdir", "touch", "head", "tail", "tee", "tr", "seq", "true", "false", "test", "[", "date", "id", "nproc", "pwd", "git", "busybox", "script", "unshare", "setpriv", "prlimit", "choom", "grep", "wc", "cut", "cp", "mv", "ln",
}

// root is a chroot for one worker.
type root struct {
	dir   string
	marks string
}

func newRoot(t *testing.T) *root {
	t.Helper()
	dir := t.TempDir()
	r := &root{dir: dir, marks: filepath.Join(dir, "marks")}
	for _, d := range []string{"bin", "dev", "proc", "tmp", "w", "lib", "lib64", "usr"} {
		must(t, os.MkdirAll(filepath.Join(dir, d), 0o755))
	}
	must(t, os.Symlink("../bin", filepath.Join(dir, "usr/bin")))
	must(t, os.Symlink("bash", filepath.Join(dir, "bin/rbash")))
	must(t, os.Symlink("dash", filepath.Join(dir, "bin/sh")))
	for _, name := range tools {
		if path, err := exec.LookPath(name); err == nil {
			install(t, dir, path, filepath.Join("bin", name))
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "bin/mawk")); err == nil {
		must(t, os.Symlink("mawk", filepath.Join(dir, "bin/awk")))
	}
	for _, name := range []string{"sleep", "curl", "npm", "make", "python", "docker", "ssh"} { // nothing waits here
		must(t, os.Symlink("true", filepath.Join(dir, "bin", name)))
	}
	stub := "#!/bin/dash\necho \"${0##*/} $*\" >> /marks\n"
	for _, name := range listed {
		must(t, os.WriteFile(filepath.Join(dir, "bin", name), []byte(stub), 0o755))
	}
	must(t, os.WriteFile(r.marks, nil, 0o666))
	must(t, os.Chmod(r.marks, 0o666))
	must(t, syscall.Mknod(filepath.Join(dir, "dev/null"), syscall.S_IFCHR|0o666, 1<<8|3))
	must(t, os.Chmod(filepath.Join(dir, "dev/null"), 0o666))
	must(t, os.Symlink("/proc/self/fd", filepath.Join(dir, "dev/fd")))
	for i, name := range []string{"stdin", "stdout", "stderr"} {
		must(t, os.Symlink("/proc/self/fd/"+string(rune('0'+i)), filepath.Join(dir, "dev", name)))
	}
	must(t, syscall.Mount("/proc", filepath.Join(dir, "proc"), "", syscall.MS_BIND|syscall.MS_REC, ""))
	must(t, syscall.Mount("none", filepath.Join(dir, "w"), "tmpfs", 0, "size=8m,mode=1777"))
	t.Cleanup(func() {
		syscall.Unmount(filepath.Join(dir, "proc"), syscall.MNT_DETACH)
		syscall.Unmount(filepath.Join(dir, "w"), syscall.MNT_DETACH)
	})
	return r
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// install copies a program and the libraries it is linked to.
func install(t *testing.T, dir, from, to string) {
	t.Helper()
	duplicate(t, from, filepath.Join(dir, to))
	out, _ := exec.Command("ldd", from).Output() // fails for a static program, which needs none
	for _, word := range strings.Fields(string(out)) {
		if strings.HasPrefix(word, "/") {
			target := filepath.Join(dir, word)
			if _, err := os.Stat(target); err != nil {
				must(t, os.MkdirAll(filepath.Dir(target), 0o755))
				duplicate(t, word, target)
			}
		}
	}
}

func duplicate(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	must(t, err)
	must(t, os.WriteFile(to, data, 0o755))
}

// find runs texts and returns the index of each that started a stub, with its mark. A batch shares one namespace; only
// if something happened is each text run on its own.
func (r *root) find(program string, texts []string) map[int]string {
	if len(texts) > 1 && r.quiet(program, texts) {
		return nil
	}
	found := map[int]string{}
	for i, text := range texts {
		if mark := r.run(program, text); mark != "" {
			found[i] = mark
		}
	}
	return found
}

// quiet says that no text of the batch left a mark and none hung.
func (r *root) quiet(program string, texts []string) bool {
	ended := r.start(program, texts)
	mark := r.mark() // always: what is left would be taken for the next run's
	return ended && mark == ""
}

// run runs one text and returns what the stubs wrote.
func (r *root) run(program, text string) string {
	r.start(program, []string{text})
	mark := r.mark()
	if strings.Contains(text, "marks") {
		return "" // a mark that the text may have written itself is none
	}
	for line := range strings.SplitSeq(mark, "\n") {
		name, _, _ := strings.Cut(line, " ")
		for _, l := range listed {
			if name == l {
				return line
			}
		}
	}
	return ""
}

func (r *root) mark() string {
	data, err := os.ReadFile(r.marks)
	if err == nil && len(data) > 0 {
		os.Truncate(r.marks, 0)
	}
	return string(data)
}

// clean removes what earlier texts wrote: a file written before is none of the policy's business.
func (r *root) clean() {
	for _, d := range []string{"w", "tmp"} {
		entries, _ := os.ReadDir(filepath.Join(r.dir, d))
		for _, e := range entries {
			os.RemoveAll(filepath.Join(r.dir, d, e.Name()))
		}
	}
}

// start runs the texts one after the other in a namespace of their own and says whether they ended by themselves.
func (r *root) start(program string, texts []string) bool {
	launcher := `ulimit -t 2 -f 2048 -v 1000000; for t in "$@"; do : > /w/a; : > /w/b; ` + program + ` "$t" < /dev/null; done`
	for _, text := range texts {
		if strings.Contains(strings.ReplaceAll(strings.ReplaceAll(text, "&&", ""), ">&", ""), "&") || strings.Contains(text, ">(") {
			launcher += `; /bin/dash -c :; /bin/dash -c :` // time for what runs in the background
			break
		}
	}
	r.clean()
	cmd := exec.Command("/bin/dash", append([]string{"-c", launcher, "dash"}, texts...)...)
	cmd.Dir = "/w"
	cmd.Env = []string{"PATH=/bin", "HOME=/w", "LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Chroot: r.dir, Cloneflags: syscall.CLONE_NEWPID, Setpgid: true,
		Credential: &syscall.Credential{Uid: 65534, Gid: 65534, NoSetGroups: true},
	}
	if cmd.Start() != nil {
		return false
	}
	hung := false
	timer := time.AfterFunc(500*time.Millisecond, func() {
		hung = true
		cmd.Process.Kill() // the namespace dies with its first process
	})
	cmd.Wait()
	return timer.Stop() && !hung
}
