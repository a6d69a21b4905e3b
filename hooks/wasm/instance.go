package wasm

import (
	"context"
	"errors"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// instance is one instance of a guest. It serves one call at a time; between calls it keeps nothing that matters.
type instance struct {
	guest  *guest
	mod    api.Module
	memory api.Memory
	fuel   api.MutableGlobal // nil: limited by time
	ctx    context.Context   // carries the instance, for the host functions
	call   *call             // the present one
	stack  [2]uint64

	pre, filter, post api.Function

	calls  int
	idle   time.Time
	random uint64
	slept  uint64 // nanoseconds by which its clock is ahead

	budget int64 // of the present call
}

// start makes an instance and initialises it. The mask is hook_init's answer, all events if it has none. On an error
// nothing is left of the instance, and c holds the guest's reason.
func (g *guest) start(ctx context.Context, c *call) (i *instance, mask event, err error) {
	i = &instance{guest: g, call: c}
	i.ctx = context.WithValue(ctx, instanceKey{}, i)
	limited, cancel := i.limit(i.ctx)
	defer cancel()
	i.mod, err = g.runtime.InstantiateModule(limited, g.compiled, moduleConfig)
	if err != nil {
		return nil, 0, i.explain(err)
	}
	i.attach(i.mod)
	mask, err = i.initialise(limited)
	c.flush()
	if err != nil {
		err = i.explain(err)
		i.close()
		return nil, 0, err
	}
	i.ctx, i.call = context.WithValue(context.Background(), instanceKey{}, i), nil
	return i, mask, nil
}

// attach finds what the host needs of the module.
func (i *instance) attach(mod api.Module) {
	i.memory = mod.Memory()
	if global, ok := mod.ExportedGlobal(fuelGlobal).(api.MutableGlobal); ok {
		i.fuel, i.budget = global, fuelInit
	}
	i.pre, i.filter, i.post = mod.ExportedFunction("pre_exec"), mod.ExportedFunction("filter"), mod.ExportedFunction("post_exec")
}

func (i *instance) initialise(ctx context.Context) (event, error) {
	if f := i.mod.ExportedFunction("_initialize"); f != nil {
		if err := f.CallWithStack(ctx, i.stack[:]); err != nil {
			return 0, err
		}
	}
	f := i.mod.ExportedFunction("hook_init")
	if f == nil {
		return eventPre | eventFilter | eventPost, nil
	}
	if err := f.CallWithStack(ctx, i.stack[:]); err != nil {
		return 0, err
	}
	answer := int32(uint32(i.stack[0]))
	if answer < 0 {
		return 0, faultf(classError, "hook_init answered %d", answer)
	}
	return event(answer & 7), nil
}

// run makes one call and returns the guest's answer. After an error the instance must not be used again.
func (i *instance) run(c *call) (int32, *fault) {
	i.call, i.calls = c, i.calls+1
	defer func() { i.call = nil }()
	f := i.post
	switch c.event {
	case eventPre:
		f = i.pre
	case eventFilter:
		f, i.stack = i.filter, [2]uint64{c.stream, c.flags}
	}
	timeout := i.guest.limits.timeout
	if i.fuel != nil {
		i.budget = int64(float64(fuelCall+fuelInput*len(c.in)) * timeout.Seconds())
		i.fuel.Set(uint64(i.budget))
	}
	ctx, cancel := i.limit(i.ctx)
	err := f.CallWithStack(ctx, i.stack[:])
	cancel()
	c.flush()
	if err != nil {
		return 0, i.explain(err)
	}
	if c.broken != nil {
		return 0, c.broken
	}
	answer := int32(uint32(i.stack[0]))
	return answer, c.judge(answer)
}

// limit bounds a call by time where the guest has no counter.
func (i *instance) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if !i.guest.limits.unmetered {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, i.guest.limits.timeout)
}

// used is how much of the budget the last call needed; 0 where it was limited by time.
func (i *instance) used() int64 {
	if i.fuel == nil {
		return 0
	}
	return i.budget - int64(i.fuel.Get())
}

// explain sorts an error of the engine: a counter below zero tells a budget that is used up from a trap without guessing.
func (i *instance) explain(err error) *fault {
	reason := ""
	if i.call != nil {
		reason = i.call.reason
	}
	f, ok := errors.AsType[*fault](err)
	switch {
	case i.fuel != nil && int64(i.fuel.Get()) < 0:
		f = faultf(classTimeout, "its budget is used up")
	case ok:
		f = &fault{class: f.class, detail: f.detail}
	case errors.Is(err, context.DeadlineExceeded):
		f = faultf(classTimeout, "its time is up")
	default:
		f = faultf(classTrap, "%s", shorten(err.Error()))
	}
	f.reason = reason
	return f
}

// worn says whether an instance is replaced although it works: guests leak.
func (i *instance) worn() bool {
	return i.calls >= recycleCalls || uint64(i.memory.Size())*4 > uint64(i.guest.limits.pages)*pageSize*3
}

func (i *instance) close() { i.mod.Close(context.Background()) }

// moduleConfig gives a guest nothing: no name, so that many can live in one runtime, and no function that runs by itself.
var moduleConfig = wazero.NewModuleConfig().WithName("").WithStartFunctions()
