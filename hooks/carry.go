package hooks

import (
	"context"
	"fmt"

	"cmd-exec-mcp/runtime/job"
)

// Window is the most new bytes that a Filter gets at once, and MaxKeep the most that it may ask to see again.
const (
	Window  = 64 << 10
	MaxKeep = 64 << 10
)

// Filter sees a chunk of a stream: what it kept of the last one and what came since, at most Window + MaxKeep bytes. It
// returns what may be shown and how many bytes at the end of in it wants to see again, with more behind them: a secret
// that may just have begun. With Final nothing may be kept. out is valid until the next call.
type Filter func(ctx context.Context, s job.Stream, in []byte, f Flags) (out []byte, keep int, err error)

// Carry makes a Tap's Output of a Filter: it cuts large chunks into windows and carries what the filter kept. One Carry
// serves one job. Its zero value with a Filter is ready.
type Carry struct {
	Filter Filter

	kept [job.Merged + 1][]byte
	in   []byte
	out  []byte
}

// Output is as in Tap: after an error the result is what was filtered and not returned yet, then what was not filtered.
func (c *Carry) Output(ctx context.Context, s job.Stream, p []byte, f Flags) ([]byte, error) {
	c.out = c.out[:0]
	kept := &c.kept[s]
	for {
		window, rest := p[:min(len(p), Window)], p[min(len(p), Window):]
		flags := f
		if len(rest) > 0 {
			flags = 0
		}
		if len(window) == 0 && (flags == 0 || flags == Idle && len(*kept) == 0) {
			return c.out, nil
		}
		in := window
		if len(*kept) > 0 {
			c.in = append(append(c.in[:0], *kept...), window...)
			in = c.in
		}
		out, keep, err := c.Filter(ctx, s, in, flags)
		if err == nil {
			err = checkKeep(keep, len(in), flags)
		}
		if err != nil {
			c.out = append(append(c.out, in...), rest...)
			*kept = nil
			return c.out, err
		}
		c.out = append(c.out, out...)
		*kept = append((*kept)[:0], in[len(in)-keep:]...)
		p = rest
		if len(rest) == 0 {
			return c.out, nil
		}
	}
}

func checkKeep(keep, have int, f Flags) error {
	switch {
	case keep < 0 || keep > have:
		return fmt.Errorf("the filter kept %d bytes of %d", keep, have)
	case keep > MaxKeep:
		return fmt.Errorf("the filter kept %d bytes, at most %d may be carried", keep, MaxKeep)
	case keep > 0 && f&Final != 0:
		return fmt.Errorf("the filter kept %d bytes at the end of the stream", keep)
	}
	return nil
}
