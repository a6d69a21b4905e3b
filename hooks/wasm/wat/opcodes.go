package wat

import "strings"

// opcodes are the instructions by name, with what always follows them.
var opcodes = table()

func table() map[string][]byte {
	codes := map[string][]byte{
		"memory.size": {0x3f, 0}, "memory.grow": {0x40, 0}, "memory.copy": {0xfc, 10, 0, 0}, "memory.fill": {0xfc, 11, 0},
		"table.grow": {0xfc, 15}, "table.size": {0xfc, 16}, "table.fill": {0xfc, 17},
	}
	run := func(first byte, prefix, names string) {
		for i, name := range strings.Fields(names) {
			codes[prefix+name] = []byte{first + byte(i)}
		}
	}
	run(0x00, "", "unreachable nop")
	run(0x0c, "", "br br_if br_table return call call_indirect")
	run(0x1a, "", "drop select")
	run(0x20, "", "local.get local.set local.tee global.get global.set table.get table.set")
	run(0x28, "", "i32.load i64.load f32.load f64.load i32.load8_s i32.load8_u i32.load16_s i32.load16_u")
	run(0x30, "i64.", "load8_s load8_u load16_s load16_u load32_s load32_u")
	run(0x36, "", "i32.store i64.store f32.store f64.store i32.store8 i32.store16 i64.store8 i64.store16 i64.store32")
	run(0x41, "", "i32.const i64.const f32.const f64.const")
	compare := "eqz eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u"
	run(0x45, "i32.", compare)
	run(0x50, "i64.", compare)
	run(0x5b, "f32.", "eq ne lt gt le ge")
	run(0x61, "f64.", "eq ne lt gt le ge")
	integer := "clz ctz popcnt add sub mul div_s div_u rem_s rem_u and or xor shl shr_s shr_u rotl rotr"
	run(0x67, "i32.", integer)
	run(0x79, "i64.", integer)
	float := "abs neg ceil floor trunc nearest sqrt add sub mul div min max copysign"
	run(0x8b, "f32.", float)
	run(0x99, "f64.", float)
	run(0xa7, "", "i32.wrap_i64 i32.trunc_f32_s i32.trunc_f32_u i32.trunc_f64_s i32.trunc_f64_u i64.extend_i32_s i64.extend_i32_u")
	run(0xc0, "", "i32.extend8_s i32.extend16_s i64.extend8_s i64.extend16_s i64.extend32_s")
	run(0xd0, "", "ref.null ref.is_null ref.func")
	return codes
}
