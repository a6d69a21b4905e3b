package local

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
	"golang.org/x/sys/windows"
)

// Start implements backends.Backend.
func (b *backend) Start(ctx context.Context, cmd job.Command, io backends.IO) (backends.Process, error) {
	switch {
	case ctx.Err() != nil:
		return nil, &job.Error{Op: "local.Start", Kind: job.Canceled, Err: errors.New("it was not started in time"), Hint: "nothing was run"}
	case cmd.TTY != nil:
		return nil, job.Errorf(job.Unsupported, "there are no terminals on Windows here").WithHint("call without tty")
	case cmd.Login:
		return nil, job.Errorf(job.Unsupported, "there are no login shells on Windows").WithHint("call without login")
	}
	if err := checkText(cmd); err != nil {
		return nil, err
	}
	path, line, err := b.commandLine(cmd)
	if err != nil {
		return nil, err
	}
	b.gate.RLock()
	defer b.gate.RUnlock()
	if b.closed {
		return nil, job.Errorf(job.Unavailable, "the server is shutting down")
	}
	p, err := b.spawn(path, line, cmd, io)
	if err != nil {
		if bad := checkDir(cmd.Dir); cmd.Dir != "" && bad != nil {
			return nil, bad
		}
		return nil, &job.Error{Op: "local.Start", Kind: job.Unavailable, Err: err, Hint: "the command was not run"}
	}
	return p, nil
}

// commandLine is made by hand for cmd, which does not unquote as other programs do: with /s it takes off the outer pair of
// quotes and nothing else, so the text arrives as it was written.
func (b *backend) commandLine(cmd job.Command) (path, line string, err error) {
	if len(cmd.Argv) > 0 {
		path, err := exec.LookPath(cmd.Argv[0])
		if err != nil && !errors.Is(err, exec.ErrDot) {
			return "", "", job.Errorf(job.NotFound, "%s: command not found", cmd.Argv[0]).WithHint("%s", nearName(cmd.Argv[0], os.Getenv("PATH")))
		}
		if ext := strings.ToLower(filepath.Ext(path)); ext == ".bat" || ext == ".cmd" {
			// Batch files are read by cmd, which would take apart what the quoting of other programs keeps together.
			return "", "", job.Errorf(job.Unsupported, "%s is a batch file; its arguments cannot be passed safely", path).WithHint("run it as shell text with shell=cmd")
		}
		return path, windows.ComposeCommandLine(cmd.Argv), nil
	}
	path, ok := b.shells[cmd.Shell]
	if !ok {
		_, err := b.shell(cmd.Shell)
		return "", "", err
	}
	if cmd.Shell == "cmd" {
		return path, `cmd.exe /d /s /c "` + cmd.Script + `"`, nil
	}
	return path, windows.ComposeCommandLine(b.arguments(cmd)), nil
}

var resumeProcess = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")

// spawn starts the process suspended, puts it into its job and lets it go: what it starts is in the job from the first.
func (b *backend) spawn(path, line string, cmd job.Command, io backends.IO) (*process, error) {
	wires, err := b.connect(cmd, io.Merged())
	if err != nil {
		return nil, err
	}
	defer wires.closeTheirs()
	tree, err := b.forest.plant()
	if err != nil {
		wires.closeOurs()
		return nil, err
	}
	started, err := os.StartProcess(path, nil, &os.ProcAttr{
		Dir: cmd.Dir, Env: b.environ(cmd, nil), Files: wires.theirs[:],
		Sys: &syscall.SysProcAttr{
			CmdLine: line, HideWindow: true,
			CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NO_WINDOW | windows.CREATE_NEW_PROCESS_GROUP,
		},
	})
	if err == nil {
		if err = letRun(started, tree); err != nil {
			started.Kill()
			started.Wait()
		}
	}
	if err != nil {
		wires.closeOurs()
		b.forest.clear()
		if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
			err = pathErr.Err
		}
		return nil, err
	}
	p := &process{backend: b, started: started, tree: tree, done: make(chan struct{})}
	p.begin(cmd, wires, io)
	return p, nil
}

func letRun(started *os.Process, t *tree) error {
	var failed error
	err := started.WithHandle(func(handle uintptr) {
		failed = windows.AssignProcessToJobObject(t.handle, windows.Handle(handle))
		if failed == nil {
			if status, _, _ := resumeProcess.Call(handle); status != 0 {
				failed = windows.NTStatus(status)
			}
		}
	})
	return errors.Join(err, failed)
}
