package policy

import (
	"context"
	"strings"

	"cmd-exec-mcp/runtime/shell"
)

// Reader checks what is typed into a shell that reads its commands from its standard input. It is for one session and
// not for concurrent use.
type Reader struct {
	p       *Policy
	in      Input // of the start: tool, backend, directory
	dialect string
	pending string
	reads   bool // a statement that passed may read the input itself, so the lines of a later one may become separate
}

// Reader returns nil when the started text has no shell that reads what is typed, or the mode is full: such input is
// data.
func (p *Policy) Reader(in Input) *Reader {
	if !p.restricted {
		return nil
	}
	a := p.analyseSafely(in)
	if a == nil || len(a.Readers) == 0 {
		return nil
	}
	r := &Reader{p: p, in: in, dialect: a.Readers[0]}
	for _, d := range a.Readers {
		if d != r.dialect {
			r.dialect = "sh" // both readings
		}
	}
	return r
}

func (p *Policy) analyseSafely(in Input) (a *Analysis) {
	defer func() {
		if recover() != nil {
			a = nil // Check refuses the same text
		}
	}()
	return p.analyse(in)
}

// Type takes what is typed. pass holds the complete statements that may be written to the shell now. held says that
// something waits for its rest. A statement that is refused does not pass, and d says why; it is dropped whole, what was
// pending of it included, and so is what follows it, since that was meant to come after it.
func (r *Reader) Type(ctx context.Context, data []byte) (pass []byte, held bool, d Decision) {
	d = Decision{Verdict: Allow, Fingerprint: r.p.fingerprint}
	if len(r.pending)+len(data) > maxText {
		return nil, r.pending != "", r.p.refusal("", Issue{Rule: "R1", Message: "what is typed is longer than one statement may be"})
	}
	text := r.pending + string(data)
	var passed strings.Builder
	for text != "" {
		statement, rest, whole := cut(text, r.dialect)
		if !whole {
			break
		}
		d = r.judge(ctx, statement)
		if d.Verdict != Allow {
			r.pending = ""
			return []byte(passed.String()), false, d
		}
		passed.WriteString(d.Text)
		text = rest
	}
	r.pending = text
	return []byte(passed.String()), text != "", d
}

// EOF is the end of what is typed: what is pending is a statement now.
func (r *Reader) EOF(ctx context.Context) (pass []byte, d Decision) {
	d = Decision{Verdict: Allow, Fingerprint: r.p.fingerprint}
	if strings.TrimSpace(r.pending) == "" {
		pass, r.pending = []byte(r.pending), ""
		return pass, d
	}
	d = r.judge(ctx, r.pending)
	r.pending = ""
	if d.Verdict == Allow {
		pass = []byte(d.Text)
	}
	return pass, d
}

// Clear drops what is pending: ctrl-c on a terminal did the same in the shell.
func (r *Reader) Clear() { r.pending = "" }

// cut takes the first complete statement off: as few lines as make one.
func cut(text, dialect string) (statement, rest string, whole bool) {
	end := 0
	for lines := 0; ; lines++ {
		i := strings.IndexByte(text[end:], '\n')
		if i < 0 {
			return "", text, false
		}
		end += i + 1
		if shell.Complete(text[:end], dialect) {
			return text[:end], text[end:], true
		}
	}
}

// judge checks one complete statement.
func (r *Reader) judge(ctx context.Context, statement string) Decision {
	in := r.in
	in.Text, in.Argv, in.Env, in.Shell, in.Writes, in.Deletes = statement, nil, nil, r.dialect, nil, nil
	d := r.p.Check(ctx, in)
	if d.Verdict != Allow {
		return d
	}
	if issue := r.typed(d.Text); issue != nil {
		return r.p.refusal(d.Text, *issue)
	}
	if r.reads {
		if e := r.lines(ctx, in, d.Text); e.Verdict != Allow {
			return e
		}
	}
	for _, x := range d.Execs {
		r.reads = r.reads || !quiet[x.Name]
	}
	return d
}

// typed refuses what an interactive shell changes before it reads it: history references.
func (r *Reader) typed(text string) *Issue {
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "^") {
			return &Issue{Rule: "R12", Message: "a line that begins with ^ edits the history of an interactive shell"}
		}
	}
	return nil
}

// lines judges the later lines of a statement as if the first ones had gone to a program that reads the same input. Only
// what would start counts: half a statement is a syntax error and harmless.
func (r *Reader) lines(ctx context.Context, in Input, text string) Decision {
	rest := text
	for {
		i := strings.IndexByte(rest, '\n')
		if i < 0 || rest[i+1:] == "" {
			return Decision{}
		}
		rest = rest[i+1:]
		for probe := rest; probe != ""; {
			in.Text = probe
			d := r.p.Check(ctx, in)
			for _, f := range d.Findings {
				if f.Rule == "R5" || f.Rule == "R6" {
					d.Hint = "send it in one line, or write the script to a file"
					return d
				}
			}
			if len(d.Findings) == 0 || d.Findings[0].Rule != "R2" {
				break
			}
			j := strings.LastIndexByte(strings.TrimSuffix(probe, "\n"), '\n')
			probe = probe[:j+1]
		}
	}
}
