package mcp

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"cmd-exec-mcp/runtime/job"
)

const (
	progressEvery = 250 * time.Millisecond
	heartbeat     = 10 * time.Second
	progressText  = 1000 // bytes of output in one message
)

// progress is the sink of one call. It keeps the end of the output and a count, so output never waits for the client. With a
// token it sends them on at most four times a second, and every ten seconds even if nothing came: a client that hears
// nothing gives up after a minute.
type progress struct {
	conn  *conn
	token []byte // nil: the client wants no progress
	wake  chan struct{}
	stop  chan struct{}
	done  chan struct{}

	mu   sync.Mutex
	tail []byte
	text string // of something slow that is not output
	seen int64  // bytes of output
	sent int64  // the last number that was sent
}

func newProgress(c *conn, token []byte) *progress {
	p := &progress{conn: c, token: token}
	if token != nil {
		p.wake, p.stop, p.done = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
		go p.run()
	}
	return p
}

// close returns when nothing more will be sent: the result stands alone.
func (p *progress) close() {
	if p.token != nil {
		close(p.stop)
		<-p.done
	}
}

func (p *progress) Event(e job.Event) {
	if p.token == nil {
		return
	}
	p.mu.Lock()
	p.seen += int64(len(e.Data))
	data := e.Data
	// Twice the text is kept, since escape sequences will be dropped from it.
	if len(data) > 2*progressText {
		data = data[len(data)-2*progressText:]
	}
	p.tail = append(p.tail, data...)
	if extra := len(p.tail) - 2*progressText; extra > 0 {
		p.tail = append(p.tail[:0], p.tail[extra:]...)
	}
	p.text = ""
	p.mu.Unlock()
	p.nudge()
}

func (p *progress) Progress(j job.Progress) {
	if p.token == nil {
		return
	}
	text := j.Message
	if j.Total > 0 {
		text += fmt.Sprintf(" (%d %%)", j.Done*100/j.Total)
	}
	p.mu.Lock()
	p.text = text
	p.mu.Unlock()
	p.nudge()
}

func (p *progress) Ask(ctx context.Context, q job.Question) (job.Answer, error) {
	return p.conn.ask(ctx, q)
}

func (p *progress) nudge() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// run sends. It begins with a pause, so that a fast command's output comes with its result only.
func (p *progress) run() {
	defer close(p.done)
	beat := time.NewTimer(heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-time.After(progressEvery):
		}
		select {
		case <-p.stop:
			return
		case <-p.wake:
		case <-beat.C:
		}
		p.conn.out.send(p.notification())
		beat.Reset(heartbeat)
	}
}

func (p *progress) notification() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = max(p.sent+1, p.seen) // it must increase, also when nothing came
	line := append([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`), p.token...)
	line = append(line, `,"progress":`...)
	line = strconv.AppendInt(line, p.sent, 10)
	message := p.text
	if message == "" {
		message = lastLines(p.tail)
	}
	if message != "" {
		line = append(line, `,"message":`...)
		line = appendString(line, message)
	}
	return append(line, "}}\n"...)
}

// lastLines returns the end of the output as a person would see it: without escape sequences, of a line that was written
// over only the last state, no more than progressText bytes, cut at a character.
func lastLines(tail []byte) string {
	var text []byte
	for len(tail) > 0 {
		switch b := tail[0]; {
		case b == 0x1b:
			tail = tail[escapeLength(tail):]
			continue
		case b == '\r' && len(tail) > 1 && tail[1] != '\n':
			text = text[:bytes.LastIndexByte(text, '\n')+1]
		case b == '\n' || b == '\t' || b >= ' ' && b != 0x7f:
			text = append(text, b)
		}
		tail = tail[1:]
	}
	text = bytes.TrimRight(text, "\n")
	if extra := len(text) - progressText; extra > 0 {
		text = text[extra:]
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			text = text[i+1:]
		}
	}
	return string(bytes.ToValidUTF8(text, nil))
}

// escapeLength is how long the escape sequence at the start of b is: CSI to its final byte, OSC to BEL or ST, else two bytes.
func escapeLength(b []byte) int {
	if len(b) < 2 {
		return len(b)
	}
	for i := 2; i < len(b); i++ {
		switch {
		case b[1] == '[' && b[i] >= 0x40 && b[i] <= 0x7e:
			return i + 1
		case b[1] == ']' && (b[i] == 0x07 || b[i] == '\\' && b[i-1] == 0x1b):
			return i + 1
		case b[1] != '[' && b[1] != ']':
			return 2
		}
	}
	return len(b)
}
