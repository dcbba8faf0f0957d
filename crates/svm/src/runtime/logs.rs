//! The log of a transaction.
//!
//! Lines are part of the interface: explorers, wallets and client libraries parse them. Their
//! texts, and which of them are dropped when there are too many, are agave's (`stable_log.rs`).

use core::fmt::{self, Write};

use base64::{Engine, prelude::BASE64_STANDARD};
use solana_pubkey::Pubkey;

use crate::chain::{account::is_same, cost::LOG_BYTES_MAX};

const PROGRAM: &str = "Program ";
/// How many program prefixes are cached.
const PREFIXES: usize = 64;
/// Spare lines that are kept, and how long they may be, so that idle memory stays small.
const SPARE_LINES: usize = 64;
const SPARE_LINE_BYTES: usize = 256;

/// The beginning of a line about a program: `Program ` and its address in base 58.
#[derive(Clone, Debug)]
struct ProgramPrefix {
    program: Pubkey,
    text: String,
}

/// Allocations that logs reuse, and the prefixes that were encoded last. Base-58 encoding an address
/// takes longer than many programs run.
#[derive(Clone, Default, Debug)]
pub(crate) struct LogBuffers {
    /// An empty log.
    log: Vec<String>,
    /// Lines whose allocations are reused.
    spare_lines: Vec<String>,
    /// Empty, or [`PREFIXES`] long.
    prefixes: Vec<Option<ProgramPrefix>>,
}

impl LogBuffers {
    /// Takes back the allocations of a log that is no longer needed.
    pub(crate) fn recycle(&mut self, mut log: Vec<String>) {
        let free = SPARE_LINES.saturating_sub(self.spare_lines.len());
        let short = log.drain(..).filter(|line| line.capacity() <= SPARE_LINE_BYTES);
        self.spare_lines.extend(short.take(free));
        self.log = log;
    }

    /// Appends `Program ` and the program's address to `line`.
    fn write_prefix(&mut self, program: &Pubkey, line: &mut String) {
        if self.prefixes.is_empty() {
            self.prefixes.resize(PREFIXES, None);
        }
        let bytes = program.as_array();
        let index = usize::from(bytes[0] ^ bytes[31]) % PREFIXES;
        let cached = &mut self.prefixes[index];
        if cached.as_ref().is_none_or(|cached| !is_same(&cached.program, program)) {
            let text = format!("{PROGRAM}{program}");
            *cached = Some(ProgramPrefix { program: *program, text });
        }
        line.push_str(cached.as_ref().map_or("", |cached| &cached.text));
    }
}

/// The capacity of a line about a program: the longest address has 44 characters, and about this
/// much follows it.
const LINE_BYTES: usize = PROGRAM.len() + 44 + 52;

fn push_number(line: &mut String, number: u64) {
    line.push_str(itoa::Buffer::new().format(number));
}

/// A log: collects lines up to a limit of bytes.
#[derive(Clone, Debug)]
pub(crate) struct Logs {
    lines: Vec<String>,
    buffers: LogBuffers,
    bytes: usize,
    bytes_max: usize,
    truncated: bool,
}

impl Default for Logs {
    fn default() -> Self {
        Self::new(LOG_BYTES_MAX, LogBuffers::default())
    }
}

impl Logs {
    pub(crate) fn new(bytes_max: usize, mut buffers: LogBuffers) -> Self {
        let lines = core::mem::take(&mut buffers.log);
        Self { lines, buffers, bytes: 0, bytes_max, truncated: false }
    }

    /// Returns an empty line.
    fn start(&mut self) -> String {
        let spare = self.buffers.spare_lines.pop();
        let Some(mut line) = spare else { return String::with_capacity(LINE_BYTES) };
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

    /// Adds a line about a program. Most lines are of this kind, so they are formatted by hand.
    fn about(&mut self, program: &Pubkey, rest: impl FnOnce(&mut String)) {
        let mut line = self.start();
        self.buffers.write_prefix(program, &mut line);
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

    pub(crate) fn consumed(&mut self, program: &Pubkey, compute_units: u64, limit: u64) {
        self.about(program, |line| {
            line.push_str(" consumed ");
            push_number(line, compute_units);
            line.push_str(" of ");
            push_number(line, limit);
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
        core::mem::take(&mut self.lines)
    }

    pub(crate) fn buffers(&mut self) -> &mut LogBuffers {
        &mut self.buffers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_exceed_the_limit_are_dropped_and_shorter_ones_kept() {
        let mut logs = Logs::default();
        logs.line("a".repeat(9_990));
        logs.line("b".repeat(10));
        logs.line("c".repeat(9));
        logs.line("d");
        let lines = logs.take_lines();
        assert_eq!(lines[1..], ["Log truncated".to_owned(), "c".repeat(9)]);
    }

    #[test]
    fn lines_about_programs_have_the_right_address_despite_cached_prefixes() {
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
    fn data_fields_are_base64_separated_by_spaces() {
        let mut logs = Logs::default();
        logs.data(&[b"ab", b"", b"abc"]);
        logs.data(&[]);
        assert_eq!(logs.take_lines(), ["Program data: YWI=  YWJj", "Program data: "]);
    }
}
