//go:build unix

package ssh

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup lets endGroup reach what the program starts: a ProxyCommand may be a shell line with several.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func endGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
