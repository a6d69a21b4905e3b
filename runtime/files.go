package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
	"cmd-exec-mcp/runtime/policy"
)

// fileTimeout bounds one file request.
const fileTimeout = 60 * time.Second

// Files serves a file tool. Policy sees a write as `>` and a delete as `rm` of that path.
func (e *Engine) Files(ctx context.Context, r job.FileRequest) (job.FileResult, error) {
	t, err := e.tool(r.Tool)
	if err != nil {
		return job.FileResult{}, err
	}
	if r.Path == "" || !path.IsAbs(r.Path) {
		return job.FileResult{}, job.Errorf(job.Invalid, "path %q is not absolute", r.Path).WithHint("give the whole path, from /")
	}
	p := &prepared{tool: t, req: job.Request{Tool: r.Tool, Target: r.Target, Session: r.Session}, echo: r.Action + " " + r.Path}
	files, err := e.filer(t, r, p)
	if err != nil {
		return job.FileResult{}, err
	}
	if err := e.permitFile(ctx, p, r); err != nil {
		return job.FileResult{}, err
	}
	e.log.Info().Str("name", t.logName()).Msgf("file: %s", e.logText(p))
	ctx, cancel := context.WithTimeout(ctx, fileTimeout)
	defer cancel()
	return perform(ctx, files, r)
}

// filer is the session's sandbox, or the backend itself.
func (e *Engine) filer(t *tool, r job.FileRequest, p *prepared) (backends.Files, error) {
	var from any
	if r.Session != "" {
		j, err := e.table.Any(r.Session)
		if err != nil {
			return nil, err
		}
		target, err := t.target(j.Request().Target)
		if err != nil || !e.sameBackend(j.Request(), target) {
			return nil, job.Errorf(job.Invalid, "session %q runs somewhere else", r.Session).WithHint("use the file tool of the same backend")
		}
		p.target, from = target, j.Process()
	} else {
		target, err := t.target(r.Target)
		if err != nil {
			return nil, err
		}
		p.target, from = target, target.backend
		if target.backend.Properties().Sandbox && (r.Action == "write" || r.Action == "mkdir" || r.Action == "delete") {
			return nil, job.Errorf(job.Invalid, "without a session_id the sandbox ends with this call, and the change with it").
				WithHint("start a session with detach=true first, and give its session_id")
		}
	}
	filer, ok := from.(backends.Filer)
	if !ok {
		return nil, job.Errorf(job.Unsupported, "this backend has no file access").WithHint("use the shell tool: cat, ls, tee")
	}
	return filer.Files(), nil
}

// sameBackend says whether a session of another tool runs on the backend of this target.
func (e *Engine) sameBackend(req job.Request, target target) bool {
	t, err := e.tool(req.Tool)
	if err != nil {
		return false
	}
	other, err := t.target(req.Target)
	return err == nil && other.backend == target.backend
}

// permitFile passes what changes a file through the same check point as commands.
func (e *Engine) permitFile(ctx context.Context, p *prepared, r job.FileRequest) error {
	in := policy.Input{Tool: r.Tool, Backend: p.target.backend.Properties().Name, Home: homeOf(p.target)}
	switch r.Action {
	case "write", "mkdir":
		in.Writes = []string{r.Path}
	case "delete":
		in.Deletes = []string{r.Path}
	}
	d := p.tool.Policy.Check(ctx, in)
	p.req.Command.Script = p.echo
	p.record = e.recordOf(p, d, 0)
	return e.permit(ctx, p, d, job.Discard)
}

func perform(ctx context.Context, f backends.Files, r job.FileRequest) (out job.FileResult, err error) {
	switch r.Action {
	case "read":
		var info job.FileInfo
		out.Data, info, err = f.Read(ctx, r.Path, r.Offset, r.Limit)
		out.Size, out.Stat = info.Size, &info
	case "write":
		var info job.FileInfo
		info, err = f.Write(ctx, r.Path, r.Content)
		sum := sha256.Sum256(r.Content)
		out.Stat, out.Size, out.SHA256 = &info, info.Size, hex.EncodeToString(sum[:])
	case "list":
		out.List, err = f.List(ctx, r.Path)
	case "stat":
		var info job.FileInfo
		info, err = f.Stat(ctx, r.Path)
		out.Stat = &info
	case "exists":
		_, err = f.Stat(ctx, r.Path)
		out.Exists = err == nil
		if err != nil && job.KindOf(err) == job.NotFound {
			err = nil
		}
	case "mkdir":
		err = f.Mkdir(ctx, r.Path)
	case "delete":
		err = f.Delete(ctx, r.Path)
	default:
		err = job.Errorf(job.Invalid, "no action %q", r.Action).WithHint("one of read write list delete exists mkdir stat")
	}
	return out, err
}
