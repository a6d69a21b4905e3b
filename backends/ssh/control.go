package ssh

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"cmd-exec-mcp/runtime/job"
	"cmd-exec-mcp/runtime/shell"
)

// facts is what the control shell says of its host.
type facts struct {
	system string            // uname -sr
	bash   string            // its path, "" without one
	paths  map[string]string // of the other shells by name
	proc   bool              // processes can be found by their marker
	leader bool              // the server makes each command the leader of a session
	home   string            // where a command begins
}

func (f facts) path(shell string) string {
	if shell == "bash" {
		return f.bash
	}
	return f.paths[shell]
}

func (f facts) shell() string {
	if f.bash != "" {
		return "bash"
	}
	return "sh"
}

func (f facts) shells() []string {
	var list []string
	for _, name := range []string{"bash", "sh", "dash"} {
		if f.path(name) != "" {
			list = append(list, name)
		}
	}
	return list
}

func parseFacts(body string) (facts, bool) {
	lines := strings.Split(body, "\n")
	if len(lines) != 6 {
		return facts{}, false
	}
	f := facts{system: lines[0], bash: lines[1], paths: map[string]string{"sh": lines[2], "dash": lines[3]}, proc: lines[4] != "", leader: lines[4] != "n", home: lines[5]}
	if f.path("sh") == "" {
		f.paths["sh"] = "sh"
	}
	return f, true
}

// control is our side of a connection's control shell.
type control struct {
	ch    *channel
	out   *scanner
	hello chan string   // gets what the shell says first
	gone  chan struct{} // closed when it has ended
	errs  *scanner

	mu      sync.Mutex
	serial  int
	answers map[int]chan string
}

var errControl = errors.New("the control shell on the far side has ended")

// startControl takes the first channel of a connection.
func startControl(ctx context.Context, c *conn) (*control, facts, error) {
	ch, err := c.open(ctx)
	if err != nil {
		return nil, facts{}, err
	}
	d := dialog{id: c.name, word: randomWord()}
	t := &control{ch: ch, hello: make(chan string, 1), gone: make(chan struct{}), answers: map[int]chan string{}}
	t.out = &scanner{mark: d.mark(), said: t.said}
	t.errs = &scanner{mark: d.mark(), said: func(byte, string) {}}
	if err := ch.exec("exec sh -c " + shell.Quote(bootstrap)); err != nil {
		return nil, facts{}, err
	}
	go t.errs.pump(ch.Stderr())
	go func() {
		t.out.pump(ch)
		close(t.gone)
	}()
	if _, err := ch.Write([]byte(d.controlText(c.name + "_"))); err != nil {
		return nil, facts{}, t.explain(ctx, c)
	}
	select {
	case body := <-t.hello:
		f, ok := parseFacts(body)
		if !ok {
			return nil, facts{}, job.Errorf(job.Unsupported, "%s gave an answer that no POSIX shell gives", c.pool.backend.config.Target).WithHint("commands need a Unix system with sh")
		}
		return t, f, nil
	case <-t.gone:
		return nil, facts{}, t.explain(ctx, c)
	case <-ctx.Done():
		return nil, facts{}, job.Errorf(job.Unavailable, "%s let us in, but no shell answered in time%s", c.pool.backend.config.Target, t.prefaced()).
			WithHint("a login file that waits for input is the usual reason: try `ssh -T %s true`", c.pool.backend.config.Target)
	}
}

func (t *control) prefaced() string { return said(t.out.preface() + t.errs.preface()) }

// said is what a server printed in place of what we expected, as the end of a sentence.
func said(text string) string {
	text, _, _ = strings.Cut(text, "exec sh -c") // a forced command may repeat ours
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	if len(text) > 300 {
		text = text[:300] + "..."
	}
	return "; it said: " + strings.Map(printable, text)
}

// explain says why no shell of ours came up, once all that was printed is here.
func (t *control) explain(ctx context.Context, c *conn) error {
	select {
	case <-t.ch.ended:
	case <-time.After(100 * time.Millisecond):
	}
	printed, target := t.prefaced(), c.pool.backend.config.Target
	if strings.Contains(printed, "Unmatched") || strings.Contains(printed, "csh") {
		return job.Errorf(job.Unsupported, "the login shell at %s is csh or tcsh, which reads quotes in its own way", target).
			WithHint("give the account another login shell (chsh -s /bin/sh), or use another account")
	}
	select {
	case <-c.dead:
		return job.Errorf(job.Unavailable, "%s closed the connection as soon as it was made%s", target, printed).WithHint("see the server's log")
	case <-ctx.Done():
		return contextError(ctx, target)
	default:
	}
	return job.Errorf(job.Unsupported, "%s runs something of its own in place of our command%s", target, printed).
		WithHint("a ForceCommand, a command= before the key in authorized_keys, or a login shell like nologin does this: use another key or account")
}

func (t *control) said(kind byte, body string) {
	switch kind {
	case clean:
		select {
		case t.hello <- body:
		default:
		}
	case answers:
		number, rest, _ := strings.Cut(body, " ")
		n, _ := strconv.Atoi(number)
		t.mu.Lock()
		answer := t.answers[n]
		delete(t.answers, n)
		t.mu.Unlock()
		if answer != nil {
			answer <- rest
		}
	}
}

// ask sends one request and returns the processes that the answer names.
func (t *control) ask(ctx context.Context, verb, id string, pid int64, signal string) ([]int, error) {
	answer := make(chan string, 1)
	t.mu.Lock()
	t.serial++
	n := t.serial
	t.answers[n] = answer
	t.mu.Unlock()
	leader := "-"
	if pid > 1 {
		leader = strconv.FormatInt(pid, 10)
	}
	sent := make(chan error, 1)
	go func() { // a cut link would hold it
		_, err := fmt.Fprintf(t.ch, "%s %d %s %s %s\n", verb, n, id, leader, signal)
		sent <- err
	}()
	for {
		select {
		case err := <-sent:
			if err != nil {
				return nil, errControl
			}
			sent = nil
		case list := <-answer:
			return pids(list), nil
		case <-t.gone:
			return nil, errControl
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// killAll ends everything that was started over the connection.
func (c *conn) killAll(ctx context.Context) ([]int, error) {
	t, err := c.controlShell(ctx)
	if err != nil {
		return nil, err
	}
	return t.ask(ctx, "a", c.name+"_", 0, "")
}

func pids(list string) []int {
	var found []int
	for word := range strings.FieldsSeq(list) {
		if n, err := strconv.Atoi(word); err == nil {
			found = append(found, n)
		}
	}
	slices.Sort(found)
	return found
}

func printable(r rune) rune {
	if r < ' ' && r != '\n' || r == 0x7f {
		return -1
	}
	return r
}
