package main

import (
	"os"
	"runtime"
	"sync"
	"time"
)

// calm is how long at most one call must have been on its way before the scheduler becomes narrow again.
const calm = time.Second

// scheduler fits Go's to the load. While at most one call is on its way nothing can run side by side, and a second
// processor only costs: the two wake each other for every step of the call, which took a quarter of the server's own time. With a
// second call all processors are there again, since one waits in the kernel while it starts a program.
type scheduler struct {
	mu     sync.Mutex
	calls  int
	timer  *time.Timer // runs from the moment that fewer than two calls were left
	narrow bool        // the timer cannot tell: a shrink that it has begun may wait for mu while the timer is set again
}

// newScheduler returns nil, which does nothing, where the user has said how many processors to use.
func newScheduler() *scheduler {
	if os.Getenv("GOMAXPROCS") != "" {
		return nil
	}
	quietMonitor()
	s := &scheduler{}
	s.timer = time.AfterFunc(0, s.shrink)
	return s
}

// add counts calls: 1 when one begins, -1 when it ends. It may be called concurrently.
func (s *scheduler) add(calls int) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.calls
	s.calls += calls
	switch {
	case before < 2 && s.calls >= 2:
		s.timer.Stop()
		if s.narrow {
			s.narrow = false
			runtime.SetDefaultGOMAXPROCS()
		}
	case before >= 2 && s.calls < 2:
		s.timer.Reset(calm)
	}
}

func (s *scheduler) shrink() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls < 2 && !s.narrow {
		s.narrow = true
		runtime.GOMAXPROCS(1)
	}
}
