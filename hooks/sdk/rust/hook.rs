//! What a hook in Rust is written with: a module that cmd-exec-mcp runs before a command, over its output and after its end.
//! Export `pre_exec`, `filter` or `post_exec` as one line each, which calls `hook::pre`, `hook::filter` or `hook::post`.
//!
//! Built for another target than wasm32 there is no server; `fake` plays it for `cargo test`. No dependencies, Rust 1.63.
#![allow(dead_code)] // a hook uses what it needs

#[cfg(target_arch = "wasm32")]
mod host {
    #[link(wasm_import_module = "hook1")]
    extern "C" {
        pub fn get(field: i32, key: *const u8, key_len: usize, buf: *mut u8, room: usize) -> i32;
        pub fn set(field: i32, key: *const u8, key_len: usize, value: *const u8, value_len: usize) -> i32;
        pub fn read(buf: *mut u8, room: usize) -> i32;
        pub fn write(p: *const u8, len: usize) -> i32;
        pub fn log(level: i32, message: *const u8, len: usize, attrs: *const u8, attrs_len: usize) -> i32;
    }
}
#[cfg(not(target_arch = "wasm32"))]
use fake as host;

/// Fields of hook1 by their numbers.
pub const COMMAND: i32 = 1;
pub const ARGV: i32 = 2;
pub const DIR: i32 = 3;
pub const ENV: i32 = 4;
pub const TIMEOUT_MS: i32 = 5;
pub const TARGET: i32 = 6;
pub const TOOL: i32 = 10;
pub const BACKEND: i32 = 11;
pub const SHELL: i32 = 12;
pub const REASON: i32 = 14;
pub const NOTE: i32 = 15;
pub const CONFIG: i32 = 16;
pub const STATE: i32 = 21;
pub const RESULT: i32 = 23;

const DELETE: usize = u32::MAX as usize;

/// The value of a field, of a map's entry with a key. None if it is absent, or unknown to this server.
pub fn get(field: i32, key: &str) -> Option<String> {
    let mut buf: Vec<u8> = Vec::with_capacity(512);
    loop {
        let n = unsafe { host::get(field, key.as_ptr(), key.len(), buf.as_mut_ptr(), buf.capacity()) };
        if n < 0 {
            return None;
        }
        let n = n as usize;
        if n <= buf.capacity() {
            unsafe { buf.set_len(n) }; // the server wrote so many
            return Some(String::from_utf8_lossy(&buf).into_owned());
        }
        buf.reserve(n);
    }
}

/// Sets a field, or a map's entry. The error says what the server did not take: pass it on with `?`, since a change that was
/// meant and not made is worse than none.
pub fn set(field: i32, key: &str, value: &str) -> Result<(), String> {
    check(field, unsafe { host::set(field, key.as_ptr(), key.len(), value.as_ptr(), value.len()) })
}

/// Takes an entry out of a map.
pub fn unset(field: i32, key: &str) -> Result<(), String> {
    check(field, unsafe { host::set(field, key.as_ptr(), key.len(), key.as_ptr(), DELETE) })
}

fn check(field: i32, answer: i32) -> Result<(), String> {
    if answer < 0 {
        let mut e = String::from("field ");
        e.push_str(&field.to_string());
        e.push_str(" was not set: the server answered ");
        e.push_str(&answer.to_string());
        return Err(e);
    }
    Ok(())
}

/// The shell text; empty if the command is a list of arguments.
pub fn command() -> String {
    get(COMMAND, "").unwrap_or_default()
}

/// The list of arguments; empty if the command is shell text.
pub fn argv() -> Vec<String> {
    let list = get(ARGV, "").unwrap_or_default();
    list.split_terminator('\0').map(String::from).collect()
}

/// What config.star tells this hook under a key: a string as it is, anything else as JSON.
pub fn config(key: &str) -> Option<String> {
    get(CONFIG, key)
}

pub fn set_env(name: &str, value: &str) -> Result<(), String> {
    set(ENV, name, value)
}

/// Tells the caller something, at the end of the reply: at most 1 KiB, 16 times a job.
pub fn note(text: &str) -> Result<(), String> {
    set(NOTE, "", text)
}

/// Writes a line to the server's log.
pub fn info(message: &str) {
    unsafe { host::log(1, message.as_ptr(), message.len(), message.as_ptr(), 0) };
}

pub enum Decision {
    /// The command runs, with the changes made.
    Run,
    /// It does not. The caller reads the reason: say what to do instead.
    Deny(String),
    /// A person decides, who reads the reason.
    Ask(String),
}

/// The body of `pre_exec`. An error means that the hook failed; no change counts then.
pub fn pre(f: fn() -> Result<Decision, String>) -> i32 {
    let (answer, reason) = match f() {
        Ok(Decision::Run) => return 0,
        Ok(Decision::Deny(reason)) => (1, reason),
        Ok(Decision::Ask(reason)) => (2, reason),
        Err(reason) => (-1, reason),
    };
    let _ = set(REASON, "", &reason); // without one the server has words of its own
    answer
}

/// The body of `post_exec`; `get(RESULT, "exit_code")` and so on say how the command ended.
pub fn post(f: fn() -> Result<(), String>) -> i32 {
    finish(f().map(|_| 0))
}

fn finish(result: Result<usize, String>) -> i32 {
    match result {
        Ok(n) => n as i32,
        Err(reason) => {
            let _ = set(REASON, "", &reason);
            -1
        }
    }
}

/// The most that a filter may want to see again, in bytes.
pub const MAX_KEEP: usize = 64 << 10;

/// A piece of output: what the last call kept, and what came since.
pub struct Chunk {
    pub input: Vec<u8>,
    pub stream: i32, // 0 a terminal's, 1 stdout, 2 stderr
    pub last: bool,  // nothing follows on this stream: then nothing may be kept
    pub idle: bool,  // the program paused: what was kept may be a prompt
    pub output: Vec<u8>,
}

/// The body of `filter`. `f` appends to `output` what may be shown, and returns how many bytes at the end of `input` it wants
/// to see again, with more behind them.
pub fn filter(stream: i32, flags: i32, f: fn(&mut Chunk) -> Result<usize, String>) -> i32 {
    let mut input: Vec<u8> = Vec::with_capacity(2 * MAX_KEEP);
    loop {
        let room = input.capacity() - input.len();
        let n = unsafe { host::read(input.as_mut_ptr().add(input.len()), room) };
        if n <= 0 {
            break;
        }
        unsafe { input.set_len(input.len() + n as usize) }; // the server wrote so many
    }
    let output = Vec::with_capacity(input.len() + 64);
    let mut c = Chunk { input, stream, last: flags & 1 != 0, idle: flags & 2 != 0, output };
    let kept = f(&mut c);
    if kept.is_ok() && unsafe { host::write(c.output.as_ptr(), c.output.len()) } < 0 {
        return finish(Err(String::from("the filter wrote more than the server takes")));
    }
    finish(kept)
}

/// A shape of secrets: a prefix, then from min to max characters of a class, up to MAX_KEEP in all.
pub struct Token {
    pub prefix: &'static [u8],
    pub min: usize,
    pub max: usize,
    pub class: fn(u8) -> bool,
    pub mask: &'static [u8],
}

pub fn alnum_upper(b: u8) -> bool {
    b.is_ascii_uppercase() || b.is_ascii_digit()
}

enum Match {
    No,
    Undecided, // more text could make it one, or a longer one
    Yes(usize),
}

impl Token {
    fn find(&self, text: &[u8], last: bool) -> Match {
        let n = text.len().min(self.prefix.len());
        if text[..n] != self.prefix[..n] {
            return Match::No;
        }
        let (least, most) = (self.prefix.len() + self.min, self.prefix.len() + self.max);
        let mut n = self.prefix.len();
        while n < text.len() && n < most && (self.class)(text[n]) {
            n += 1;
        }
        if n >= text.len() && n < most && !last {
            return Match::Undecided;
        }
        if n < least || n > text.len() {
            return Match::No;
        }
        Match::Yes(n)
    }
}

/// Masks tokens, however the output is cut. Where two begin at the same place, the first in the list wins.
pub fn redact(c: &mut Chunk, tokens: &[Token]) -> usize {
    let text = &c.input;
    let mut at = 0;
    'text: while at < text.len() {
        for t in tokens {
            if text[at] != t.prefix[0] {
                continue;
            }
            match t.find(&text[at..], c.last) {
                Match::No => {}
                Match::Undecided => return text.len() - at,
                Match::Yes(n) => {
                    c.output.extend_from_slice(t.mask);
                    at += n;
                    continue 'text;
                }
            }
        }
        c.output.push(text[at]);
        at += 1;
    }
    0
}

/// A server for `cargo test`: `fake::put` says what a hook will get, `fake::take` what it set. Each test has its own.
#[cfg(not(target_arch = "wasm32"))]
pub mod fake {
    use super::*;
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    thread_local! { static FIELDS: RefCell<BTreeMap<(i32, String), String>> = RefCell::new(BTreeMap::new()); }

    pub fn put(field: i32, key: &str, value: &str) {
        FIELDS.with(|f| f.borrow_mut().insert((field, key.into()), value.into()));
    }

    pub fn take(field: i32, key: &str) -> Option<String> {
        FIELDS.with(|f| f.borrow_mut().remove(&(field, key.into())))
    }

    /// Runs a filter over a text cut into two at every place. The results must be the same, or it panics.
    pub fn every_cut(f: fn(&mut Chunk) -> Result<usize, String>, text: &str) -> String {
        let whole = run(f, &[text.as_bytes()]);
        for i in 0..=text.len() {
            let (a, b) = text.as_bytes().split_at(i);
            assert_eq!(run(f, &[a, b]), whole, "cut at byte {}", i);
        }
        whole
    }

    fn run(f: fn(&mut Chunk) -> Result<usize, String>, chunks: &[&[u8]]) -> String {
        let mut c = Chunk { input: vec![], stream: 1, last: false, idle: false, output: vec![] };
        for (i, chunk) in chunks.iter().enumerate() {
            c.input.extend_from_slice(chunk);
            c.last = i == chunks.len() - 1;
            let keep = f(&mut c).unwrap();
            c.input.drain(..c.input.len() - keep);
        }
        assert!(c.input.is_empty(), "something was kept at the end");
        String::from_utf8(c.output).unwrap()
    }

    unsafe fn text(p: *const u8, len: usize) -> String {
        String::from_utf8(std::slice::from_raw_parts(p, len).to_vec()).unwrap()
    }

    pub unsafe fn get(field: i32, key: *const u8, key_len: usize, buf: *mut u8, room: usize) -> i32 {
        match FIELDS.with(|f| f.borrow().get(&(field, text(key, key_len))).cloned()) {
            None => -1,
            Some(value) => {
                if value.len() <= room {
                    std::ptr::copy_nonoverlapping(value.as_ptr(), buf, value.len());
                }
                value.len() as i32
            }
        }
    }

    pub unsafe fn set(field: i32, key: *const u8, key_len: usize, value: *const u8, len: usize) -> i32 {
        let key = text(key, key_len);
        if len == DELETE {
            take(field, &key);
        } else {
            put(field, &key, &text(value, len));
        }
        0
    }

    pub unsafe fn read(_: *mut u8, _: usize) -> i32 {
        0
    }

    pub unsafe fn write(_: *const u8, _: usize) -> i32 {
        0
    }

    pub unsafe fn log(_: i32, _: *const u8, _: usize, _: *const u8, _: usize) -> i32 {
        0
    }
}
