//go:build unix

package local

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
)

// loginEnv runs a login shell that does nothing but print the environment its profiles have made; the command then
// starts as always, with that. So the profiles' output is never the command's, and their functions, traps and options
// never meet the text. Limits and the umask that a profile sets are not taken over.
func (b *backend) loginEnv(ctx context.Context, cmd job.Command) (map[string]string, error) {
	shell := cmd.Shell
	if shell == "" || shell == "pwsh" {
		shell = b.loginShell()
	}
	ctx, cancel := context.WithTimeout(ctx, loginPatience)
	defer cancel()
	env, err := b.profile(ctx, shell, b.environ(job.Command{Dir: cmd.Dir, Env: cmd.Env}, nil), cmd.Dir)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(env, func(name, _ string) bool {
		_, given := cmd.Env[name]
		return given || matches(startup, name) || b.secret(name) || name == "PWD" || name == "OLDPWD" || name == "SHLVL" || name == "_"
	})
	return env, nil
}

// loginPatience is for a profile that asks something, or waits for a network.
const loginPatience = 15 * time.Second

// findLoginPath is path_from_login_shell: a server without it would be worse than one with a thin PATH, so a failure is
// only logged.
func (b *backend) findLoginPath() string {
	ctx, cancel := context.WithTimeout(context.Background(), loginPatience)
	defer cancel()
	var list []string
	for name, value := range b.base() {
		list = append(list, name+"="+value)
	}
	env, err := b.profile(ctx, b.loginShell(), list, home())
	if err != nil {
		b.log.Warn().Err(err).Msg("local: the login shell's PATH is not known")
	}
	return env["PATH"]
}

// loginShell is the user's, where it is one of those we know.
func (b *backend) loginShell() string {
	if name := filepath.Base(os.Getenv("SHELL")); b.shells[name] != "" {
		return name
	}
	if len(b.names) == 0 {
		return "sh"
	}
	return b.names[0]
}

// profile returns the environment after the login shell's profiles. The environment itself is the proof that the shell
// got that far: a profile that calls exec or exit prints nothing on this descriptor.
func (b *backend) profile(ctx context.Context, shell string, env []string, dir string) (map[string]string, error) {
	shell, err := b.shell(shell)
	if err != nil {
		return nil, err
	}
	b.gate.RLock()
	if b.closed {
		b.gate.RUnlock()
		return nil, job.Errorf(job.Unavailable, "the server is shutting down")
	}
	var out bytes.Buffer
	cmd := job.Command{Shell: shell, Dir: dir}
	p, err := b.spawn(b.shells[shell], loginArguments(shell), env, cmd, backends.IO{Stdout: io.Discard, Stderr: &out})
	b.gate.RUnlock()
	if err != nil {
		return nil, explain(err, cmd)
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		go p.Kill(context.WithoutCancel(ctx))
		<-p.done
		return nil, job.Errorf(job.Timeout, "the login shell did not get through its profiles in time").
			WithHint("look for something in them that waits for input or a network; or call without login")
	}
	defer p.Kill(context.WithoutCancel(ctx)) // what a profile leaves in the background is not ours to keep
	_, dump, found := bytes.Cut(out.Bytes(), []byte(loginMark))
	if !found {
		return nil, &job.Error{
			Op: "local.login", Kind: job.Unavailable, Err: errors.New("the login shell ended before it reached the command"),
			Hint: "a profile calls exec or exit (~/.bash_profile, ~/.profile); mend it, or call without login",
		}
	}
	result := map[string]string{}
	for entry := range strings.SplitSeq(string(dump), "\x00") {
		if name, value, ok := cut(entry); ok {
			result[name] = value
		}
	}
	return result, nil
}

// loginMark ends whatever profiles print where the environment follows.
const loginMark = "\x00\x01cmd-exec-mcp\x00"

// loginArguments makes the shell print the mark and its environment on stderr; its stdout is the profiles' alone.
func loginArguments(shell string) []string {
	return []string{shell, "-l", "-c", `printf '\000\001cmd-exec-mcp\000' >&2; exec env -0 >&2`}
}
