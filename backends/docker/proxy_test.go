package docker

import (
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// proxy stands before the engine's socket and can stop passing anything on, as an engine that hangs.
type proxy struct {
	listener net.Listener
	engine   string

	mu     sync.Mutex
	frozen chan struct{} // closed: traffic flows
}

func newProxy(t *testing.T, host string) *proxy {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	flows := make(chan struct{})
	close(flows)
	p := &proxy{listener: l, engine: strings.TrimPrefix(host, "unix://"), frozen: flows}
	t.Cleanup(func() { _ = l.Close(); p.thaw() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(conn)
		}
	}()
	return p
}

func (p *proxy) host() string { return "unix://" + p.listener.Addr().String() }

func (p *proxy) freeze() {
	p.mu.Lock()
	p.frozen = make(chan struct{})
	p.mu.Unlock()
}

func (p *proxy) thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.frozen:
	default:
		close(p.frozen)
	}
}

func (p *proxy) serve(client net.Conn) {
	engine, err := net.Dial("unix", p.engine)
	if err != nil {
		_ = client.Close()
		return
	}
	var both sync.WaitGroup
	both.Go(func() { p.pass(engine, client) })
	both.Go(func() { p.pass(client, engine) })
	both.Wait()
	_, _ = client.Close(), engine.Close()
}

func (p *proxy) pass(to, from net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		flows := p.frozen
		p.mu.Unlock()
		<-flows
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			if err == io.EOF {
				_ = to.(*net.UnixConn).CloseWrite()
			} else {
				_ = to.Close()
			}
			return
		}
	}
}

// eventually waits for a condition that is normally true within a fraction of the time.
func eventually(t *testing.T, what string, limit time.Duration, ok func() bool) {
	t.Helper()
	for began := time.Now(); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > limit {
			t.Fatalf("%s: not within %v", what, limit)
		}
	}
}

// safeBuffer may be read while it is written.
type safeBuffer struct {
	mu  sync.Mutex
	buf strings.Builder
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}
