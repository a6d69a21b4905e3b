package docker

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
)

// session starts a shell that stays.
func session(t *testing.T, b *Backend, cmd job.Command) (backends.Process, *safeBuffer) {
	t.Helper()
	var out safeBuffer
	p, err := try(t, b, cmd, backends.IO{Stdout: &out, Stderr: &out})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Kill(t.Context()) })
	return p, &out
}

// beside runs another command in a session's container.
func beside(t *testing.T, p backends.Process, cmd job.Command) answer {
	t.Helper()
	var stdout, stderr bytes.Buffer
	q, err := p.(backends.Runner).Run(t.Context(), cmd, backends.IO{Stdout: &stdout, Stderr: &stderr})
	if err != nil {
		t.Fatal(err)
	}
	exit := wait(t, q)
	return answer{stdout.String(), stderr.String(), exit}
}

// TestRun: what runs beside a session shares its files, has streams, input, an exit and a process group of its own.
func TestRun(t *testing.T) {
	b := open(t, func(c *Config) { c.Env = map[string]string{"FROM_CONFIG": "x"} })
	for _, tty := range []*job.Size{nil, {Cols: 80, Rows: 24}} {
		p, out := session(t, b, job.Command{Script: "while read -r l; do eval \"$l\"; done", Stdin: job.StdinPipe, TTY: tty})
		if _, err := p.Stdin().Write([]byte("echo made >/tmp/made; echo ok\n")); err != nil {
			t.Fatal(err)
		}
		eventually(t, "ok", 20*time.Second, func() bool { return strings.Contains(out.String(), "ok\n") || strings.Contains(out.String(), "ok\r\n") })
		for _, test := range []struct {
			cmd            job.Command
			stdout, stderr string
			code           int
		}{
			{script("cat /tmp/made; echo err >&2; exit 3"), "made\n", "err\n", 3},
			{job.Command{Script: "pwd; echo $A $FROM_CONFIG", Dir: "/usr", Env: map[string]string{"A": "b c"}}, "/usr\nb c x\n", "", 0},
			{job.Command{Script: "cat", Stdin: job.StdinBytes, Input: []byte("in")}, "in", "", 0},
			{job.Command{Argv: []string{"echo", "a b"}}, "a b\n", "", 0},
			{script("kill -TERM $$"), "", "", 143},
			{script("sleep 300 & echo on"), "on\n", "", 0},
			{job.Command{Script: "test -t 1 && stty size; exit 4", TTY: &job.Size{Cols: 90, Rows: 30}}, "30 90\r\n", "", 4},
		} {
			if got := beside(t, p, test.cmd); got.stdout != test.stdout || got.stderr != test.stderr || got.exit.Code != test.code {
				t.Errorf("%q: %+v, want %q %q %d", test.cmd.Script, got, test.stdout, test.stderr, test.code)
			}
		}
		_, err := p.(backends.Runner).Run(t.Context(), job.Command{Script: "true", Dir: "/no"}, backends.IO{})
		if job.KindOf(err) != job.NotFound {
			t.Errorf("a missing directory: %v", err)
		}
		for _, cmd := range []job.Command{script("sleep 300 | sleep 300"), {Script: "sleep 300", TTY: &job.Size{Cols: 80, Rows: 24}}, {Script: "sleep 300", Stdin: job.StdinPipe}} {
			q, err := p.(backends.Runner).Run(t.Context(), cmd, backends.IO{})
			if err != nil {
				t.Fatal(err)
			}
			if err := q.Kill(t.Context()); err != nil {
				t.Error(err)
			}
			if exit := wait(t, q); exit.Code != 137 || exit.Cause != job.Killed {
				t.Errorf("killed: %+v", exit)
			}
		}
		q, err := p.(backends.Runner).Run(t.Context(), script("trap 'echo got; exit 5' INT; sleep 300 & wait"), backends.IO{})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
		if err := q.Signal(t.Context(), job.Interrupt); err != nil {
			t.Error(err)
		}
		if exit := wait(t, q); exit.Code != 5 {
			t.Errorf("interrupted: %+v", exit)
		}
		if p.(*process).over() {
			t.Fatal("a command beside it ended the session")
		}
		// The session's end is the end of all that runs in it.
		q, err = p.(backends.Runner).Run(t.Context(), script("sleep 300"), backends.IO{})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Kill(t.Context()); err != nil {
			t.Error(err)
		}
		if exit := wait(t, q); exit.Code != 137 {
			t.Errorf("ended with its session: %+v", exit)
		}
		if _, err := p.(backends.Runner).Run(t.Context(), script("true"), backends.IO{}); job.KindOf(err) != job.NotFound {
			t.Errorf("after the end: %v", err)
		}
	}
}

// TestFiles goes beyond the suite: owners, parents, links, modes and what cannot be written.
func TestFiles(t *testing.T) {
	b := open(t, func(c *Config) { c.Image = "cem-test/user" })
	p, out := session(t, b, job.Command{Script: "mkdir -m 700 private; ln -s private link; ln -s nowhere broken; echo x >private/f; chmod 755 private/f; echo ready; cat", Stdin: job.StdinPipe})
	files, ctx := p.(backends.Filer).Files(), t.Context()
	eventually(t, "ready", 20*time.Second, func() bool { return strings.Contains(out.String(), "ready") })
	if _, err := files.Write(ctx, "/home/agent/link/f", []byte("changed")); err != nil {
		t.Error(err)
	}
	if _, err := files.Write(ctx, "/home/agent/new/er/g", []byte("g")); err != nil {
		t.Error(err)
	}
	got := beside(t, p, script("cat private/f; stat -c ' %a %U' private private/f new/er/g new/er; stat -c %a /tmp"))
	if got.stdout != "changed 700 agent\n 755 agent\n 644 agent\n 755 agent\n1777\n" {
		t.Errorf("%q %q", got.stdout, got.stderr)
	}
	if info, err := files.Stat(ctx, "/home/agent/link"); err != nil || info.Type != "dir" {
		t.Errorf("a link to a folder: %+v %v", info, err)
	}
	list, err := files.List(ctx, "/home/agent")
	var names []string
	for _, f := range list {
		names = append(names, f.Name+" "+f.Type)
	}
	if want := []string{"broken link", "link link", "new dir", "private dir"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("list: %q %v", names, err)
	}
	if list, err := files.List(ctx, "/home/agent/link"); err != nil || len(list) != 1 || list[0].Path != "/home/agent/link/f" {
		t.Errorf("list through a link: %+v %v", list, err)
	}
	if err := files.Delete(ctx, "/home/agent/broken"); err != nil {
		t.Error(err)
	}
	if err := files.Delete(ctx, "/etc/passwd"); job.KindOf(err) != job.Denied {
		t.Errorf("delete what the user may not: %v", err)
	}
	for path, kind := range map[string]job.Kind{"/home/agent/new": job.Invalid, "/etc/passwd/x": job.Invalid} {
		if _, err := files.Write(ctx, path, nil); job.KindOf(err) != kind {
			t.Errorf("write %s: %v", path, err)
		}
	}
	if err := p.Kill(ctx); err != nil {
		t.Error(err)
	}
	eventually(t, "no files after the end", 20*time.Second, func() bool { _, err := files.Stat(ctx, "/tmp"); return job.KindOf(err) == job.NotFound })

	image := b.Files()
	if data, info, err := image.Read(ctx, "/etc/passwd", 0, 5); err != nil || string(data) != "root:" || info.Size < 20 {
		t.Errorf("the image's file: %q %+v %v", data, info, err)
	}
	if _, err := image.Write(ctx, "/tmp/x", nil); job.KindOf(err) != job.Invalid {
		t.Errorf("a write without a session: %v", err)
	}
}

// TestFilesInMemory: with a read-only root the folders in memory are what can be written, and the archive does not see them.
func TestFilesInMemory(t *testing.T) {
	ctx := t.Context()
	readonly := open(t, func(c *Config) { c.ReadonlyRoot, c.Tmpfs = true, map[string]string{"/tmp": "size=1m"} })
	p, _ := session(t, readonly, job.Command{Script: "cat", Stdin: job.StdinPipe})
	files := p.(backends.Filer).Files()
	if _, err := files.Write(ctx, "/home/x", nil); job.KindOf(err) != job.Denied {
		t.Errorf("a read-only root: %v", err)
	}
	name, content := "/tmp/a b/c", []byte("0123\x00\xff")
	if info, err := files.Write(ctx, name, content); err != nil || info.Size != 6 || info.Path != name {
		t.Errorf("in memory: %+v %v", info, err)
	}
	if data, _, err := files.Read(ctx, name, 2, 3); err != nil || string(data) != "23\x00" {
		t.Errorf("in memory: %q %v", data, err)
	}
	if list, err := files.List(ctx, "/tmp"); err != nil || len(list) != 1 || list[0].Type != "dir" {
		t.Errorf("in memory: %+v %v", list, err)
	}
	if _, err := files.Write(ctx, "/tmp/big", make([]byte, 2<<20)); job.KindOf(err) != job.Denied {
		t.Errorf("more than fits: %v", err)
	}
	if err := files.Delete(ctx, "/tmp/a b"); err != nil {
		t.Error(err)
	}
	if err := files.Delete(ctx, "/tmp/a b"); job.KindOf(err) != job.NotFound {
		t.Errorf("deleted again: %v", err)
	}
	if _, err := files.Stat(ctx, name); job.KindOf(err) != job.NotFound {
		t.Errorf("in memory, deleted: %v", err)
	}
}

// TestList: the shell's way and the archive's agree, also about names that are no pleasure.
func TestList(t *testing.T) {
	b := open(t, nil)
	p, out := session(t, b, job.Command{Script: "mkdir /tmp/l /tmp/empty; cd /tmp/l; touch -d @1000000000 -- a 'b c' .hidden ..two -n '*' $'new\\nline'; mkdir d; mkfifo pipe; ln -s a link; echo ready; cat", Stdin: job.StdinPipe})
	eventually(t, "ready", 20*time.Second, func() bool { return strings.Contains(out.String(), "ready") })
	q := p.(*process)
	files := containerFiles{b: b, id: q.id, p: q}
	for _, dir := range []string{"/tmp/l", "/tmp/empty"} {
		byShell, ok := listByShell(t.Context(), dir, q.Run)
		if !ok {
			t.Fatal("the shell's way does not work")
		}
		archive, err := containerFiles{b: b, id: q.id}.List(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(archive, func(a, b job.FileInfo) int { return strings.Compare(a.Name, b.Name) })
		if len(byShell) != len(archive) || dir == "/tmp/l" && len(archive) != 10 {
			t.Fatalf("%s: %d by the shell, %d by the archive", dir, len(byShell), len(archive))
		}
		for i, want := range archive {
			got := byShell[i]
			if got.Name != want.Name || got.Path != want.Path || got.Type != want.Type || got.Mode != want.Mode || want.Type == "file" && (got.Size != want.Size || !got.Modified.Equal(want.Modified)) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		}
	}
	if list, err := files.List(t.Context(), "/proc/self"); err != nil || len(list) < 10 {
		t.Errorf("/proc/self: %d entries, %v", len(list), err)
	}
	if list, err := b.Files().List(t.Context(), "/"); err != nil || len(list) < 10 {
		t.Errorf("the image's /: %d entries, %v", len(list), err)
	}
	if _, err := b.Files().List(t.Context(), "/no"); job.KindOf(err) != job.NotFound {
		t.Errorf("a missing folder: %v", err)
	}
}
