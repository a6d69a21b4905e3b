package docker

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
	"cmd-exec-mcp/runtime/shell"
	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
)

// listing prints a folder's entries in up to three groups: the names, each ended by NUL, an empty one, and then a line
// for each with its mode, size and time. The shell finds the names, so they may hold anything.
const listing = ` || exit 9
g() { [ -e "$1" ] || [ -L "$1" ] || return 0; printf '%s\0' "$@" ''; stat -c '%f %s %Y' -- "$@" || exit 9; }
g *; g .[!.]*; g ..?*`

// listByShell lists dir by a command that start starts. It reports false where that does not work, for whatever reason:
// no stat in the image, no permission, more names than fit, a folder that changed meanwhile.
func listByShell(ctx context.Context, dir string, start func(context.Context, job.Command, backends.IO) (backends.Process, error)) ([]job.FileInfo, bool) {
	var out bytes.Buffer
	p, err := start(ctx, job.Command{Script: "cd -- " + shell.Quote(dir) + listing}, backends.IO{Stdout: &out})
	if err != nil {
		return nil, false
	}
	stop := context.AfterFunc(ctx, func() { _ = p.Kill(context.WithoutCancel(ctx)) })
	defer stop()
	if exit, err := p.Wait(); err != nil || exit.Code != 0 {
		return nil, false
	}
	list, ok := parseListing(dir, out.String())
	slices.SortFunc(list, func(a, b job.FileInfo) int { return strings.Compare(a.Name, b.Name) })
	return list, ok
}

func parseListing(dir, out string) (list []job.FileInfo, ok bool) {
	list = []job.FileInfo{}
	for out != "" {
		var names []string
		for {
			name, rest, found := strings.Cut(out, "\x00")
			if out = rest; !found {
				return nil, false
			}
			if name == "" {
				break
			}
			names = append(names, name)
		}
		for _, name := range names {
			line, rest, _ := strings.Cut(out, "\n")
			out = rest
			info, ok := parseStat(path.Join(dir, name), strings.Fields(line))
			if !ok {
				return nil, false
			}
			list = append(list, info)
		}
	}
	return list, true
}

func parseStat(file string, fields []string) (job.FileInfo, bool) {
	if len(fields) != 3 {
		return job.FileInfo{}, false
	}
	raw, err1 := strconv.ParseUint(fields[0], 16, 32)
	size, err2 := strconv.ParseInt(fields[1], 10, 64)
	seconds, err3 := strconv.ParseInt(fields[2], 10, 64)
	mode := os.FileMode(raw & 0o777)
	switch raw & 0o170000 { // the file types of Linux, whatever this host runs
	case 0o100000:
	case 0o040000:
		mode |= os.ModeDir
	case 0o120000:
		mode |= os.ModeSymlink
	default:
		mode |= os.ModeIrregular
	}
	return fileInfo(file, mode, size, time.Unix(seconds, 0)), errors.Join(err1, err2, err3) == nil
}

// stat follows links. Below a file there is nothing, which the engine calls a failure of its own.
func (f containerFiles) stat(ctx context.Context, file string) (container.PathStat, error) {
	info, err := f.b.statIn(ctx, f.id, file)
	if err == nil || cerrdefs.IsNotFound(err) || ctx.Err() != nil {
		return info, err
	}
	for above := path.Dir(path.Clean(file)); above != "/"; above = path.Dir(above) {
		if upper, upperErr := f.b.statIn(ctx, f.id, above); upperErr == nil {
			if !upper.Mode.IsDir() {
				return info, cerrdefs.ErrNotFound
			}
			break
		}
	}
	return info, err
}
