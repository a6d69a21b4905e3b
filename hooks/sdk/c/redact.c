// Hides AWS key ids in what commands print.
#include "hook.h"

static const struct hook_token key = {HOOK_STR("AKIA"), 16, 16, hook_alnum_upper, HOOK_STR("[aws-key]")};

HOOK_EXPORT(filter) int32_t filter(int32_t stream, int32_t flags) {
  (void)stream;
  return hook_redact(&key, 1, flags);
}
