package local

import (
	"context"
	"slices"
	"sync"
	"unsafe"

	"cmd-exec-mcp/runtime/job"
	"github.com/rs/zerolog"
	"golang.org/x/sys/windows"
)

// A forest is what one backend started. Each tree is a job object, which no process leaves and which ends with its last
// handle: when the server dies, however it dies, so do they.
type forest struct {
	mu    sync.Mutex
	trees []*tree
}

// tree is one job object.
type tree struct {
	mu     sync.Mutex
	handle windows.Handle // 0 once closed
}

func newForest(zerolog.Logger) *forest { return &forest{} }

func (f *forest) plant() (*tree, error) {
	handle, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, err
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(handle, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		windows.CloseHandle(handle)
		return nil, err
	}
	t := &tree{handle: handle}
	f.mu.Lock()
	f.trees = append(f.trees, t)
	f.mu.Unlock()
	return t, nil
}

// clear closes the jobs in which nothing runs any more.
func (f *forest) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.trees = slices.DeleteFunc(f.trees, func(t *tree) bool {
		if len(t.pids()) > 0 {
			return false
		}
		t.close()
		return true
	})
}

func (t *tree) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.handle != 0 {
		windows.CloseHandle(t.handle)
		t.handle = 0
	}
}

// pids lists what runs in the job.
func (t *tree) pids() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.handle == 0 {
		return nil
	}
	var list struct {
		assigned, count uint32
		pids            [512]uintptr
	}
	err := windows.QueryInformationJobObject(t.handle, windows.JobObjectBasicProcessIdList, uintptr(unsafe.Pointer(&list)), uint32(unsafe.Sizeof(list)), nil)
	if err != nil && err != windows.ERROR_MORE_DATA {
		return nil
	}
	pids := make([]int, 0, list.count)
	for _, pid := range list.pids[:min(int(list.count), len(list.pids))] {
		pids = append(pids, int(pid))
	}
	return pids
}

func (t *tree) kill() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.handle == 0 {
		return nil
	}
	return windows.TerminateJobObject(t.handle, killedCode)
}

// killedCode is the exit code of what we end: Windows has no signals to tell it by.
const killedCode = 137

// fell ends every tree.
func (f *forest) fell(context.Context) []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range f.trees {
		t.kill()
		t.close()
	}
	f.trees = nil
	return nil
}

// clean has nothing to do: a job goes with its handle.
func (f *forest) clean() {}

func (f *forest) check() job.Check {
	return job.Check{Name: "local kill", Detail: "job objects: nothing survives a kill"}
}
