package mcp

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cmd-exec-mcp/runtime/job"
)

// param is one parameter of a standard tool, as a client is told of it. Schemas stay flat and plain, one type each, since
// strict clients refuse a whole list of tools over one property that they do not understand. There is no "default": some
// clients send defaults as if they were wishes, and a timeout that was asked for is not the same as the usual one.
type param struct {
	name, kind string // kind is a JSON type; "strings" is an array of them
	doc        string
	enum       []string
}

func (p param) schema() map[string]any {
	s := map[string]any{"type": p.kind, "description": p.doc}
	values := s
	if p.kind == "strings" {
		values = map[string]any{"type": "string"}
		s["type"], s["items"] = "array", values
	}
	if len(p.enum) > 0 {
		values["enum"] = p.enum
	}
	return s
}

// shellParams lists the parameters that this tool's facts call for.
func shellParams(t job.Tool) []param {
	list := []param{
		{"command", "string", "Shell text to run. With session_id: the text to send, exactly as given (end it with a newline to press Enter).", nil},
		{"cwd", "string", cwdDoc(t), nil},
		{"timeout", "number", timeoutDoc(t), nil},
		{"wait", "number", "Seconds to wait for the end; a command that still runs then becomes a session and goes on. Default: to the end if the client shows progress, else 50. -1 waits to the end, 0 is detach. On read and send: how long to wait for wait_for.", nil},
		{"wait_for", "string", "What to wait for: \"exit\", \"output\" (anything new) or a regular expression (RE2) in output not yet read, like \"listening on\"; on send, in what comes after it. A command that still runs at the match becomes a session.", nil},
		{"env", "object", "Environment variables to set, {\"NAME\": \"value\"}.", nil},
		{"commands", "strings", "Several commands, run side by side; the reply has results in this order. In place of command.", nil},
		{"parallel", "boolean", "Run the parts of a top-level && list side by side; the reply has results.", nil},
		{"fields", "object", "Which of stdout, stderr, exit_code, duration, is_timeout, command_echo, output_file to return: {\"stdout\": true}. Default all.", nil},
		{"output_file", "string", "Write the whole stdout to this file on the server's host; the reply has a preview of it.", nil},
		{"detach", "boolean", "Start as a session and return at once.", nil},
		{"session_id", "string", "A session to act upon, from an earlier reply.", nil},
		{"action", "string", actionDoc(t), actions(t)},
		{"keys", "strings", "For send, in place of command: keys to press one after the other, like [\"ctrl-c\"] or [\"down\", \"enter\"]: enter tab escape backspace up down left right page-up home f1 ctrl-x alt-x, or a single character. Without tty only ctrl-c (interrupts the command) and ctrl-d (end of file).", nil},
		{"offset", "integer", "For read and send: from which byte of the session's output (default: what was not yet read).", nil},
		{"limit", "integer", limitDoc(t), nil},
		{"tail", "integer", "For read and send: only the last n lines; with grep the last n that match.", nil},
		{"grep", "string", "For read and send: only lines that match this regular expression (RE2): read looks through the whole output or from offset on, send through what is new. A note says at which offsets they are.", nil},
		{"raw", "boolean", "Keep carriage returns and terminal escape sequences.", nil},
		{"merged", "boolean", "Both streams in the order they came, in stdout.", nil},
		{"login", "boolean", "Use the environment of a login shell.", nil},
		{"base64", "boolean", "Return the output as base64.", nil},
		{"encoding", "string", "Encoding of the output, like gbk (default utf-8).", nil},
		{"alive_timeout", "number", fmt.Sprintf("Seconds without a call about it until a session ends (default %s), -1 never.", secondsText(t.Alive)), nil},
	}
	return append(list, choices(t)...)
}

// choices are the parameters that only some tools have.
func choices(t job.Tool) (list []param) {
	if t.Stdin {
		list = append(list,
			param{"stdin", "string", "Text for the command's standard input, then end of file. Without it: empty, or open for send with detach, tty or a wait_for pattern.", nil},
			param{"eof", "boolean", "For send: end of file on standard input.", nil})
	}
	if t.TTY {
		list = append(list,
			param{"tty", "boolean", "Run on a real terminal, for programs that ask for a password, show menus or edit. While a program fills the screen, stdout is the screen as it is.", nil},
			param{"cols", "integer", "Width of the terminal in characters (default 80); with send it is resized.", nil},
			param{"rows", "integer", "Height of the terminal in lines (default 24); with send it is resized.", nil})
	}
	if len(t.Shells) > 1 {
		list = append(list, param{"shell", "string", fmt.Sprintf("Which shell runs the command (default %s).", t.Shells[0]), t.Shells})
	}
	list = append(list, targetParams(t)...)
	if len(t.Images) > 1 {
		list = append(list, param{"image", "string", fmt.Sprintf("Which image the sandbox is made of (default %s).", t.Images[0]), t.Images})
	}
	if len(t.Networks) > 1 {
		list = append(list, param{"network", "string", fmt.Sprintf("Which network the sandbox gets (default %s).", t.Networks[0]), t.Networks})
	}
	return list
}

func targetParams(t job.Tool) []param {
	if len(t.Targets) == 0 {
		return nil
	}
	groups := slices.Sorted(slices.Values(t.Groups)) // a list that changes its order is a changed list to a client's cache
	names := slices.Concat(t.Targets, groups)
	doc := fmt.Sprintf("Where to run (default %s).", t.Targets[0])
	if len(groups) > 0 {
		doc += " Groups of several: " + strings.Join(groups, ", ") + "."
	}
	return []param{
		{"target", "string", doc, names},
		{"targets", "strings", "Run on each of these; the reply has results in this order.", names},
	}
}

// fileParams lists the parameters of a file tool.
func fileParams(t job.Tool) []param {
	list := []param{
		{"action", "string", "What to do. write and mkdir make missing parents, delete is recursive.", []string{"read", "write", "list", "delete", "exists", "mkdir", "stat"}},
		{"path", "string", "Absolute path.", nil},
		{"content", "string", "For write: the text.", nil},
		{"content_base64", "string", "For write, in place of content: the bytes as base64.", nil},
		{"session_id", "string", fileSessionDoc(t), nil},
		{"offset", "integer", "For read: from which byte (default 0).", nil},
		{"limit", "integer", "For read: how many bytes.", nil},
	}
	if targets := targetParams(t); len(targets) > 0 {
		list = append(list, targets[0])
	}
	return list
}

func fileSessionDoc(t job.Tool) string {
	if t.Sandbox {
		return "Work in this session's sandbox; without one only the image can be looked at: start a command with detach first."
	}
	return "Work where this session runs."
}

func cwdDoc(t job.Tool) string {
	doc := "Working directory; ~ is the home directory where the command runs."
	if !t.Isolated && len(t.Targets) == 0 {
		doc += " Required to run a command on this host."
	}
	return doc
}

func timeoutDoc(t job.Tool) string {
	doc := fmt.Sprintf("Seconds until the command and all that it started is killed (default %s", secondsText(t.Timeout))
	if t.MaxTimeout > 0 {
		doc += ", at most " + secondsText(t.MaxTimeout)
	}
	return doc + "); what was printed is kept. -1 means no limit. With detach none unless given."
}

func actionDoc(t job.Tool) string {
	doc := "What to do with the session: send (the default) text or keys, read its output, kill it; or list all."
	if t.Sandbox {
		doc += " run: another command in its sandbox."
	}
	return doc
}

func actions(t job.Tool) []string {
	list := []string{"send", "read", "kill", "list"}
	if t.Sandbox {
		list = append(list, "run")
	}
	return list
}

func secondsText(d time.Duration) string {
	if d == job.Unlimited {
		return "no limit"
	}
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
}

func limitDoc(t job.Tool) string {
	if t.InlineLimit <= 0 {
		return "How many bytes of output to return."
	}
	return fmt.Sprintf("How many bytes of output to return (default %d).", t.InlineLimit)
}
