package config

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/runtime/job"
)

// openHook evaluates a config whose first tool has one hook(...), and opens it.
func openHook(t *testing.T, source string) hooks.Named {
	t.Helper()
	c, err := Parse("config.star", []byte(source+"\nshell_tool(\"t\", backend=box(image=\"i\"), hooks=[h])\n"), "", options())
	if err != nil {
		t.Fatal(err)
	}
	named, err := c.Tools[0].Hooks[0].Open(context.Background(), hooks.Env{})
	if err != nil {
		t.Fatal(err)
	}
	return named
}

func request() job.Request {
	return job.Request{Tool: "t", Command: job.Command{Script: "curl x", Dir: "/srv", Env: map[string]string{"A": "1"}, Timeout: time.Minute}}
}

func TestHookBefore(t *testing.T) {
	h := openHook(t, `
def before(cmd):
    if "secret" in cmd.command:
        return deny("not that one")
    if cmd.command.startswith("ask"):
        return ask("sure?")
    if cmd.command == "same":
        return None
    if cmd.command == "broken":
        return {"comand": "x"}
    return {"command": cmd.command + " --max-time 5", "env": {"B": cmd.env["A"]}, "timeout_ms": 5000, "cwd": cmd["cwd"] + "/x"}
h = hook(before=before, name="careful")
`)
	ctx := context.Background()
	got, tap, err := h.Begin(ctx, request())
	if err != nil || tap != nil {
		t.Fatalf("tap %v, %v", tap, err)
	}
	c := got.Command
	if c.Script != "curl x --max-time 5" || c.Env["A"] != "1" || c.Env["B"] != "1" || c.Timeout != 5*time.Second || got.Timeout != 5*time.Second || c.Dir != "/srv/x" {
		t.Errorf("edited to %+v", got)
	}
	for text, want := range map[string]string{"secret": "hook careful: not that one", "broken": `hook careful failed: before returned "comand"`} {
		req := request()
		req.Command.Script = text
		if _, _, err := h.Begin(ctx, req); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	req := request()
	req.Command.Script = "ask me"
	_, _, err = h.Begin(ctx, req)
	if ask, ok := errors.AsType[*hooks.Ask](err); !ok || ask.Question.Reason != "sure?" || ask.Request.Command.Script != "ask me" {
		t.Errorf("ask: %v", err)
	}
}

func TestHookCannotRaiseTheTimeout(t *testing.T) {
	h := openHook(t, "def before(cmd):\n    return {\"timeout_ms\": cmd.timeout_ms + 1}\nh = hook(before=before, on_error=\"allow\")\n")
	got, tap, err := h.Begin(context.Background(), request())
	if err != nil || got.Timeout != 0 || got.Command.Timeout != time.Minute {
		t.Fatalf("%+v, %v", got, err)
	}
	exit, err := tap.End(context.Background(), job.Exit{})
	if err != nil || len(exit.Notes) != 1 || !strings.Contains(exit.Notes[0], "ran as it was") {
		t.Errorf("notes %q, %v", exit.Notes, err)
	}
}

func TestHookFilterSeesWholeLinesWhereverTheyAreCut(t *testing.T) {
	h := openHook(t, `
def filter(stream, line):
    if "noise" in line:
        return ""
    return line.replace("key", "[%s]" % stream)
h = hook(filter=filter)
`)
	const text, want = "a key\nnoise here\nsecond key and the prompt> ", "a [stdout]\nsecond [stdout] and the prompt> "
	for cut := range len(text) {
		_, tap, err := h.Begin(context.Background(), request())
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for i, p := range []string{text[:cut], text[cut:], ""} {
			f := hooks.Flags(0)
			if i == 2 {
				f = hooks.Final
			}
			out, err := tap.Output(context.Background(), job.Stdout, []byte(p), f)
			if err != nil {
				t.Fatal(err)
			}
			got.Write(out)
		}
		if got.String() != want {
			t.Errorf("cut at %d: %q", cut, got.String())
		}
	}
}

func TestHookPromptIsShownWhenTheStreamPauses(t *testing.T) {
	h := openHook(t, "def filter(stream, line):\n    return line\nh = hook(filter=filter)\n")
	_, tap, _ := h.Begin(context.Background(), request())
	first, err := tap.Output(context.Background(), job.Stdout, []byte("name: "), 0)
	if err != nil || len(first) != 0 {
		t.Fatalf("before the pause %q, %v", first, err)
	}
	if got, err := tap.Output(context.Background(), job.Stdout, nil, hooks.Idle); err != nil || string(got) != "name: " {
		t.Errorf("at the pause %q, %v", got, err)
	}
}

func TestHookAfter(t *testing.T) {
	h := openHook(t, `
def after(cmd, result):
    if result.exit_code == 127:
        return "%s is not installed" % cmd.command.split(" ")[0]
h = hook(after=after)
`)
	_, tap, err := h.Begin(context.Background(), request())
	if err != nil {
		t.Fatal(err)
	}
	exit, err := tap.End(context.Background(), job.Exit{Code: 127})
	if err != nil || len(exit.Notes) != 1 || exit.Notes[0] != "curl is not installed" {
		t.Errorf("notes %q, %v", exit.Notes, err)
	}
}

// quote works in a hook, unlike what declares something: commands are put together there.
func TestHookQuotes(t *testing.T) {
	h := openHook(t, "def before(cmd):\n    return {\"command\": quote(cmd.command) + \" \" + quote([\"a b\", \"it's\"]) if cmd.command != \"bad\" else quote(5)}\nh = hook(before=before)\n")
	req := request()
	req.Command.Script = "rm $x"
	got, _, err := h.Begin(context.Background(), req)
	if want := `'rm $x' 'a b' 'it'"'"'s'`; err != nil || got.Command.Script != want {
		t.Errorf("got %q, %v, want %q", got.Command.Script, err, want)
	}
	req.Command.Script = "bad"
	if _, _, err := h.Begin(context.Background(), req); err == nil || !strings.Contains(err.Error(), "neither a string nor a list") {
		t.Errorf("quote(5): %v", err)
	}
}

func TestHookEndsItsLoop(t *testing.T) {
	h := openHook(t, "def before(cmd):\n    for i in range(1000000):\n        pass\nh = hook(before=before)\n")
	if _, _, err := h.Begin(context.Background(), request()); job.KindOf(err) != job.Unavailable || !strings.Contains(err.Error(), "steps") {
		t.Errorf("%v, want unavailable after too many steps", err)
	}
}
