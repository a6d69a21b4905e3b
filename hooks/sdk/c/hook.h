// What a hook in C is written with: a module that cmd-exec-mcp runs before a command, over its output and after its end.
// Mark what the server calls with HOOK_EXPORT: pre_exec, filter, post_exec. No libc is needed; all text is bytes and length.
//
//   clang --target=wasm32 -O2 -nostdlib -ffreestanding -mbulk-memory -Wl,--no-entry -Wl,--strip-all -o name.wasm name.c
#ifndef HOOK_H
#define HOOK_H

#include <stddef.h>
#include <stdint.h>

#define HOOK_IMPORT(name) __attribute__((import_module("hook1"), import_name(#name)))
#define HOOK_EXPORT(name) __attribute__((export_name(#name)))

// The length of a value, which is written if it fits; below zero: HOOK_ABSENT and so on.
HOOK_IMPORT(get) int32_t hook_get(int32_t field, const char *key, size_t key_len, char *buf, size_t room);
// 0, or why the server did not take it. value_len HOOK_DELETE takes an entry out of a map.
HOOK_IMPORT(set) int32_t hook_set(int32_t field, const char *key, size_t key_len, const char *value, size_t value_len);
// The next bytes of the chunk that is filtered; 0 at its end.
HOOK_IMPORT(read) int32_t hook_read(char *buf, size_t room);
// Shows some bytes.
HOOK_IMPORT(write) int32_t hook_write(const char *p, size_t len);
// level: 0 debug, 1 info, 2 warn, 3 error; attrs: names and values, each with a NUL behind it.
HOOK_IMPORT(log) int32_t hook_log(int32_t level, const char *text, size_t len, const char *attrs, size_t attrs_len);

enum { // fields of get and set
  HOOK_COMMAND = 1, HOOK_ARGV = 2, HOOK_DIR = 3, HOOK_ENV = 4, HOOK_TIMEOUT_MS = 5, HOOK_TARGET = 6, HOOK_TOOL = 10,
  HOOK_BACKEND = 11, HOOK_SHELL = 12, HOOK_REASON = 14, HOOK_NOTE = 15, HOOK_CONFIG = 16, HOOK_STATE = 21, HOOK_RESULT = 23,
};
enum { HOOK_ABSENT = -1, HOOK_UNSUPPORTED = -2, HOOK_TOO_BIG = -4, HOOK_INVALID = -5, HOOK_READ_ONLY = -6 };
enum { HOOK_RUN = 0, HOOK_DENY = 1, HOOK_ASK = 2, HOOK_ERROR = -1 }; // answers of pre_exec
enum { HOOK_FINAL = 1, HOOK_IDLE = 2 };                              // flags of filter
enum { HOOK_MAX_KEEP = 64 << 10 };
#define HOOK_DELETE ((size_t)-1)

#define HOOK_STR(literal) (literal), (sizeof(literal) - 1) // a literal as the two arguments it is

// hook_answer gives a reason with an answer of pre_exec: deny, ask or an error.
static inline int32_t hook_answer(int32_t answer, const char *reason, size_t len) {
  hook_set(HOOK_REASON, 0, 0, reason, len);
  return answer;
}

// hook_contains says whether a text is part of another.
static inline int hook_contains(const char *text, size_t len, const char *part, size_t part_len) {
  for (size_t at = 0; at + part_len <= len; at++) {
    size_t n = 0;
    while (n < part_len && text[at + n] == part[n]) n++;
    if (n == part_len) return 1;
  }
  return 0;
}

// A shape of secrets: a prefix, then from min to max characters of a class; at most HOOK_MAX_KEEP in all.
struct hook_token {
  const char *prefix;
  size_t prefix_len, min, max;
  int (*in_class)(unsigned char);
  const char *mask;
  size_t mask_len;
};

static inline int hook_alnum_upper(unsigned char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

// hook_match: the token's length, 0 for none, -1 if more text could make it one or a longer one.
static inline int32_t hook_match(const struct hook_token *t, const char *text, size_t len, int final) {
  size_t n = 0, most = t->prefix_len + t->max;
  while (n < len && n < most && (n < t->prefix_len ? text[n] == t->prefix[n] : t->in_class((unsigned char)text[n]))) n++;
  if (n == len && n < most && !final) return -1;
  return n >= t->prefix_len + t->min ? (int32_t)n : 0;
}

// hook_redact is the body of a filter that masks tokens, however the output is cut. Where two begin at the same place, the
// first one wins.
static inline int32_t hook_redact(const struct hook_token *tokens, size_t count, int32_t flags) {
  static char text[2 * HOOK_MAX_KEEP]; // a chunk and what was kept
  size_t len = 0, shown = 0, at = 0;
  for (int32_t n; (n = hook_read(text + len, sizeof text - len)) > 0;) len += (size_t)n;
  while (at < len) {
    int32_t size = 0;
    const struct hook_token *t = tokens;
    for (; t < tokens + count; t++) {
      if (text[at] == t->prefix[0] && (size = hook_match(t, text + at, len - at, flags & HOOK_FINAL)) != 0) break;
    }
    if (size < 0) break;
    if (size == 0) {
      at++;
      continue;
    }
    hook_write(text + shown, at - shown);
    hook_write(t->mask, t->mask_len);
    at += (size_t)size;
    shown = at;
  }
  hook_write(text + shown, at - shown);
  return (int32_t)(len - at);
}

#endif
