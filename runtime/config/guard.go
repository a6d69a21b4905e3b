package config

import (
	"context"
	"fmt"
	"runtime/metrics"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// maxLen bounds what one step of a config can make: elements of a list, bytes of a string, items of a range.
const maxLen = 1 << 20

// repeat is the operator * (guardOperators).
func repeat(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	x, y := args[0], args[1]
	for range 2 {
		if n, ok := y.(starlark.Int); ok {
			if size := starlark.Len(x); size > 0 {
				if count, ok := n.Int64(); !ok || count > maxLen || count*int64(size) > maxLen {
					return nil, fmt.Errorf("%d * %s elements are more than a config may hold (%d)", size, n, maxLen)
				}
			}
			if n.BigInt().BitLen() > 4096 {
				return nil, fmt.Errorf("a number of more than 4096 bits")
			}
		}
		x, y = y, x
	}
	return starlark.Binary(syntax.STAR, args[0], args[1])
}

// plus is the operator +.
func plus(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	if err := checkSum(args); err != nil {
		return nil, err
	}
	return starlark.Binary(syntax.PLUS, args[0], args[1])
}

// extended is called as x += extended(x, y): it returns y.
func extended(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return args[1], checkSum(args)
}

func checkSum(args starlark.Tuple) error {
	if n := starlark.Len(args[0]) + starlark.Len(args[1]); n > maxLen {
		return fmt.Errorf("%d elements are more than a config may hold (%d)", n, maxLen)
	}
	return nil
}

// shortRange is range(), bounded: list(range(n)) is one step as well.
func shortRange(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	v, err := starlark.Call(thread, starlark.Universe["range"], args, kwargs)
	if err != nil {
		return nil, err
	}
	if starlark.Len(v) > maxLen {
		return nil, fmt.Errorf("a range of more than %d items", maxLen)
	}
	return v, nil
}

// limited runs f, which runs thread, within the limits. Where f is stuck in a single step that cannot be canceled,
// limited returns all the same and f's goroutine is abandoned: it must touch nothing that outlives it.
func limited(thread *starlark.Thread, lim Limits, f func() error) error {
	thread.SetMaxExecutionSteps(lim.Steps)
	thread.OnMaxSteps = func(t *starlark.Thread) { t.Cancel("it takes more steps than a config may") }
	done := make(chan error, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- fmt.Errorf("internal: %v", r)
			}
		}()
		done <- f()
	}()
	ctx, cancel := context.WithTimeout(context.Background(), lim.Time)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	reason, start := "", heap()
	for reason == "" {
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			reason = fmt.Sprintf("it takes longer than the %v that a config may", lim.Time)
		case <-tick.C:
			if heap() > start+lim.Memory {
				reason = "it uses more memory than a config may"
			}
		}
	}
	thread.Cancel(reason)
	select {
	case err := <-done:
		return err
	case <-time.After(200 * time.Millisecond):
		return errAbandoned(reason)
	}
}

// errAbandoned says why a thread was given up.
type errAbandoned string

func (e errAbandoned) Error() string { return string(e) }

func heap() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
