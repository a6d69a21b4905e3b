package main

import (
	"runtime"
	"testing"
)

// The tests of this package that run side by side must not meet another number of processors, so this one is alone.
func TestSchedulerFollowsTheLoad(t *testing.T) {
	all := runtime.GOMAXPROCS(0)
	t.Setenv("GOMAXPROCS", "")
	defer runtime.SetDefaultGOMAXPROCS()
	processors := func(n int) func() bool { return func() bool { return runtime.GOMAXPROCS(0) == n } }
	s := newScheduler()
	eventually(t, "one processor without a call", processors(1))
	s.add(1)
	if n := runtime.GOMAXPROCS(0); n != 1 {
		t.Errorf("with one call there are %d processors", n)
	}
	s.add(1)
	if n := runtime.GOMAXPROCS(0); n != all {
		t.Errorf("with two calls there are %d processors, not %d", n, all)
	}
	s.add(-1)
	s.add(1)
	s.add(-1)
	if n := runtime.GOMAXPROCS(0); n != all {
		t.Errorf("as soon as the second call has ended there are %d processors: the next burst would wait for them", n)
	}
	eventually(t, "one processor after a calm second", processors(1))
}

// A shrink that the timer began, and that got the lock only after a burst had come and gone, found the timer set again:
// the next burst stopped that one and stayed on one processor.
func TestSchedulerSurvivesALateShrink(t *testing.T) {
	all := runtime.GOMAXPROCS(0)
	t.Setenv("GOMAXPROCS", "")
	defer runtime.SetDefaultGOMAXPROCS()
	s := newScheduler()
	eventually(t, "one processor without a call", func() bool { return runtime.GOMAXPROCS(0) == 1 })
	s.add(1)
	s.add(1)
	s.add(-1)
	s.shrink()
	s.add(1)
	if n := runtime.GOMAXPROCS(0); n != all {
		t.Errorf("with two calls there are %d processors, not %d", n, all)
	}
	s.add(-2)
}

func TestSchedulerLeavesTheUsersChoice(t *testing.T) {
	t.Setenv("GOMAXPROCS", "2")
	if s := newScheduler(); s != nil {
		t.Error("GOMAXPROCS is set, and yet the number of processors would change")
	}
	(*scheduler)(nil).add(1)
}
