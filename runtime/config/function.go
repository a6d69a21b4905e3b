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

// Func2 is Func for a function of two parameters; maps become records, texts stay texts.
type Func2 = func(ctx context.Context, a, b any) (any, error)

// Limits of one call.
const (
	callSteps = 20_000 // of a predicate, which is asked for every command
	callTime  = time.Second
)

// goFunc makes a Go function of fn.
func (l *loader) goFunc(fn starlark.Callable, steps uint64) Func {
	call := l.caller(fn, steps)
	return func(ctx context.Context, args map[string]any) (any, error) { return call(ctx, args) }
}

// goFunc2 is goFunc for two parameters.
func (l *loader) goFunc2(fn starlark.Callable, steps uint64) Func2 {
	call := l.caller(fn, steps)
	return func(ctx context.Context, a, b any) (any, error) { return call(ctx, a, b) }
}

func (l *loader) caller(fn starlark.Callable, steps uint64) func(ctx context.Context, args ...any) (any, error) {
	print, mask := l.print, l.mask
	return func(ctx context.Context, args ...any) (out any, err error) {
		defer func() {
			if r := recover(); r != nil {
				err = job.Errorf(job.Internal, "the config's function %s broke: %v", fn.Name(), r)
			}
		}()
		tuple, err := argumentsOf(args)
		if err != nil {
			return nil, job.Errorf(job.Internal, "%w", err)
		}
		thread := &starlark.Thread{Name: fn.Name(), Print: print}
		thread.SetMaxExecutionSteps(steps)
		thread.OnMaxSteps = func(t *starlark.Thread) { t.Cancel(fmt.Sprintf("more than %d steps", steps)) }
		ctx, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		defer context.AfterFunc(ctx, func() { thread.Cancel(context.Cause(ctx).Error()) })()
		v, err := starlark.Call(thread, fn, tuple, nil)
		if err == nil {
			out, err = toGo(v)
		}
		if err != nil {
			return nil, callError(fn, err, mask)
		}
		return out, nil
	}
}

// argumentsOf turns Go values into what the function gets: a map is one record.
func argumentsOf(args []any) (tuple starlark.Tuple, err error) {
	for _, arg := range args {
		fields, ok := arg.(map[string]any)
		if !ok {
			v, err := toStar(arg)
			if err != nil {
				return nil, err
			}
			tuple = append(tuple, v)
			continue
		}
		r := record{starlark.StringDict{}}
		for k, v := range fields {
			if r.fields[k], err = toStar(v); err != nil {
				return nil, err
			}
		}
		tuple = append(tuple, r)
	}
	return tuple, nil
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
