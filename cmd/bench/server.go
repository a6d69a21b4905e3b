//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// server is a server as its client sees it. Its pipes are plain blocking ones, without the poller of the os package in
// between, since what the client costs is measured too. It is for one goroutine.
type server struct {
	cmd     *exec.Cmd
	in, out int
	next    int
	buf     []byte // what was read and not yet returned
	read    int64  // bytes the server has sent
	stderr  bytes.Buffer
}

// serve starts our server with the built-in config.
func (l *lab) serve(flags ...string) (*server, error) {
	return start(l.work, append([]string{l.ours, "--data", l.dir}, flags...)...)
}

// serveStock starts the server that it is compared with.
func (l *lab) serveStock() (*server, error) { return start(l.work, l.stock) }

// start starts a server and initializes the connection.
func start(dir string, argv ...string) (*server, error) {
	var in, out [2]int
	if err := syscall.Pipe2(in[:], syscall.O_CLOEXEC); err != nil {
		return nil, err
	}
	if err := syscall.Pipe2(out[:], syscall.O_CLOEXEC); err != nil {
		return nil, err
	}
	s := &server{cmd: exec.Command(argv[0], argv[1:]...), in: in[1], out: out[0]}
	stdin, stdout := os.NewFile(uintptr(in[0]), "stdin"), os.NewFile(uintptr(out[1]), "stdout")
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = stdin, stdout, &s.stderr
	s.cmd.Dir, s.cmd.Env = dir, environment()
	err := s.cmd.Start()
	stdin.Close()
	stdout.Close()
	if err != nil {
		return nil, err
	}
	_, err = s.request("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, s.stderr.Bytes())
	}
	return s, s.write([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"))
}

// close ends the input and waits. It returns how long the server took to end.
func (s *server) close() time.Duration {
	began := time.Now()
	syscall.Close(s.in)
	s.cmd.Wait()
	syscall.Close(s.out)
	return time.Since(began)
}

// send writes a request and returns its id.
func (s *server) send(method, params string) (int, error) {
	s.next++
	return s.next, s.write(message(s.next, method, params))
}

func message(id int, method, params string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}`+"\n", id, method, params)
}

func (s *server) write(line []byte) error {
	for len(line) > 0 {
		n, err := syscall.Write(s.in, line)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		line = line[n:]
	}
	return nil
}

// line returns the next line from the server, valid until the next call.
func (s *server) line() ([]byte, error) {
	searched := 0
	for {
		if i := bytes.IndexByte(s.buf[searched:], '\n'); i >= 0 {
			line := s.buf[:searched+i]
			s.buf = s.buf[searched+i+1:]
			return line, nil
		}
		searched = len(s.buf)
		if cap(s.buf)-searched < 64<<10 {
			s.buf = append(make([]byte, 0, max(2*searched, 256<<10)), s.buf...)
		}
		n, err := syscall.Read(s.out, s.buf[searched:cap(s.buf)])
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return nil, fmt.Errorf("the server went away: %w", err)
		}
		s.read += int64(n)
		s.buf = s.buf[:searched+n]
	}
}

// response returns the next response and its id; notifications are skipped.
func (s *server) response() (id int, line []byte, err error) {
	const head = `{"jsonrpc":"2.0","id":`
	for {
		line, err = s.line()
		if err != nil {
			return 0, nil, err
		}
		if rest, ok := bytes.CutPrefix(line, []byte(head)); ok {
			digits, _, _ := bytes.Cut(rest, []byte(","))
			if id, err = strconv.Atoi(string(digits)); err == nil && !bytes.HasPrefix(rest[len(digits):], []byte(`,"method"`)) {
				return id, line, nil
			}
		}
	}
}

// request waits for the answer.
func (s *server) request(method, params string) ([]byte, error) {
	id, err := s.send(method, params)
	if err != nil {
		return nil, err
	}
	got, line, err := s.response()
	if err == nil && (got != id || bytes.Contains(line, []byte(`"error":{"code"`))) {
		err = fmt.Errorf("request %d: %s", id, line)
	}
	return line, err
}

// params are those of a tools/call.
func params(tool string, arguments map[string]any) string {
	raw, err := json.Marshal(map[string]any{"name": tool, "arguments": arguments})
	if err != nil {
		panic(err) // only strings and numbers come here
	}
	return string(raw)
}

// shell are the params of a call of execute_local.
func (l *lab) shell(command string, more ...any) string {
	arguments := map[string]any{"command": command, "cwd": l.work}
	for i := 0; i+1 < len(more); i += 2 {
		arguments[more[i].(string)] = more[i+1]
	}
	return params("execute_local", arguments)
}

// reply is what is read of a result.
type reply struct {
	Stdout  string `json:"stdout"`
	Timeout bool   `json:"is_timeout"`
	Running bool   `json:"is_running"`
	Session string `json:"session_id"`
	Next    int64  `json:"next_offset"`
	Dropped int64  `json:"dropped_bytes"`
	Error   string `json:"error"`

	Survivors []int `json:"survivors"`
}

// call is a tools/call whose answer is decoded. An error result is an error.
func (s *server) call(params string) (reply, error) {
	line, err := s.request("tools/call", params)
	if err != nil {
		return reply{}, err
	}
	return decode(line)
}

func decode(line []byte) (reply, error) {
	var response struct {
		Result struct {
			Structured reply `json:"structuredContent"`
			IsError    bool  `json:"isError"`
		} `json:"result"`
	}
	if err := json.Unmarshal(line, &response); err != nil {
		return reply{}, err
	}
	r := response.Result.Structured
	if response.Result.IsError {
		return r, fmt.Errorf("%s", r.Error)
	}
	return r, nil
}

// timed makes one call and checks that the answer holds want.
func (s *server) timed(params, want string) timed {
	return func() (time.Duration, error) {
		began := time.Now()
		line, err := s.request("tools/call", params)
		took := time.Since(began)
		if err == nil && !bytes.Contains(line, []byte(want)) {
			err = fmt.Errorf("the answer does not hold %q: %s", want, line)
		}
		return took, err
	}
}
