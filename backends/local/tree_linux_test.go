package local

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
)

// escapes starts one process for each way out of a tree that programs know. Each writes its pid to a file of its name.
const escapes = `trap '' INT TERM
exec </dev/null
run() { sh -c 'echo $$ >"$D/'"$1"'"; exec sleep 300'; }
run plain &
nohup sh -c 'trap "" HUP INT TERM; echo $$ >"$D/nohup"; while :; do sleep 300; done' >/dev/null 2>&1 &
setsid sh -c 'echo $$ >"$D/setsid"; exec sleep 300' &
setsid sh -c 'sh -c "echo \$\$ >\"\$D/daemon\"; exec sleep 300" & ' >/dev/null 2>&1
env -i setsid sh -c 'sh -c "echo \$\$ >\"$1/cleared\"; exec sleep 300" sh "$1" & ' sh "$D" >/dev/null 2>&1
sh -c 'echo $$ >"$D/stopped"; kill -STOP $$; exec sleep 300' &
run pipeline | cat &
until [ -s "$D/plain" ] && [ -s "$D/nohup" ] && [ -s "$D/setsid" ] && [ -s "$D/daemon" ] && [ -s "$D/cleared" ] && [ -s "$D/stopped" ] && [ -s "$D/pipeline" ]; do sleep 0.02; done
echo ready
`

var kinds = []string{"plain", "nohup", "setsid", "daemon", "cleared", "stopped", "pipeline"}

// modes are the ways a tree is held together; each is what a host may offer at most.
var modes = map[string]func(*forest){
	"cgroup": func(*forest) {},
	"tag":    withoutCgroups,
	"group": func(f *forest) {
		withoutCgroups(f)
		f.taggable = false
	},
}

func withoutCgroups(f *forest) {
	if f.cgroups != nil {
		f.cgroups.remove()
	}
	f.cgroups = nil
}

func openMode(t testing.TB, mode string) *backend {
	b := open(t)
	b.forest.prepare()
	modes[mode](b.forest)
	if mode == "cgroup" && b.forest.cgroups == nil {
		b.Close(t.Context())
		skip(t, "no cgroup v2 folder can be written here")
	}
	return b
}

func skip(t testing.TB, why string) {
	if os.Getenv("CI") == "true" || os.Getenv("CEM_NO_SKIP") == "1" {
		t.Fatal("may not be skipped: " + why)
	}
	t.Skip(why)
}

// alive names the kinds whose process still runs.
func alive(t testing.TB, dir string) []string {
	var names []string
	for _, kind := range kinds {
		text, err := os.ReadFile(filepath.Join(dir, kind))
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		if !dead(pid) {
			names = append(names, kind)
		}
	}
	return names
}

func gone(t testing.TB, dir string, patience time.Duration) []string {
	var left []string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if left = alive(t, dir); len(left) == 0 {
			break
		}
	}
	return left
}

func startEscapes(t testing.TB, b *backend, script string) (*process, string) {
	t.Helper()
	dir := t.TempDir()
	r, w := io.Pipe()
	t.Cleanup(func() { w.Close() })
	cmd := job.Command{Script: script, Shell: "bash", Dir: dir, Env: map[string]string{"D": dir}}
	p, err := b.Start(t.Context(), cmd, backends.IO{Stdout: w, Stderr: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(r).ReadString('\n')
	if line != "ready\n" {
		t.Fatalf("%q %v", line, err)
	}
	go io.Copy(io.Discard, r)
	// The kernel itself hangs up on a group that has a stopped member and no parent left; the others live on.
	if left := fmt.Sprint(alive(t, dir)); !strings.Contains(left, "nohup setsid daemon cleared") {
		t.Fatalf("only %v run before the kill", left)
	}
	return p.(*process), dir
}

// C7 and the kill matrix: with a cgroup or a tag nothing survives, whatever it does to its session, parents or environment.
func TestKillMatrix(t *testing.T) {
	for _, mode := range []string{"cgroup", "tag"} {
		for _, end := range []string{"while the leader runs", "after the leader's end"} {
			t.Run(mode+" "+end, func(t *testing.T) {
				b := openMode(t, mode)
				defer b.Close(t.Context())
				script := escapes
				if end == "while the leader runs" {
					script += "sleep 300; sleep 300"
				}
				p, dir := startEscapes(t, b, script)
				if end != "while the leader runs" {
					if exit, err := p.Wait(); err != nil || exit.Code != 0 || len(exit.Notes) != 1 || !strings.Contains(exit.Notes[0], "background processes (pid ") {
						t.Errorf("%+v %v", exit, err)
					}
				}
				start := time.Now()
				if err := p.Kill(t.Context()); err != nil {
					t.Error(err)
				}
				t.Logf("kill took %v", time.Since(start))
				if left := alive(t, dir); len(left) > 0 {
					t.Errorf("survivors: %v", left)
				}
				exit, err := p.Wait()
				if err != nil || len(exit.Survivors) > 0 || len(exit.Notes) > 0 {
					t.Errorf("%+v %v", exit, err)
				}
			})
		}
	}
}

// Where neither can be had, the group and the session go, and a daemon stays: this is what `doctor` warns of.
func TestKillByGroup(t *testing.T) {
	b := openMode(t, "group")
	defer b.Close(t.Context())
	p, dir := startEscapes(t, b, escapes+"sleep 300; sleep 300")
	if err := p.Kill(t.Context()); err != nil {
		t.Error(err)
	}
	left := alive(t, dir)
	if got, want := fmt.Sprint(left), "[setsid daemon cleared]"; got != want {
		t.Errorf("survivors %s, want %s", got, want)
	}
	for _, kind := range left {
		text, _ := os.ReadFile(filepath.Join(dir, kind))
		pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		if process, err := os.FindProcess(pid); err == nil {
			process.Kill()
		}
	}
	if left := gone(t, dir, 5*time.Second); len(left) > 0 {
		t.Errorf("still there: %v", left)
	}
}

// Close ends what finished commands left in the background.
func TestCloseEndsEscapes(t *testing.T) {
	for _, mode := range []string{"cgroup", "tag"} {
		t.Run(mode, func(t *testing.T) {
			b := openMode(t, mode)
			p, dir := startEscapes(t, b, escapes)
			if _, err := p.Wait(); err != nil {
				t.Error(err)
			}
			// The kernel itself hangs up on a group that has a stopped member and no parent left; the others live on.
			if left := fmt.Sprint(alive(t, dir)); !strings.Contains(left, "nohup setsid daemon cleared") {
				t.Errorf("only %v live on after the leader's end", left)
			}
			if err := b.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if left := alive(t, dir); len(left) > 0 {
				t.Errorf("survivors: %v", left)
			}
		})
	}
}

// serverRole is a server that will be killed without a chance to clean up.
func serverRole() {
	be, err := (&Config{}).Open(context.Background(), backends.Env{})
	if err != nil {
		panic(err)
	}
	b := be.(*backend)
	b.forest.prepare()
	modes[os.Getenv("CEM_TEST_MODE")](b.forest)
	dir := os.Getenv("D")
	cmd := job.Command{Script: escapes + "sleep 300; sleep 300", Shell: "bash", Dir: dir, Env: map[string]string{"D": dir}}
	base := ""
	if b.forest.cgroups != nil {
		base = b.forest.cgroups.base
	}
	os.WriteFile(filepath.Join(dir, "base"), []byte(base), 0o600)
	if _, err := b.Start(context.Background(), cmd, backends.IO{Stdout: os.Stdout, Stderr: io.Discard}); err != nil {
		panic(err)
	}
	select {}
}

func TestServerKilled(t *testing.T) {
	for _, mode := range []string{"cgroup", "tag"} {
		t.Run(mode, func(t *testing.T) {
			openMode(t, mode).Close(t.Context()) // skips where there is none
			dir := t.TempDir()
			server := exec.Command(os.Args[0])
			server.Env = append(os.Environ(), "CEM_TEST_ROLE=server", "CEM_TEST_MODE="+mode, "D="+dir)
			stdout, err := server.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			line, _ := bufio.NewReader(stdout).ReadString('\n')
			if line != "ready\n" {
				t.Fatalf("%q", line)
			}
			start := time.Now()
			server.Process.Kill()
			server.Wait()
			left := gone(t, dir, 20*time.Second)
			if len(left) > 0 {
				t.Errorf("the server's death left %v running", left)
			}
			t.Logf("gone after %v", time.Since(start))
			base, err := os.ReadFile(filepath.Join(dir, "base"))
			if err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(20 * time.Second); len(base) > 0; time.Sleep(10 * time.Millisecond) {
				if _, err := os.Stat(string(base)); err != nil {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("the folder %s is left", base)
				}
			}
		})
	}
}
