package session

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	"cmd-exec-mcp/runtime/job"
	"cmd-exec-mcp/runtime/stream"
)

// Result is the whole output of a job, cut to the inline limit, for the call that started it. A one-shot that was cut
// stays readable like a session; one that was not is forgotten.
func (j *Job) Result() (job.Result, error) {
	view := j.spec.Request.View
	style := stream.Style{View: view, Session: j.id, Limit: j.inline(view)}
	r := j.state()
	end := j.log.End()
	if j.spec.File != nil {
		j.preview(&r, style)
	} else {
		shown := stream.Show(j.log, style)
		j.fill(&r, shown)
		j.look(&r, view)
		r.Offset, r.Next = 0, end
	}
	j.mu.Lock()
	j.cursor = end
	err := j.err
	j.mu.Unlock()
	switch {
	case r.Exit == nil && err == nil:
		r.Session = j.id
	case j.isListed():
		r.Session = j.id
	case r.Truncated:
		r.Session = j.id
		j.table.keep(j)
	default:
		j.table.forget(j)
	}
	return r, err
}

// preview shows the beginning of what went to the output file.
func (j *Job) preview(r *job.Result, style stream.Style) {
	r.OutputFile = j.spec.Request.OutputFile
	view := j.log.View(0, 0)
	total := j.log.Total(j.pump.out.stream)
	view.Stdout = cut(view.Stdout, j.table.limits.Load().Preview)
	view.Merged, style.View.Merged = view.Stdout, false // the file holds standard output alone
	shown := stream.Part(view, style, true)
	j.fill(r, shown)
	r.Stdout.Total, r.Stdout.Omitted = total, total-int64(len(view.Stdout))
	r.Next = view.Next
	if r.Stdout.Omitted > 0 {
		r.Notes = append(r.Notes, "the whole output is in the output file; this is its beginning")
	}
	r.Truncated = false
}

// cut returns at most n characters of p, whole ones.
func cut(p []byte, n int) []byte {
	end := 0
	for ; n > 0 && end < len(p); n-- {
		_, size := utf8.DecodeRune(p[end:])
		end += size
	}
	return p[:end]
}

func (j *Job) inline(view job.View) int {
	if view.Limit > 0 {
		return view.Limit
	}
	return j.table.limits.Load().Inline
}

// state is everything of a result but the output.
func (j *Job) state() job.Result {
	req := j.spec.Request
	j.mu.Lock()
	defer j.mu.Unlock()
	r := job.Result{Echo: j.spec.Echo, Dir: j.spec.Dir, Shell: req.Command.Shell, Target: req.Target, Exit: j.exit}
	r.Notes = slices.Clone(j.spec.Notes)
	end := j.ended
	if end.IsZero() {
		end = time.Now()
		r.Alive = j.alive()
	}
	r.Elapsed = end.Sub(j.started)
	if j.exit != nil {
		r.Notes = append(r.Notes, j.exit.Notes...)
		r.Hint = j.exit.Hint
	}
	return r
}

func (j *Job) fill(r *job.Result, s stream.Shown) {
	r.Stdout, r.Stderr = s.Stdout, s.Stderr
	r.Truncated, r.Omitted = s.Truncated, s.OmittedAt
	r.Notes = append(r.Notes, s.Notes...)
}

// Read returns a part of the output, after waiting for what the read asks for. Only a plain read moves what counts as read.
func (j *Job) Read(ctx context.Context, r job.Read) (job.Result, error) {
	defer j.Visit()()
	grep, err := compileGrep(r.Grep)
	if err != nil {
		return job.Result{}, err
	}
	from := j.unread() // unread output counts as already come
	if r.Offset >= 0 {
		from = r.Offset
	}
	if err := j.await(ctx, r, from); err != nil {
		return job.Result{}, err
	}
	return j.read(r, grep)
}

// unread is the position of the first byte that no plain read has returned.
func (j *Job) unread() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.cursor
}

func (j *Job) read(r job.Read, grep *regexp.Regexp) (job.Result, error) {
	result := j.state()
	result.Session = j.id
	limit := j.inline(r.View)
	plain := r.Offset == job.Unread && r.Tail == 0 && grep == nil
	over := j.over()

	j.mu.Lock()
	from := max(r.Offset, 0)
	if r.Offset == job.Unread && grep == nil {
		from = j.cursor
	}
	var view stream.View
	switch {
	case grep != nil:
		view = j.log.Grep(grep, from, limit, r.Tail)
	case r.Tail > 0:
		view = j.log.Tail(r.Tail)
	default:
		view = j.log.View(from, limit)
	}
	if plain {
		j.cursor = view.Next
	}
	err := j.err
	j.mu.Unlock()

	shown := stream.Part(view, stream.Style{View: r.View, Session: j.id, Limit: limit}, over)
	j.fill(&result, shown)
	switch {
	case plain:
		j.look(&result, r.View)
	case grep != nil:
		result.Notes = append(result.Notes, matched(view.Matches))
	}
	result.Offset, result.Next, result.Dropped = view.From, view.Next, view.Dropped
	return result, err
}

// matched says where lines are, so that what is around one can be read.
func matched(at []int64) string {
	switch n := len(at); n {
	case 0:
		return "no line matches"
	case 1:
		return fmt.Sprintf("one line matches, at offset %d", at[0])
	default:
		return fmt.Sprintf("%d lines match, the first at offset %d, the last at offset %d", n, at[0], at[n-1])
	}
}

// look puts what the terminal shows in the place of the output, while a program has it to itself: an editor or a menu
// writes only what has changed.
func (j *Job) look(r *job.Result, view job.View) {
	if j.screen == nil || r.Exit != nil || view.Raw || view.Base64 {
		return
	}
	text, row, col, ok := j.screen.Text()
	if !ok {
		return
	}
	r.Stdout = job.Text{Data: text, Total: int64(len(text))}
	r.Truncated, r.Omitted = false, 0
	r.Notes = append(r.Notes, fmt.Sprintf("stdout is the screen, with the cursor in line %d, column %d; raw gives the output itself", row, col))
}

func compileGrep(text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, job.Errorf(job.Invalid, "grep is no regular expression: %v", err).WithHint("RE2 syntax: escape brackets that are meant literally")
	}
	return re, nil
}

// await waits as the read says, for output from position from on.
func (j *Job) await(ctx context.Context, r job.Read, from int64) error {
	if r.Wait == 0 && r.WaitFor == "" {
		return nil
	}
	text := r.WaitFor
	if text == "" {
		text = "output"
	}
	waiter, err := NewWaiter(text)
	if err != nil {
		return err
	}
	if j.Wait(ctx, waiter, r.Wait, from) == Gone {
		return canceled(ctx)
	}
	return nil
}
