//! The log of a transaction.
//!
//! Lines are part of the interface: explorers, wallets and client libraries parse them. Their
//! texts, and which of them are dropped when there are too many, are agave's (`stable_log.rs`).

use core::{
    cell::RefCell,
    fmt::{self, Write},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use solana_pubkey::Pubkey;

use crate::{
    chain::{account::is_same, cost::LOG_BYTES_MAX},
    runtime::workspace,
};

const PROGRAM: &str = "Program ";
/// How many addresses each thread remembers the text of.
const REMEMBERED: usize = 64;

/// How a line about a program begins: `Program `, and its address as people write it.
struct Start {
    program: Pubkey,
    text: String,
}

impl Start {
    /// Starts `line`. To write an address takes longer than many a program runs, and the same
    /// programs are called over and over; so the last texts are kept.
    fn write(program: &Pubkey, line: &mut String) {
        thread_local! {
            static KNOWN: RefCell<[Option<Start>; REMEMBERED]> =
                const { RefCell::new([const { None }; REMEMBERED]) };
        }
        let bytes = program.as_array();
        let place = usize::from(bytes[0] ^ bytes[31]) % REMEMBERED;
        KNOWN.with_borrow_mut(|known| {
            let known = &mut known[place];
            if known.as_ref().is_none_or(|known| !is_same(&known.program, program)) {
                let text = format!("{PROGRAM}{program}");
                *known = Some(Start { program: *program, text });
            }
            line.push_str(known.as_ref().map_or("", |known| &known.text));
        });
    }
}

/// Room for a line about a program: the longest address has 44 letters, and this much may follow.
const LINE_BYTES: usize = PROGRAM.len() + 44 + 52;

fn push_number(line: &mut String, number: u64) {
    line.push_str(itoa::Buffer::new().format(number));
}

/// Collects lines until they take too many bytes.
#[derive(Clone, Debug)]
pub(crate) struct Logs {
    lines: Vec<String>,
    /// Lines of others, whose room is used.
    spare: Vec<String>,
    bytes: usize,
    bytes_max: usize,
    truncated: bool,
}

impl Default for Logs {
    fn default() -> Self {
        Self::new(LOG_BYTES_MAX)
    }
}

impl Logs {
    pub(crate) fn new(bytes_max: usize) -> Self {
        let (lines, spare) = (Vec::new(), workspace::lines());
        Self { lines, spare, bytes: 0, bytes_max, truncated: false }
    }

    /// Puts the lines in the room of an empty log.
    pub(crate) fn in_place_of(&mut self, log: Vec<String>) {
        self.lines = log;
    }

    /// An empty line.
    fn start(&mut self) -> String {
        let Some(mut line) = self.spare.pop() else { return String::with_capacity(LINE_BYTES) };
        line.clear();
        line
    }

    /// Adds a line if it fits. A short line may still fit after a long one was dropped.
    pub(crate) fn line(&mut self, line: impl Into<String>) {
        let line = line.into();
        let bytes = self.bytes.saturating_add(line.len());
        if bytes < self.bytes_max {
            self.bytes = bytes;
            self.lines.push(line);
        } else if !self.truncated {
            self.truncated = true;
            self.lines.push("Log truncated".to_owned());
        }
    }

    /// A line about a program. Most lines are of this kind, so they are put together by hand.
    fn about(&mut self, program: &Pubkey, rest: impl FnOnce(&mut String)) {
        let mut line = self.start();
        Start::write(program, &mut line);
        rest(&mut line);
        self.line(line);
    }

    pub(crate) fn invoke(&mut self, program: &Pubkey, depth: usize) {
        self.about(program, |line| {
            line.push_str(" invoke [");
            push_number(line, depth as u64);
            line.push(']');
        });
    }

    pub(crate) fn message(&mut self, message: impl fmt::Display) {
        let mut line = self.start();
        write!(line, "Program log: {message}").expect("strings take everything");
        self.line(line);
    }

    pub(crate) fn data(&mut self, fields: &[&[u8]]) {
        let fields: Vec<_> = fields.iter().map(|field| BASE64_STANDARD.encode(field)).collect();
        self.line(format!("Program data: {}", fields.join(" ")));
    }

    pub(crate) fn return_data(&mut self, program: &Pubkey, data: &[u8]) {
        self.line(format!("Program return: {program} {}", BASE64_STANDARD.encode(data)));
    }

    pub(crate) fn consumed(&mut self, program: &Pubkey, units: u64, of: u64) {
        self.about(program, |line| {
            line.push_str(" consumed ");
            push_number(line, units);
            line.push_str(" of ");
            push_number(line, of);
            line.push_str(" compute units");
        });
    }

    pub(crate) fn success(&mut self, program: &Pubkey) {
        self.about(program, |line| line.push_str(" success"));
    }

    pub(crate) fn failed(&mut self, program: &Pubkey, why: &str) {
        self.about(program, |line| {
            line.push_str(" failed: ");
            line.push_str(why);
        });
    }

    pub(crate) fn lines(&self) -> &[String] {
        &self.lines
    }

    pub(crate) fn take_lines(&mut self) -> Vec<String> {
        workspace::keep_spare_lines(core::mem::take(&mut self.spare));
        core::mem::take(&mut self.lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_dropped_one_by_one() {
        let mut logs = Logs::default();
        logs.line("a".repeat(9_990));
        logs.line("b".repeat(10));
        logs.line("c".repeat(9));
        logs.line("d");
        let lines = logs.take_lines();
        assert_eq!(lines[1..], ["Log truncated".to_owned(), "c".repeat(9)]);
    }

    #[test]
    fn programs_have_their_names() {
        let programs = [[0; 32], [1; 32], [0xff; 32]].map(Pubkey::new_from_array);
        for program in programs.iter().chain(&programs) {
            let mut logs = Logs::default();
            logs.invoke(program, 10);
            logs.consumed(program, 0, u64::MAX);
            logs.success(program);
            logs.failed(program, "why");
            let texts = [
                " invoke [10]",
                " consumed 0 of 18446744073709551615 compute units",
                " success",
                " failed: why",
            ];
            assert_eq!(logs.take_lines(), texts.map(|text| format!("Program {program}{text}")));
        }
    }

    #[test]
    fn data_is_base64() {
        let mut logs = Logs::default();
        logs.data(&[b"ab", b"", b"abc"]);
        logs.data(&[]);
        assert_eq!(logs.take_lines(), ["Program data: YWI=  YWJj", "Program data: "]);
    }
}
