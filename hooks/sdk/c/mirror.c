// Lets pip use the config's mirror, and refuses to delete everything.
#include "hook.h"

static char text[1 << 16];

HOOK_EXPORT(pre_exec) int32_t pre_exec(void) {
  int32_t n = hook_get(HOOK_COMMAND, 0, 0, text, sizeof text);
  if (n > (int32_t)sizeof text) return hook_answer(HOOK_ERROR, HOOK_STR("the command is too long for this hook"));
  if (n > 0 && hook_contains(text, (size_t)n, HOOK_STR("rm -rf /"))) {
    return hook_answer(HOOK_DENY, HOOK_STR("refusing to delete /"));
  }
  n = hook_get(HOOK_CONFIG, HOOK_STR("mirror"), text, sizeof text);
  if (n > 0 && n <= (int32_t)sizeof text && hook_set(HOOK_ENV, HOOK_STR("PIP_INDEX_URL"), text, (size_t)n) < 0) {
    return hook_answer(HOOK_ERROR, HOOK_STR("PIP_INDEX_URL was not set"));
  }
  return HOOK_RUN;
}
