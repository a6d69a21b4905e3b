//go:build linux

package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

//go:embed floor/client.c
var clientSource []byte

// leanClient is a client in C that measures round trips itself, as the floor does.
type leanClient struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	next int
}

// client starts our server below a client in C. It is nil without a compiler.
func (l *lab) client() (*leanClient, error) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		return nil, nil
	}
	binary := filepath.Join(l.dir, "client")
	if err := compile(cc, clientSource, binary); err != nil {
		return nil, err
	}
	c := &leanClient{cmd: exec.Command(binary, l.ours, "--data", l.dir)}
	c.cmd.Dir, c.cmd.Env, c.cmd.Stderr = l.work, environment(), os.Stderr
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	_, _, err = c.request("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`)
	return c, err
}

// compile builds a C program.
func compile(cc string, source []byte, binary string) error {
	if err := os.WriteFile(binary+".c", source, 0o600); err != nil {
		return err
	}
	if out, err := exec.Command(cc, "-O2", "-o", binary, binary+".c").CombinedOutput(); err != nil {
		return fmt.Errorf("compiling %s.c: %w: %s", filepath.Base(binary), err, out)
	}
	return nil
}

func (c *leanClient) close() {
	c.in.Close()
	c.cmd.Wait()
}

func (c *leanClient) request(method, params string) (took time.Duration, answer []byte, err error) {
	c.next++
	if _, err := c.in.Write(message(c.next, method, params)); err != nil {
		return 0, nil, err
	}
	size := 0
	if _, err := fmt.Fscanf(c.out, "%d %d\n", &took, &size); err != nil {
		return 0, nil, err
	}
	answer = make([]byte, size)
	_, err = io.ReadFull(c.out, answer)
	return took, answer, err
}

// timed makes one call and checks that the answer holds want.
func (c *leanClient) timed(params, want string) timed {
	return func() (time.Duration, error) {
		took, answer, err := c.request("tools/call", params)
		if err == nil && !bytes.Contains(answer, []byte(want)) {
			err = fmt.Errorf("the answer does not hold %q: %s", want, answer)
		}
		return took, err
	}
}
