package session

import (
	"fmt"
	"io"
	"sync"

	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/runtime/job"
	"cmd-exec-mcp/runtime/stream"
)

// pump is the way of a job's output: decode the encoding, the hooks' taps, redact, then the log, the file and the sink.
type pump struct {
	job      *Job
	taps     *taps // nil: none
	out, err lane

	mu     sync.Mutex
	sink   job.Sink // nil once the call has returned
	closed bool     // what still comes is dropped
	broken error    // the file's first error
}

// lane is one stream's part of the way. Its steps are nil where there is nothing to do.
type lane struct {
	pump     *pump
	stream   job.Stream
	file     io.Writer
	mu       sync.Mutex
	decoder  *stream.Decoder
	redactor *stream.Redactor
}

func newPump(j *Job, sink job.Sink) (*pump, error) {
	p := &pump{job: j, sink: sink}
	first := job.Stdout
	if j.spec.Request.Command.TTY != nil || j.spec.Request.View.Merged {
		first = job.Merged
	}
	p.out = lane{pump: p, stream: first, file: j.spec.File}
	p.err = lane{pump: p, stream: job.Stderr}
	for _, l := range []*lane{&p.out, &p.err} {
		if name := j.spec.Request.Encoding; name != "" {
			decoder, err := stream.NewDecoder(name)
			if err != nil {
				return nil, err
			}
			l.decoder = decoder
		}
		if !j.spec.Rules.Empty(j.spec.Secrets) {
			l.redactor = j.spec.Rules.Redactor(j.spec.Secrets)
		}
	}
	if len(j.spec.Taps) > 0 {
		p.taps = newTaps(p, j.spec.Taps)
	}
	return p, nil
}

func (p *pump) stdout() io.Writer { return &p.out }

// stderr is the same writer as stdout where both are one stream.
func (p *pump) stderr() io.Writer {
	if p.out.stream == job.Merged {
		return &p.out
	}
	return &p.err
}

// Write takes a chunk from the backend. It never fails: a command must not die because we cannot keep its output.
func (l *lane) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	chunk := data
	if l.decoder != nil {
		chunk = l.decoder.Write(chunk)
	}
	if l.pump.taps != nil {
		l.pump.taps.output(l, chunk, 0)
	} else {
		l.pass(chunk, false)
	}
	return len(data), nil
}

// final flushes every step in order. A hook may add bytes here; redaction sees those too.
func (l *lane) final() {
	l.mu.Lock()
	defer l.mu.Unlock()
	var rest []byte
	withheld := false
	if l.decoder != nil {
		rest = l.decoder.Flush()
	}
	if l.pump.taps != nil {
		withheld = l.pump.taps.output(l, rest, hooks.Final)
	} else {
		l.pass(rest, false)
	}
	if l.redactor != nil && !withheld {
		l.deliver(l.redactor.Flush())
	}
}

// pass is the way from the taps on. Where the taps withhold the output, chunk is their word about it, and what the redactor
// holds back is never shown: it may be the first half of a secret. l.mu is held.
func (l *lane) pass(chunk []byte, withheld bool) {
	if l.redactor != nil && !withheld {
		chunk = l.redactor.Write(chunk)
	}
	l.deliver(chunk)
}

func (l *lane) deliver(chunk []byte) {
	if len(chunk) == 0 {
		return
	}
	p := l.pump
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	if p.job.screen != nil { // before the log, whose readers look at the screen next
		p.job.screen.Write(chunk)
	}
	p.job.log.Append(l.stream, chunk)
	if l.file != nil && p.broken == nil {
		_, p.broken = l.file.Write(chunk)
	}
	if p.sink != nil {
		p.sink.Event(job.Event{Stream: l.stream, Data: chunk, Part: p.job.spec.Part})
	}
}

// detach ends the sink's part: after it returns, no event reaches the sink.
func (p *pump) detach() {
	p.mu.Lock()
	p.sink = nil
	p.mu.Unlock()
}

// finish completes both streams, then tells the hooks. What a lost process still prints is dropped.
func (p *pump) finish(exit job.Exit) job.Exit {
	p.out.final()
	if p.out.stream != job.Merged {
		p.err.final()
	}
	if p.taps != nil {
		exit = p.taps.end(exit)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if file := p.job.spec.File; file != nil {
		if err := file.Close(); p.broken == nil {
			p.broken = err
		}
		if p.broken != nil {
			exit.Notes = append(exit.Notes, fmt.Sprintf("the output file is not complete: %v", p.broken))
		}
	}
	return exit
}
