//go:build wasip1

package hook

import (
	"runtime"
	"unsafe"
)

//go:wasmimport hook1 get
func hostGet(field int32, key unsafe.Pointer, keyLen int32, buf unsafe.Pointer, room int32) int32

//go:wasmimport hook1 set
func hostSet(field int32, key unsafe.Pointer, keyLen int32, value unsafe.Pointer, valueLen int32) int32

//go:wasmimport hook1 read
func hostRead(buf unsafe.Pointer, room int32) int32

//go:wasmimport hook1 write
func hostWrite(p unsafe.Pointer, size int32) int32

//go:wasmimport hook1 log
func hostLog(level int32, message unsafe.Pointer, messageLen int32, attrs unsafe.Pointer, attrsLen int32) int32

// Register makes h the module's hook. It belongs into init: a hook's main is never called.
func Register(h Hook) { registered = h }

// registered is a variable because the exports that the server calls are functions of no value.
var registered Hook

// server is the host of a module that was loaded.
type server struct{}

func ptr(s string) unsafe.Pointer { return unsafe.Pointer(unsafe.StringData(s)) }

func (server) get(field int32, key string, buf []byte) int32 {
	return hostGet(field, ptr(key), int32(len(key)), unsafe.Pointer(unsafe.SliceData(buf)), int32(len(buf)))
}

func (server) set(field int32, key, value string) int32 {
	return hostSet(field, ptr(key), int32(len(key)), ptr(value), int32(len(value)))
}

func (server) unset(field int32, key string) int32 {
	return hostSet(field, ptr(key), int32(len(key)), nil, -1)
}

func (server) write(p []byte) int32 {
	return hostWrite(unsafe.Pointer(unsafe.SliceData(p)), int32(len(p)))
}

func (server) log(level int32, message, attrs string) {
	hostLog(level, ptr(message), int32(len(message)), ptr(attrs), int32(len(attrs)))
}

var (
	calls uint8
	input [2 * MaxKeep]byte // a chunk and what was kept
)

// breathe lets the collector's workers, which are goroutines, have their turn. Without it an instance was seen to run out of
// 64 MB after a hundred thousand calls; the server renews instances earlier, but an SDK should not count on that.
func breathe() {
	if calls++; calls%16 == 0 {
		runtime.Gosched()
	}
}

//go:wasmexport hook_init
func exportInit() int32 { return registered.init(server{}) }

//go:wasmexport pre_exec
func exportPre() int32 {
	breathe()
	return registered.pre(server{})
}

//go:wasmexport filter
func exportFilter(stream, flags int32) int32 {
	breathe()
	n := 0
	for n < len(input) {
		m := int(hostRead(unsafe.Pointer(&input[n]), int32(len(input)-n)))
		if m <= 0 {
			break
		}
		n += m
	}
	return registered.filter(server{}, input[:n], Stream(stream), Flags(flags))
}

//go:wasmexport post_exec
func exportPost() int32 {
	breathe()
	return registered.post(server{})
}
