package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func (a *app) demoVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Play an agent's session against a real server: nothing to set up, nothing left behind",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context()) },
	}
}

// demoWithin bounds the whole demo, far above what it needs.
const demoWithin = 2 * time.Minute

// demo is a real client of a real server with the built-in config, in a folder of its own.
func (a *app) demo(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, demoWithin)
	defer cancel()
	dir, err := os.MkdirTemp("", "cmd-exec-mcp-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	config, err := a.demoConfig(dir)
	if err != nil {
		return err
	}
	c, err := startServer(ctx, a.stderr, "--config", config, "--data", filepath.Join(dir, "data"))
	if err != nil {
		return err
	}
	p := &play{app: a, client: c, dir: dir}
	c.progress = func(message string) {
		fmt.Fprintf(a.stdout, "  ~ progress: %q\n", lastLine(message))
	}
	p.run(ctx)
	if err := c.close(); p.err == nil {
		p.err = err
	}
	if p.err == nil {
		fmt.Fprintln(a.stdout, "\nThat was a real server on stdio. To give it to your agent: cmd-exec-mcp --help")
	}
	return p.err
}

// demoConfig writes the built-in config, so that the demo shows the defaults whatever the user's own config says.
func (a *app) demoConfig(dir string) (string, error) {
	path := filepath.Join(dir, "config.star")
	return path, os.WriteFile(path, []byte(builtin()), 0o600)
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return lines[len(lines)-1]
}

// play is one session. After the first error the remaining steps do nothing.
type play struct {
	app    *app
	client *client
	dir    string
	err    error
}

func (p *play) run(ctx context.Context) {
	p.step(ctx, "run a command", nil, map[string]any{"command": "echo hello from $(uname -s); exit 3"},
		"exit_code", 3.0)
	p.step(ctx, "see its output while it runs", nil, map[string]any{"command": "for i in 1 2 3; do echo step $i; sleep 0.4; done"},
		"exit_code", 0.0)
	p.step(ctx, "a time-out keeps what was printed and leaves no process", nil, map[string]any{"command": "echo partial; sleep 60", "timeout": 1},
		"is_timeout", true)
	p.step(ctx, "policy refuses what the owner listed, however it is spelled", nil, map[string]any{"command": `find . -name '*.o' -exec r\m {} +`},
		"kind", "denied")
	session := p.step(ctx, "detach: a session", nil, map[string]any{"command": "while read -r x; do echo you said $x; done", "detach": true},
		"is_running", true)
	id := session["session_id"]
	p.step(ctx, "send to it", id, map[string]any{"action": "send", "command": "good morning\n"}, "sent", 13.0)
	p.step(ctx, "read from it", id, map[string]any{"action": "read", "tail": 1}, "stdout", "you said good morning\n")
	p.step(ctx, "kill it", id, map[string]any{"action": "kill"}, "killed", true)
}

// step makes one call, shows it, and checks that the answer is what the heading promises.
func (p *play) step(ctx context.Context, heading string, session any, args map[string]any, field string, want any) map[string]any {
	if p.err != nil {
		return nil
	}
	shown, _ := json.Marshal(args)
	fmt.Fprintf(p.app.stdout, "\n# %s\n  > execute_local %s\n", heading, shown)
	if session != nil {
		args["session_id"] = session
	} else {
		args["cwd"] = p.dir
	}
	got, err := p.client.call(ctx, "execute_local", args)
	if err != nil {
		p.err = err
		return nil
	}
	fmt.Fprintf(p.app.stdout, "  < %s\n", brief(got))
	if got[field] != want {
		p.err = fmt.Errorf("demo: %s: %s is %v, not %v", heading, field, got[field], want)
	}
	return got
}

// brief is a reply without the fields that say nothing.
func brief(reply map[string]any) string {
	said := map[string]any{}
	for name, value := range reply {
		if value == "" || value == false || name == "command_echo" || name == "findings" || name == "policy" {
			continue
		}
		said[name] = value
	}
	text, _ := json.Marshal(said)
	return string(text)
}
