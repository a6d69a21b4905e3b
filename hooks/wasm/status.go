package wasm

import (
	"fmt"
	"time"
)

// A hook that fails so often within the window rests for as long.
const (
	maxFaults   = 5
	faultWindow = time.Minute
)

// Status is what `hook list` shows of an opened hook.
type Status struct {
	Name      string
	State     string // loading, ready, failed, broken
	Err       string // why it failed, or the last failure of a call
	Events    []string
	Size      int64 // of the module in bytes
	Load      time.Duration
	Instances int
	Calls     int64
	Failures  int64
}

// Usage is what one call needed.
type Usage struct {
	Event   string // pre, filter, post
	Fuel    int64  // of Budget; both are 0 for a guest without a counter
	Budget  int64
	Memory  int64 // the guest's memory after the call in bytes
	Elapsed time.Duration
}

// Status may be asked at any time.
func (h *Hook) Status() Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.status
	s.Name, s.Instances = h.name, h.pool.instances()
	if s.State == "ready" {
		s.Events = eventNames(h.events)
		if time.Now().Before(h.broken) {
			s.State = "broken"
		}
	}
	return s
}

// refuses ends a call at once while the hook is broken.
func (h *Hook) refuses() *fault {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Now().Before(h.broken) {
		return faultf(classError, "it rests after %d failures", maxFaults)
	}
	return nil
}

// account counts a call. Waiting in vain for an instance is no failure of the guest's.
func (h *Hook) account(c *call, f *fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.status.Calls++
	if f == nil {
		return
	}
	h.status.Failures++
	h.status.Err = f.Error()
	h.log.Error().Str("class", f.class).Msg(fmt.Sprintf("hook %s failed in %s: %s", h.name, eventName(c.event), c.masked(f.detail)))
	if f.class == classBusy {
		return
	}
	now := time.Now()
	h.faults = append(h.faults, now)
	for len(h.faults) > 0 && now.Sub(h.faults[0]) > faultWindow {
		h.faults = h.faults[1:]
	}
	if len(h.faults) >= maxFaults {
		h.faults, h.broken = nil, now.Add(faultWindow)
		h.log.Error().Msg(fmt.Sprintf("hook %s is broken: %d failures in a minute, it rests for %s", h.name, maxFaults, faultWindow))
	}
}

func eventName(e event) string {
	switch e {
	case eventPre:
		return "pre"
	case eventFilter:
		return "filter"
	case eventPost:
		return "post"
	}
	return "init"
}

func eventNames(mask event) []string {
	var names []string
	for _, e := range []event{eventPre, eventFilter, eventPost} {
		if mask&e != 0 {
			names = append(names, eventName(e))
		}
	}
	return names
}
