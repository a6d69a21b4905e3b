package ssh

import (
	"io"
	"net"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"cmd-exec-mcp/runtime/job"
)

// startProxy runs a ProxyCommand; its streams are the connection. What it prints on stderr is nobody's.
func startProxy(command string) (net.Conn, error) {
	cmd := exec.Command("sh", "-c", "exec "+command)
	if runtime.GOOS == "windows" {
		cmd = exec.Command("cmd", "/c", command)
	}
	ownGroup(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, job.Errorf(job.Unavailable, "the ProxyCommand cannot be started: %w", err).WithHint("try it by hand: %s", command)
	}
	return &proxy{ReadCloser: out, in: in, cmd: cmd}, nil
}

// proxy has no deadlines: who needs one closes it.
type proxy struct {
	io.ReadCloser
	in     io.WriteCloser
	cmd    *exec.Cmd
	ending sync.Once // the library and we both close it
}

func (p *proxy) Write(data []byte) (int, error) { return p.in.Write(data) }

// Close ends the program and what it started.
func (p *proxy) Close() error {
	p.ending.Do(func() {
		_ = p.in.Close()
		endGroup(p.cmd.Process)
		go func() { _ = p.cmd.Wait() }()
	})
	return nil
}

func (p *proxy) LocalAddr() net.Addr              { return proxyAddr{} }
func (p *proxy) RemoteAddr() net.Addr             { return proxyAddr{} }
func (p *proxy) SetDeadline(time.Time) error      { return nil }
func (p *proxy) SetReadDeadline(time.Time) error  { return nil }
func (p *proxy) SetWriteDeadline(time.Time) error { return nil }

type proxyAddr struct{}

func (proxyAddr) Network() string { return "proxy" }
func (proxyAddr) String() string  { return "ProxyCommand" }
