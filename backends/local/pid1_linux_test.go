package local

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
)

// firstRole is a server that is process 1 of a container: it inherits orphans and nobody else collects them.
func firstRole() {
	be, err := (&Config{}).Open(context.Background(), backends.Env{})
	if err != nil {
		panic(err)
	}
	script := `setsid sh -c 'sleep 0.05 & sleep 0.05 &' >/dev/null 2>&1; sleep 0.2`
	zombies := 0
	for range 5 {
		p, err := be.Start(context.Background(), job.Command{Script: script, Shell: "bash", Dir: "/"}, backends.IO{Stdout: os.Stdout, Stderr: os.Stderr})
		if err != nil {
			panic(err)
		}
		p.Wait()
	}
	for _, pid := range processes() {
		if fields := stat(pid); len(fields) > 0 && fields[0] == "Z" {
			zombies++
		}
	}
	// A child of another part of the server is for that part to wait for.
	other := exec.Command("true")
	other.Start()
	time.Sleep(100 * time.Millisecond)
	p, _ := be.Start(context.Background(), job.Command{Script: "kill -9 $$", Shell: "bash", Dir: "/"}, backends.IO{Stdout: os.Stdout, Stderr: os.Stderr})
	exit, err := p.Wait()
	fmt.Println("pid", os.Getpid(), "zombies", zombies, "other", other.Wait(), "exit", exit.Code, err, be.Close(context.Background()))
}

func TestOrphansOfProcess1(t *testing.T) {
	if os.Getuid() != 0 {
		skip(t, "a process namespace needs root")
	}
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		skip(t, "unshare is not installed")
	}
	c := exec.Command(unshare, "--pid", "--fork", "--kill-child", "--mount-proc", os.Args[0])
	c.Env = append(os.Environ(), "CEM_TEST_ROLE=first")
	out, err := c.CombinedOutput()
	if err != nil && strings.Contains(string(out), "Operation not permitted") {
		skip(t, "no process namespaces here")
	}
	if got, want := string(out), "pid 1 zombies 0 other <nil> exit 137 <nil> <nil>\n"; got != want || err != nil {
		t.Errorf("%q %v, want %q", got, err, want)
	}
}

// terminalRole runs one command and says what it found of its terminal.
func terminalRole() {
	be, err := (&Config{}).Open(context.Background(), backends.Env{})
	if err != nil {
		panic(err)
	}
	script := `(read a </dev/tty) 2>/dev/null || echo no tty`
	p, err := be.Start(context.Background(), job.Command{Script: script, Shell: "bash", Dir: "/"}, backends.IO{Stdout: os.Stdout, Stderr: os.Stderr})
	if err != nil {
		panic(err)
	}
	p.Wait()
	be.Close(context.Background())
}

// D1, D7: a command does not find the terminal that the server was started from, be the server the session's leader or
// a job of a shell there.
func TestServerWithTerminal(t *testing.T) {
	b := closed(t, open(t))
	for _, script := range []string{`exec "$BIN"`, `"$BIN"; exit $?`} {
		a := must(t, b, job.Command{Script: script, Env: map[string]string{"BIN": os.Args[0], "CEM_TEST_ROLE": "terminal"}, TTY: &job.Size{Cols: 80, Rows: 24}})
		if a.out != "no tty\r\n" || a.exit.Code != 0 {
			t.Errorf("%q: %+v", script, a)
		}
	}
}
