package wasm

import "encoding/binary"

// The part of WASI that language runtimes need to start: no files, no sockets, no environment, no real clock. It is ours
// and not the engine's, so that nothing grows in by an upgrade.
const (
	errnoBadf  = 8
	errnoInval = 28
	errnoNosys = 52
)

// epoch is what the guest's clocks say at first: 2022-01-01, in nanoseconds. Only sleeping moves them.
const epoch = 1640995200_000000000

const maxRandom = 4096

var wasiFunctions = map[string]hostFunc{
	"args_sizes_get":      {signature{i32s[:2], i32s[:1]}, wasiNone},
	"environ_sizes_get":   {signature{i32s[:2], i32s[:1]}, wasiNone},
	"args_get":            {signature{i32s[:2], i32s[:1]}, wasiReturn(0)},
	"environ_get":         {signature{i32s[:2], i32s[:1]}, wasiReturn(0)},
	"sched_yield":         {signature{"", i32s[:1]}, wasiReturn(0)},
	"fd_close":            {signature{i32s[:1], i32s[:1]}, wasiReturn(errnoBadf)},
	"fd_seek":             {signature{"\x7f\x7e\x7f\x7f", i32s[:1]}, wasiReturn(errnoBadf)},
	"fd_fdstat_get":       {signature{i32s[:2], i32s[:1]}, wasiReturn(errnoBadf)},
	"fd_prestat_get":      {signature{i32s[:2], i32s[:1]}, wasiReturn(errnoBadf)},
	"fd_prestat_dir_name": {signature{i32s[:3], i32s[:1]}, wasiReturn(errnoBadf)},
	"fd_read":             {signature{i32s[:4], i32s[:1]}, wasiRead},
	"fd_write":            {signature{i32s[:4], i32s[:1]}, wasiWrite},
	"random_get":          {signature{i32s[:2], i32s[:1]}, wasiRandom},
	"clock_time_get":      {signature{"\x7f\x7e\x7f", i32s[:1]}, wasiClock},
	"poll_oneoff":         {signature{i32s[:4], i32s[:1]}, wasiPoll},
	"proc_exit": {signature{i32s[:1], ""}, func(_ *instance, s []uint64) {
		panic(faultf(classTrap, "it exited with %d", uint32(s[0])))
	}},
}

func wasiReturn(errno int32) func(*instance, []uint64) {
	return func(i *instance, s []uint64) {
		i.charge(0)
		i.answer(s, errno)
	}
}

// wasiNone says that there are no arguments and no variables.
func wasiNone(i *instance, s []uint64) {
	clear(i.view(s[0], 4))
	clear(i.view(s[1], 4))
	i.answer(s, 0)
}

// wasiRead is at the end of every file.
func wasiRead(i *instance, s []uint64) {
	clear(i.view(s[3], 4))
	i.answer(s, 0)
}

// wasiWrite keeps the first part of what a guest prints, for the log; the rest is counted as written and dropped.
func wasiWrite(i *instance, s []uint64) {
	if fd := uint32(s[0]); fd != 1 && fd != 2 {
		i.charge(0)
		i.answer(s, errnoBadf)
		return
	}
	if uint32(s[2]) > 1024 {
		i.charge(0)
		i.answer(s, errnoInval)
		return
	}
	total := uint32(0)
	vectors := i.view(s[1], uint64(uint32(s[2])*8))
	for ; len(vectors) >= 8; vectors = vectors[8:] {
		b := i.view(uint64(binary.LittleEndian.Uint32(vectors)), uint64(binary.LittleEndian.Uint32(vectors[4:])))
		if room := maxStderr - len(i.call.stderr); room > 0 {
			i.call.stderr = append(i.call.stderr, b[:min(len(b), room)]...)
		}
		total += uint32(len(b))
	}
	binary.LittleEndian.PutUint32(i.view(s[3], 4), total)
	i.answer(s, 0)
}

// wasiRandom gives the same bytes to every instance: a hook's answer must not depend on which instance it met.
func wasiRandom(i *instance, s []uint64) {
	if uint32(s[1]) > maxRandom {
		i.charge(0)
		i.answer(s, errnoInval)
		return
	}
	var word [8]byte
	for b := i.view(s[0], s[1]); len(b) > 0; b = b[min(len(b), len(word)):] {
		i.random = (i.random + 0x9e3779b97f4a7c15) * 6364136223846793005
		binary.LittleEndian.PutUint64(word[:], i.random^i.random>>29)
		copy(b, word[:])
	}
	i.answer(s, 0)
}

func wasiClock(i *instance, s []uint64) {
	binary.LittleEndian.PutUint64(i.view(s[2], 8), epoch+i.slept)
	i.answer(s, 0)
}

// wasiPoll returns at once: a sleep is over as soon as it begins, and the clock says so.
func wasiPoll(i *instance, s []uint64) {
	n := uint32(s[2])
	if n == 0 || n > 64 {
		i.charge(0)
		i.answer(s, errnoInval)
		return
	}
	subscriptions, events := i.view(s[0], uint64(n*48)), i.view(s[1], uint64(n*32))
	for ; len(subscriptions) >= 48; subscriptions, events = subscriptions[48:], events[32:] {
		kind := subscriptions[8]
		errno := uint16(0)
		var sleep uint64
		switch {
		case kind != 0:
			errno = errnoBadf
		case subscriptions[40]&1 == 0:
			sleep = binary.LittleEndian.Uint64(subscriptions[24:])
		}
		user := binary.LittleEndian.Uint64(subscriptions)
		i.slept += min(sleep, 1<<50)
		clear(events[:32])
		binary.LittleEndian.PutUint64(events, user)
		binary.LittleEndian.PutUint16(events[8:], errno)
		events[10] = kind
	}
	binary.LittleEndian.PutUint32(i.view(s[3], 4), n)
	i.answer(s, 0)
}
