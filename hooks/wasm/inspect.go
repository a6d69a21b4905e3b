package wasm

import (
	"fmt"
	"slices"

	"cmd-exec-mcp/runtime/job"
)

// Info is what a module says about itself.
type Info struct {
	Path      string
	SHA256    string
	Size      int64
	Events    []string
	Imports   []string // "hook1.get"
	Exports   []string
	Pages     uint32 // of memory at the start, 64 KiB each
	Functions int
	Largest   int    // bytes of the largest function
	Blocks    int    // the most blocks of one function
	Metered   int64  // bytes with the counter in it
	Refused   string // why this server would not load it; "" if it would
}

// Inspect reads a module without running it. A module that is no hook is an Info with a reason in Refused; an error means
// that the file cannot be read. Kinds: NotFound, Invalid.
func Inspect(path string) (Info, error) {
	m, digest, err := readModule(path)
	if job.KindOf(err) == job.NotFound {
		return Info{}, err
	}
	if err != nil {
		return Info{Path: path, Refused: err.Error()}, nil
	}
	i := Info{
		Path: path, SHA256: digest, Size: int64(len(m.bytes)), Pages: m.minPages, Functions: len(m.funcs),
		Largest: m.largest, Blocks: m.blocks, Metered: int64(len(m.meter())),
	}
	for _, im := range m.imports {
		i.Imports = append(i.Imports, shorten(im.module+"."+im.name))
	}
	for _, e := range m.exports {
		i.Exports = append(i.Exports, shorten(e.name))
	}
	slices.Sort(i.Imports)
	i.Imports = slices.Compact(i.Imports)
	events, err := m.check()
	if err != nil {
		i.Refused = fmt.Sprintf("%s is no hook for this server: %s", path, err)
	}
	i.Events = eventNames(events)
	return i, nil
}
