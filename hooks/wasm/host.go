package wasm

import (
	"context"
	"math"
	"unicode/utf16"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// hostFunc is an import. It takes its arguments from the stack and puts its result there. Upper halves of a 32-bit slot
// hold garbage, so every slot goes through uint32 or arg.
type hostFunc struct {
	typ signature
	run func(i *instance, stack []uint64)
}

type instanceKey struct{}

// wrap makes an engine's function of f. The instance comes with the context: one made per instance costs a call nothing.
func wrap(run func(*instance, []uint64)) api.GoModuleFunc {
	return func(ctx context.Context, mod api.Module, stack []uint64) {
		i := ctx.Value(instanceKey{}).(*instance)
		if i.memory == nil { // a start function calls us before the module is there
			i.attach(mod)
		}
		run(i, stack)
	}
}

// hostFunctions are the imports of hook1.
var hostFunctions = map[string]hostFunc{
	"get": {signature{i32s, i32s[:1]}, func(i *instance, s []uint64) {
		i.answer(s, i.hostGet(uint32(s[0]), i.text(s[1], s[2]), uint32(s[3]), uint32(s[4])))
	}},
	"set": {signature{i32s, i32s[:1]}, func(i *instance, s []uint64) {
		key, deleted := i.text(s[1], s[2]), int32(uint32(s[4])) == -1
		value := ""
		if !deleted {
			value = i.text(s[3], s[4])
		}
		i.answer(s, i.call.set(uint32(s[0]), key, value, deleted))
	}},
	"read":  {signature{i32s[:2], i32s[:1]}, func(i *instance, s []uint64) { i.answer(s, i.hostRead(s[0], s[1])) }},
	"write": {signature{i32s[:2], i32s[:1]}, func(i *instance, s []uint64) { i.answer(s, i.hostWrite(s[0], s[1])) }},
	"log": {signature{i32s, i32s[:1]}, func(i *instance, s []uint64) {
		level, message, attrs := uint32(s[0]), i.text(s[1], s[2]), i.text(s[3], s[4])
		i.call.log(level, message, attrs)
		i.answer(s, 0)
	}},
}

// envFunctions are what the AssemblyScript runtime wants.
var envFunctions = map[string]hostFunc{
	"abort": {signature{i32s[:4], ""}, func(i *instance, s []uint64) {
		i.charge(0)
		panic(faultf(classTrap, "abort: %s (%s:%d:%d)", i.utf16(s[0]), i.utf16(s[1]), uint32(s[2]), uint32(s[3])))
	}},
	"seed": {signature{"", string(rune(typeF64))}, func(i *instance, s []uint64) {
		i.charge(0)
		s[0] = math.Float64bits(0.5)
	}},
}

func (i *instance) answer(stack []uint64, v int32) { stack[0] = uint64(uint32(v)) }

// view is the guest's memory at an address, without a copy. An address outside ends the call.
func (i *instance) view(ptr, size uint64) []byte {
	b, ok := i.memory.Read(uint32(ptr), uint32(size))
	if !ok && uint32(size) > 0 {
		panic(faultf(classProtocol, "%d bytes at %#x are outside of its memory", uint32(size), uint32(ptr)))
	}
	i.charge(uint64(len(b)))
	return b
}

func (i *instance) text(ptr, size uint64) string { return string(i.view(ptr, size)) }

// utf16 reads an AssemblyScript string: its length in bytes stands before it.
func (i *instance) utf16(ptr uint64) string {
	size, ok := i.memory.ReadUint32Le(uint32(ptr) - 4)
	if !ok || uint32(ptr) < 4 {
		return ""
	}
	b, ok := i.memory.Read(uint32(ptr), min(size, 1024)&^1)
	if !ok {
		return ""
	}
	units := make([]uint16, len(b)/2)
	for n := range units {
		units[n] = uint16(b[2*n]) | uint16(b[2*n+1])<<8
	}
	return string(utf16.Decode(units))
}

// hostGet answers a field's length, and writes it if it fits.
func (i *instance) hostGet(field uint32, key string, buf, room uint32) int32 {
	value, code := i.call.get(field, key)
	if code < 0 {
		return code
	}
	i.charge(uint64(len(value)))
	if uint64(len(value)) <= uint64(room) && len(value) > 0 && !i.memory.WriteString(buf, value) {
		panic(faultf(classProtocol, "%d bytes at %#x are outside of its memory", len(value), buf))
	}
	return int32(len(value))
}

func (i *instance) hostRead(buf, room uint64) int32 {
	c := i.call
	if c.event != eventFilter {
		return errUnsupported
	}
	n := min(uint64(uint32(room)), uint64(len(c.in)-c.read))
	copy(i.view(buf, n), c.in[c.read:])
	c.read += int(n)
	return int32(n)
}

func (i *instance) hostWrite(ptr, size uint64) int32 {
	c := i.call
	if c.event != eventFilter {
		return errUnsupported
	}
	b := i.view(ptr, size)
	if len(c.out)+len(b) > outputFactor*len(c.in)+outputExtra {
		c.broken = faultf(classProtocol, "it wrote more than %d bytes for %d", outputFactor*len(c.in)+outputExtra, len(c.in))
		return errTooBig
	}
	c.out = append(c.out, b...)
	return 0
}

// link puts the host's functions into a runtime: all of hook1, and of the others what the module imports.
func link(ctx context.Context, r wazero.Runtime, m *module) error {
	builders := map[string]wazero.HostModuleBuilder{}
	linked := map[[2]string]bool{}
	for _, i := range m.imports {
		if linked[[2]string{i.module, i.name}] {
			continue
		}
		linked[[2]string{i.module, i.name}] = true
		if builders[i.module] == nil {
			builders[i.module] = r.NewHostModuleBuilder(i.module)
		}
		typ := m.types[i.typ]
		builders[i.module].NewFunctionBuilder().
			WithGoModuleFunction(wrap(implementation(i)), valueTypes(typ.params), valueTypes(typ.results)).Export(i.name)
	}
	for _, b := range builders {
		if _, err := b.Instantiate(ctx); err != nil {
			return err
		}
	}
	return nil
}

func implementation(i imported) func(*instance, []uint64) {
	tables := map[string]map[string]hostFunc{namespace: hostFunctions, wasi: wasiFunctions, "env": envFunctions}
	if f, ok := tables[i.module][i.name]; ok {
		return f.run
	}
	return func(i *instance, s []uint64) {
		i.charge(0)
		i.answer(s, errnoNosys)
	}
}

func valueTypes(types string) []api.ValueType { return []api.ValueType(types) }
