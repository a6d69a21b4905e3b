package mcp

import (
	"io"
	"strconv"
	"sync"
	"sync/atomic"

	"cmd-exec-mcp/runtime/job"
)

// The codes of JSON-RPC that are used here.
const (
	parseError     = -32700
	invalidRequest = -32600
	invalidParams  = -32602
	internalError  = -32603
)

// writer sends messages, each with one Write, so that no two mix. It may be used concurrently.
type writer struct {
	mu     sync.Mutex
	out    io.Writer
	closed atomic.Bool
	broken chan struct{} // closed at the first error: nobody reads any more
	err    error         // that error, to be read after broken
}

func newWriter(out io.Writer) *writer { return &writer{out: out, broken: make(chan struct{})} }

// send writes a message that ends in a newline. It blocks while the client does not read.
func (w *writer) send(line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed.Load() {
		return
	}
	if _, err := w.out.Write(line); err != nil {
		w.err = err
		w.closed.Store(true)
		close(w.broken)
	}
}

// buffers are reused: a fresh page costs more than encoding into it.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const keepBuffer = 4 << 20

func borrow() *[]byte { return buffers.Get().(*[]byte) }

func giveBack(b *[]byte, used []byte) {
	if cap(used) <= keepBuffer {
		*b = used[:0]
		buffers.Put(b)
	}
}

// appendResponse begins a response up to its result or error.
func appendResponse(dst, id []byte, what string) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id...)
	dst = append(dst, `,"`...)
	dst = append(dst, what...)
	return append(dst, `":`...)
}

// appendError appends a whole error response.
func appendError(dst, id []byte, code int, text string) []byte {
	dst = appendResponse(dst, id, "error")
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, int64(code), 10)
	dst = append(dst, `,"message":`...)
	dst = appendString(dst, text)
	return append(dst, "}}\n"...)
}

// appendCallResult appends the response to a tools/call. The object was encoded once and stands there twice, as text and as
// structured content, since some clients show the one and some the other. It is valid UTF-8 JSON.
func appendCallResult(dst, id, object []byte, isError bool) []byte {
	dst = appendResponse(dst, id, "result")
	dst = append(dst, `{"content":[{"type":"text","text":"`...)
	dst = appendEscaped(dst, object)
	dst = append(dst, `"}],"structuredContent":`...)
	dst = append(dst, object...)
	if isError {
		dst = append(dst, `,"isError":true`...)
	}
	return append(dst, "}}\n"...)
}

func (w *writer) fault() error {
	return job.Errorf(job.Unavailable, "the client does not read: %w", w.err)
}
