// What a hook in AssemblyScript is written with: a module that cmd-exec-mcp runs before a command, over its output and after
// its end. Export pre_exec, filter or post_exec from the entry file.
//
//   asc name.ts -O3 --exportStart _initialize -o name.wasm     (with the default runtime: `minimal` never frees anything)

@external("hook1", "get")
declare function host_get(field: i32, key: usize, keyLen: i32, buf: usize, room: i32): i32;
@external("hook1", "set")
declare function host_set(field: i32, key: usize, keyLen: i32, value: usize, valueLen: i32): i32;
@external("hook1", "read")
declare function host_read(buf: usize, room: i32): i32;
@external("hook1", "write")
declare function host_write(p: usize, len: i32): i32;
@external("hook1", "log")
declare function host_log(level: i32, text: usize, len: i32, attrs: usize, attrsLen: i32): i32;

/** Fields of get and set by their numbers. */
export const COMMAND: i32 = 1;
export const ARGV: i32 = 2;
export const DIR: i32 = 3;
export const ENV: i32 = 4;
export const TIMEOUT_MS: i32 = 5;
export const TARGET: i32 = 6;
export const TOOL: i32 = 10;
export const BACKEND: i32 = 11;
export const SHELL: i32 = 12;
export const REASON: i32 = 14;
export const NOTE: i32 = 15;
export const CONFIG: i32 = 16;
export const STATE: i32 = 21;
export const RESULT: i32 = 23;

/** Answers of pre_exec. After ERROR no change counts. */
export const RUN: i32 = 0;
export const DENY: i32 = 1;
export const ASK: i32 = 2;
export const ERROR: i32 = -1;

/** Flags of filter: nothing follows on this stream; the program paused. */
export const FINAL: i32 = 1;
export const IDLE: i32 = 2;

/** The most that a filter may want to see again, in bytes. */
export const MAX_KEEP: i32 = 64 << 10;

function address(b: ArrayBuffer): usize {
  return changetype<usize>(b);
}

/** The value of a field, or of a map's entry with a key. null if it is absent, or unknown to this server. */
export function get(field: i32, key: string = ""): string | null {
  const k = String.UTF8.encode(key);
  let buf = new ArrayBuffer(512);
  while (true) {
    const n = host_get(field, address(k), k.byteLength, address(buf), buf.byteLength);
    if (n < 0) return null;
    if (n <= buf.byteLength) return String.UTF8.decodeUnsafe(address(buf), n);
    buf = new ArrayBuffer(n);
  }
}

/** Sets a field, or a map's entry. false: the server did not take it; answer ERROR then, if the change was meant. */
export function set(field: i32, key: string, value: string): bool {
  const k = String.UTF8.encode(key);
  const v = String.UTF8.encode(value);
  return host_set(field, address(k), k.byteLength, address(v), v.byteLength) >= 0;
}

/** Takes an entry out of a map. */
export function unset(field: i32, key: string): bool {
  const k = String.UTF8.encode(key);
  return host_set(field, address(k), k.byteLength, 0, -1) >= 0;
}

/** Gives a reason with an answer of pre_exec, which the caller reads: say what to do instead. */
export function answer(a: i32, reason: string): i32 {
  set(REASON, "", reason);
  return a;
}

/** Writes a line to the server's log. */
export function info(text: string): void {
  const t = String.UTF8.encode(text);
  host_log(1, address(t), t.byteLength, 0, 0);
}

/** A chunk and what was kept of the last one, filled by read. */
export const chunk: usize = memory.data(131072);

/** Reads the chunk that is filtered, and returns its length. */
export function read(): i32 {
  let len = 0;
  while (true) {
    const n = host_read(chunk + len, 2 * MAX_KEEP - len);
    if (n <= 0) return len;
    len += n;
  }
}

/** Shows len bytes of the chunk from a place on. */
export function show(at: i32, len: i32): void {
  if (len > 0) host_write(chunk + at, len);
}

/** A shape of secrets: a prefix, then from min to max characters of a class; at most MAX_KEEP in all. */
export class Token {
  prefix: ArrayBuffer;
  mask: ArrayBuffer;
  constructor(prefix: string, public min: i32, public max: i32, public inClass: (c: u8) => bool, mask: string) {
    this.prefix = String.UTF8.encode(prefix);
    this.mask = String.UTF8.encode(mask);
  }

  /** The token's length, 0 for none, -1 if more text could make it one or a longer one. */
  match(text: usize, len: i32, final: bool): i32 {
    const head = this.prefix.byteLength;
    const most = head + this.max;
    let n = 0;
    while (n < len && n < most && this.fits(n, load<u8>(text + n))) n++;
    if (n == len && n < most && !final) return -1;
    return n >= head + this.min ? n : 0;
  }

  private fits(n: i32, c: u8): bool {
    return n < this.prefix.byteLength ? c == load<u8>(address(this.prefix) + n) : this.inClass(c);
  }
}

export function alnumUpper(c: u8): bool {
  return (c >= 65 && c <= 90) || (c >= 48 && c <= 57);
}

/** The body of a filter that masks tokens, however the output is cut. Where two begin at the same place, the first wins. */
export function redact(tokens: Token[], flags: i32): i32 {
  const len = read();
  const final = (flags & FINAL) != 0;
  let shown = 0;
  let at = 0;
  while (at < len) {
    let size = 0;
    let i = 0;
    for (; i < tokens.length; i++) {
      size = unchecked(tokens[i]).match(chunk + at, len - at, final);
      if (size != 0) break;
    }
    if (size < 0) break;
    if (size == 0) {
      at++;
      continue;
    }
    show(shown, at - shown);
    const mask = unchecked(tokens[i]).mask;
    host_write(address(mask), mask.byteLength);
    at += size;
    shown = at;
  }
  show(shown, at - shown);
  return len - at;
}
