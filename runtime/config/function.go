package config

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"cmd-exec-mcp/runtime/job"
	"go.starlark.net/starlark"
)

// Func is how a function of the config leaves it. It may be called concurrently: each call runs on a thread of its own
// over values that nobody can change any more. args become one record, and the result is plain Go. Errors are
// *job.Error: Invalid when the function called fail(), else Internal.
type Func = func(ctx context.Context, args map[string]any) (any, error)

// Limits of one call.
const (
	callSteps = 20_000 // of a predicate, which is asked for every command
	callTime  = time.Second
)

// goFunc makes a Go function of fn.
func (l *loader) goFunc(fn starlark.Callable, steps uint64) Func {
	print, mask := l.print, l.mask
	return func(ctx context.Context, args map[string]any) (out any, err error) {
		defer func() {
			if r := recover(); r != nil {
				err = job.Errorf(job.Internal, "the config's function %s broke: %v", fn.Name(), r)
			}
		}()
		arg := record{starlark.StringDict{}}
		for k, v := range args {
			if arg.fields[k], err = toStar(v); err != nil {
				return nil, job.Errorf(job.Internal, "%w", err)
			}
		}
		thread := &starlark.Thread{Name: fn.Name(), Print: print}
		thread.SetMaxExecutionSteps(steps)
		thread.OnMaxSteps = func(t *starlark.Thread) { t.Cancel(fmt.Sprintf("more than %d steps", steps)) }
		ctx, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		defer context.AfterFunc(ctx, func() { thread.Cancel(context.Cause(ctx).Error()) })()
		v, err := starlark.Call(thread, fn, starlark.Tuple{arg}, nil)
		if err == nil {
			out, err = toGo(v)
		}
		if err != nil {
			return nil, callError(fn, err, mask)
		}
		return out, nil
	}
}

func callError(fn starlark.Callable, err error, mask func(string) string) error {
	var at string
	if e, ok := errors.AsType[*starlark.EvalError](err); ok {
		if said, ok := strings.CutPrefix(e.Msg, "fail: "); ok {
			return job.Errorf(job.Invalid, "%s", mask(said))
		}
		if pos, ok := innermost(e.CallStack); ok {
			at = " at " + pos.String()
		}
	}
	return job.Errorf(job.Internal, "the config's function %s failed%s: %s", fn.Name(), at, mask(err.Error())).
		WithHint("the server's owner can mend it in config.star")
}
