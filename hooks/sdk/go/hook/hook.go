// Package hook is what a hook in Go is written with: a module that cmd-exec-mcp runs before a command, over its output and
// after its end. Register says what it does; everything else hangs off the argument that each function gets.
//
// Build it with the standard toolchain:
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -ldflags='-s -w' -o name.wasm .
//
// Built for any other system the package has no server to talk to; Fake plays it, so that `go test` tests a hook.
//
// The package imports neither fmt nor reflect, which would double the module's size. A hook may, at that price.
package hook

// Hook is what a module does. A function that is nil is not called.
type Hook struct {
	// Init runs once per instance. An error keeps the hook from loading. Only Config and the log work in it.
	Init func(c *Call) error
	// Pre looks at a command before it runs, and may change it, or return Deny or Ask. Any other error means that the hook
	// failed. The changes count only if it returns nil or Ask.
	Pre func(c *Cmd) error
	// Filter sees each chunk of output, and writes what may be shown. It returns how many bytes at the end of c.In it wants
	// to see again, with more behind them; at the Final chunk 0.
	Filter func(c *Chunk) (keep int, err error)
	// Post sees how the command ended, after all of its output.
	Post func(c *End) error
}

// The events of hook_init's answer.
const (
	eventPre    = 1
	eventFilter = 2
	eventPost   = 4
)

// Answers of the exports.
const (
	answerContinue = 0
	answerDeny     = 1
	answerAsk      = 2
	answerError    = -1
)

// decision is a Pre's error that is none.
type decision struct {
	answer int32
	reason string
}

func (d *decision) Error() string { return d.reason }

// Deny refuses the command. The caller reads the reason: say what to do instead.
func Deny(reason string) error { return &decision{answerDeny, reason} }

// Ask lets a person decide, who reads the reason.
func Ask(reason string) error { return &decision{answerAsk, reason} }

func (h *Hook) init(host host) int32 {
	if h.Init != nil {
		c := &Call{host: host}
		err := h.Init(c)
		if err == nil {
			err = c.refused
		}
		if err != nil {
			return fail(host, err)
		}
	}
	var events int32
	if h.Pre != nil {
		events |= eventPre
	}
	if h.Filter != nil {
		events |= eventFilter
	}
	if h.Post != nil {
		events |= eventPost
	}
	return events
}

func (h *Hook) pre(host host) int32 {
	if h.Pre == nil {
		return answerContinue
	}
	c := &Cmd{Call{host: host}}
	err := h.Pre(c)
	d, decided := err.(*decision)
	switch {
	case decided && (c.refused == nil || d.answer == answerDeny):
		host.set(fieldReason, "", d.reason)
		return d.answer
	case err == nil || decided:
		err = c.refused
	}
	if err != nil {
		return fail(host, err)
	}
	return answerContinue
}

func (h *Hook) filter(host host, in []byte, s Stream, f Flags) int32 {
	c := &Chunk{Call: Call{host: host}, In: in, Stream: s, Flags: f}
	if h.Filter == nil {
		c.Write(in)
		return 0
	}
	keep, err := h.Filter(c)
	if err == nil {
		err = c.refused
	}
	if err != nil {
		return fail(host, err)
	}
	return int32(keep)
}

func (h *Hook) post(host host) int32 {
	if h.Post == nil {
		return 0
	}
	c := &End{Call{host: host}}
	err := h.Post(c)
	if err == nil {
		err = c.refused
	}
	if err != nil {
		return fail(host, err)
	}
	return 0
}

func fail(host host, err error) int32 {
	host.set(fieldReason, "", err.Error())
	return answerError
}
