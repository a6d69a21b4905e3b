package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"cmd-exec-mcp/runtime/job"
	"cmd-exec-mcp/runtime/shell"
)

// maxParts bounds a parallel call; each part is a process.
const maxParts = 256

// split turns parallel requests into their parts. The cut is made on the syntax tree, so the shell must be known first.
func (e *Engine) split(ctx context.Context, reqs []job.Request) ([]job.Request, error) {
	var parts []job.Request
	for _, req := range reqs {
		texts, err := e.texts(ctx, req)
		if err != nil {
			return nil, err
		}
		if len(texts) == 0 {
			parts = append(parts, req)
			continue
		}
		if err := combines(req); err != nil {
			return nil, err
		}
		for _, text := range texts {
			part := req.Clone()
			part.Command.Script, part.Commands, part.Parallel = text, nil, false
			parts = append(parts, part)
		}
	}
	if len(parts) > maxParts {
		return nil, job.Errorf(job.Invalid, "%d parts at once, at most %d", len(parts), maxParts).WithHint("send them in several calls")
	}
	return parts, nil
}

// texts returns the parts of a parallel request, nothing for one that is not parallel.
func (e *Engine) texts(ctx context.Context, req job.Request) ([]string, error) {
	if len(req.Commands) > 0 {
		return req.Commands, nil
	}
	if !req.Parallel {
		return nil, nil
	}
	t, err := e.tool(req.Tool)
	if err != nil {
		return nil, err
	}
	target, err := t.target(req.Target)
	if err != nil {
		return nil, err
	}
	if err := needsDir(t, target, req); err != nil {
		return nil, err
	}
	resolved, err := target.backend.Resolve(ctx, req.Command)
	if err != nil {
		return nil, err
	}
	if texts, ok := shell.SplitAnd(req.Command.Script, resolved.Shell); ok {
		return texts, nil
	}
	return []string{req.Command.Script}, nil
}

// combines refuses what makes no sense for several commands at once.
func combines(req job.Request) error {
	for _, c := range []struct {
		name string
		set  bool
	}{
		{"detach", req.Detach}, {"stdin", req.Command.Stdin != job.StdinNull}, {"tty", req.Command.TTY != nil}, {"output_file", req.OutputFile != ""},
	} {
		if c.set {
			return job.Errorf(job.Invalid, "%s does not go with parallel or commands", c.name).WithHint("send the commands one by one")
		}
	}
	return nil
}

// each calls f for 0..n-1 side by side and returns when all have returned.
func each(n int, f func(i int)) {
	if n == 1 {
		f(0)
		return
	}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// partError says which part a denial is about.
func partError(err error, i, n int) error {
	e, ok := errors.AsType[*job.Error](err)
	if !ok || n == 1 {
		return err
	}
	said := *e
	said.Err = fmt.Errorf("part %d of %d: %w; none was started", i+1, n, e.Err)
	return &said
}
