;; The reference redactor: "AKIA" and sixteen of A-Z0-9 become "[aws-key]", wherever the text is cut.
(module
  (import "hook1" "read" (func $read (param i32 i32) (result i32)))
  (import "hook1" "write" (func $write (param i32 i32) (result i32)))
  (memory (export "memory") 4)
  (data (i32.const 0) "AKIA[aws-key]")

  ;; 1: a key of 20 bytes is at $at. 0: none. 2: the input ends before that is decided.
  (func $match (param $at i32) (param $end i32) (result i32) (local $k i32) (local $c i32)
    (loop $next
      (if (i32.ge_u (i32.add (local.get $at) (local.get $k)) (local.get $end)) (then (return (i32.const 2))))
      (local.set $c (i32.load8_u (i32.add (local.get $at) (local.get $k))))
      (if (i32.lt_u (local.get $k) (i32.const 4))
        (then (if (i32.ne (local.get $c) (i32.load8_u (local.get $k))) (then (return (i32.const 0)))))
        (else (if (i32.eqz (call $alnum (local.get $c))) (then (return (i32.const 0))))))
      (local.set $k (i32.add (local.get $k) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $k) (i32.const 20))))
    (i32.const 1))

  (func $alnum (param $c i32) (result i32)
    (i32.or
      (i32.lt_u (i32.sub (local.get $c) (i32.const 48)) (i32.const 10))
      (i32.lt_u (i32.sub (local.get $c) (i32.const 65)) (i32.const 26))))

  (func (export "filter") (param $stream i32) (param $flags i32) (result i32)
    (local $from i32) (local $at i32) (local $end i32) (local $n i32) (local $found i32)
    (local.set $end (i32.const 4096))
    (loop $more
      (local.set $n (call $read (local.get $end) (i32.const 65536)))
      (local.set $end (i32.add (local.get $end) (local.get $n)))
      (br_if $more (local.get $n)))
    (local.set $from (i32.const 4096))
    (local.set $at (i32.const 4096))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (if (i32.eq (i32.load8_u (local.get $at)) (i32.const 65)) (then
          (local.set $found (call $match (local.get $at) (local.get $end)))
          (if (i32.eq (local.get $found) (i32.const 1)) (then
            (drop (call $write (local.get $from) (i32.sub (local.get $at) (local.get $from))))
            (drop (call $write (i32.const 4) (i32.const 9)))
            (local.set $at (i32.add (local.get $at) (i32.const 20)))
            (local.set $from (local.get $at))
            (br $next)))
          (br_if $done (i32.and
            (i32.eq (local.get $found) (i32.const 2))
            (i32.eqz (i32.and (local.get $flags) (i32.const 1)))))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $next)))
    (drop (call $write (local.get $from) (i32.sub (local.get $at) (local.get $from))))
    (i32.sub (local.get $end) (local.get $at))))
