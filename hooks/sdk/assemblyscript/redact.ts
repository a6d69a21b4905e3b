// Hides AWS key ids in what commands print.
import * as hook from "./hook";

const tokens = [new hook.Token("AKIA", 16, 16, hook.alnumUpper, "[aws-key]")];

export function filter(stream: i32, flags: i32): i32 {
  return hook.redact(tokens, flags);
}
