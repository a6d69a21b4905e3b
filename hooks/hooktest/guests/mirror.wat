;; The reference pre hook: PIP_INDEX_URL becomes the config's "mirror", and nobody deletes /.
(module
  (import "hook1" "get" (func $get (param i32 i32 i32 i32 i32) (result i32)))
  (import "hook1" "set" (func $set (param i32 i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 2)
  (data (i32.const 0) "rm -rf /")
  (data (i32.const 16) "mirror")
  (data (i32.const 32) "PIP_INDEX_URL")
  (data (i32.const 64) "refusing to delete /")

  ;; Is the text at 0 within the $n bytes at 4096?
  (func $dangerous (param $n i32) (result i32) (local $at i32)
    (block $no
      (loop $next
        (br_if $no (i32.gt_s (i32.add (local.get $at) (i32.const 8)) (local.get $n)))
        (if (i64.eq (i64.load (i32.add (i32.const 4096) (local.get $at))) (i64.load (i32.const 0))) (then (return (i32.const 1))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $next)))
    (i32.const 0))

  (func (export "pre_exec") (result i32) (local $n i32)
    (local.set $n (call $get (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 4096) (i32.const 65536)))
    (if (i32.gt_s (local.get $n) (i32.const 65536)) (then (return (i32.const -1))))
    (if (call $dangerous (local.get $n)) (then
      (drop (call $set (i32.const 14) (i32.const 0) (i32.const 0) (i32.const 64) (i32.const 20)))
      (return (i32.const 1))))
    (local.set $n (call $get (i32.const 16) (i32.const 16) (i32.const 6) (i32.const 4096) (i32.const 4096)))
    (if (i32.and (i32.gt_s (local.get $n) (i32.const 0)) (i32.le_s (local.get $n) (i32.const 4096))) (then
      (drop (call $set (i32.const 4) (i32.const 32) (i32.const 13) (i32.const 4096) (local.get $n)))))
    (i32.const 0)))
