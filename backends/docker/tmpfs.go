package docker

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strings"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
	"cmd-exec-mcp/runtime/shell"
)

// inMemory says whether a path lies in one of the config's tmpfs folders. The engine's archive API does not see those of
// a running container, so a shell in it does the work.
func (f containerFiles) inMemory(file string) bool {
	if f.p == nil || f.p.at.shellPath == "" {
		return false
	}
	file = path.Clean(file)
	for dir := range f.b.config.Tmpfs {
		if dir = path.Clean(dir); file == dir || strings.HasPrefix(file, strings.TrimSuffix(dir, "/")+"/") {
			return true
		}
	}
	return false
}

const missing = 44 // the exit code by which the texts below say that there is no such file

// text runs shell text in the container about one path, which is $F.
func (f containerFiles) text(ctx context.Context, file, text string, input []byte) ([]byte, error) {
	var out, said bytes.Buffer
	cmd := job.Command{Script: text, Env: map[string]string{"F": path.Clean(file)}, Stdin: job.StdinBytes, Input: input}
	p, err := f.p.Run(ctx, cmd, backends.IO{Stdout: &out, Stderr: &said})
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = p.Kill(context.WithoutCancel(ctx)) })
	defer stop()
	exit, err := p.Wait()
	switch {
	case err != nil:
		return nil, err
	case ctx.Err() != nil:
		return nil, f.b.fail(file, ctx.Err())
	case exit.Code == missing:
		return nil, job.Errorf(job.NotFound, "%s does not exist in the container", file).WithHint("list shows what a folder holds")
	case exit.Code != 0:
		return nil, job.Errorf(job.Denied, "%s: %s", file, strings.TrimSpace(said.String())).WithHint("the folder is in memory (tmpfs): its size and owner are the config's")
	}
	return out.Bytes(), nil
}

func (f containerFiles) memoryStat(ctx context.Context, file string) (job.FileInfo, error) {
	out, err := f.text(ctx, file, `[ -e "$F" ] || exit 44; stat -L -c '%f %s %Y' -- "$F"`, nil)
	if err != nil {
		return job.FileInfo{}, err
	}
	info, ok := parseStat(file, strings.Fields(string(out)))
	if !ok {
		return info, job.Errorf(job.Unsupported, "the image's stat is of an unknown kind: %q", out).WithHint("use the shell tool: ls -l")
	}
	return info, nil
}

func (f containerFiles) memoryRead(ctx context.Context, file string, offset, limit int64) ([]byte, error) {
	return f.text(ctx, file, fmt.Sprintf(`tail -c +%d -- "$F" | head -c %d`, offset+1, limit), nil)
}

func (f containerFiles) memoryWrite(ctx context.Context, file string, content []byte) error {
	_, err := f.text(ctx, file, "mkdir -p -- "+shell.Quote(path.Dir(path.Clean(file)))+` && cat >"$F"`, content)
	return err
}

func (f containerFiles) memoryMkdir(ctx context.Context, dir string) error {
	_, err := f.text(ctx, dir, `mkdir -p -- "$F"`, nil)
	return err
}
