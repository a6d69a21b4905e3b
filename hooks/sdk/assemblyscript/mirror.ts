// Lets pip use the config's mirror, and refuses to delete everything.
import * as hook from "./hook";

export function pre_exec(): i32 {
  const command = hook.get(hook.COMMAND);
  if (command !== null && command.includes("rm -rf /")) {
    return hook.answer(hook.DENY, "refusing to delete /");
  }
  const url = hook.get(hook.CONFIG, "mirror");
  if (url !== null && !hook.set(hook.ENV, "PIP_INDEX_URL", url)) {
    return hook.answer(hook.ERROR, "PIP_INDEX_URL was not set");
  }
  return hook.RUN;
}
