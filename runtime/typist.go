package runtime

import (
	"bytes"
	"context"
	"errors"
	"time"

	"cmd-exec-mcp/runtime/audit"
	"cmd-exec-mcp/runtime/job"
	"cmd-exec-mcp/runtime/policy"
	"cmd-exec-mcp/runtime/session"
)

// typist checks what is typed into a shell, with the policy of the tool that started it.
type typist struct {
	engine   *Engine
	prepared *prepared
	reader   *policy.Reader
	tty      bool
}

var _ session.Typist = (*typist)(nil)

// typist gives the request one if its program is a shell that reads what is sent.
func (e *Engine) typist(p *prepared) {
	c := p.req.Command
	if c.Stdin == job.StdinNull {
		return
	}
	reader := p.tool.Policy.Reader(policy.Input{
		Tool: p.req.Tool, Backend: p.req.Backend, Shell: c.Shell, Dir: c.Dir, Text: c.Script, Argv: c.Argv, Env: c.Env,
	})
	if reader != nil {
		p.typist = &typist{engine: e, prepared: p, reader: reader, tty: c.TTY != nil}
	}
}

// Type passes complete statements that policy allows.
func (t *typist) Type(ctx context.Context, data []byte) (pass []byte, held bool, err error) {
	if t.tty && bytes.ContainsAny(data, "\t!") {
		return nil, false, &job.Error{
			Op: "type", Kind: job.Denied, Retry: "rewrite",
			Err:  errors.New("a shell on a terminal completes at a tab and recalls history at an exclamation mark, after the check"),
			Hint: "type names in full and spaces for tabs, or start the shell without tty",
		}
	}
	pass, held, d := t.reader.Type(ctx, data)
	return pass, held, t.judge(d, data)
}

// EOF passes what is still held, if it is a statement that policy allows.
func (t *typist) EOF(ctx context.Context) ([]byte, error) {
	pass, d := t.reader.EOF(ctx)
	return pass, t.judge(d, nil)
}

// Clear drops what is held.
func (t *typist) Clear() { t.reader.Clear() }

// judge records a decision on typed text. Nobody can be asked here, so what needs a person is refused.
func (t *typist) judge(d policy.Decision, data []byte) error {
	p, e := t.prepared, t.engine
	if e.audit != nil && len(data) > 0 {
		r := e.recordOf(p, d, 0)
		r.Text = p.tool.Redact.String(string(data), p.tool.secrets)
		r.Time = time.Now().UTC()
		if err := e.audit.Before(*r, string(data)); err != nil {
			return err
		}
		e.audit.After(audit.End{ID: r.ID, Time: r.Time})
	}
	if denied := d.Err(); denied != nil {
		return denied
	}
	return nil
}
