//! The log of a transaction.
//!
//! Lines are part of the interface: explorers, wallets and client libraries parse them. Their
//! texts, and which of them are dropped when there are too many, are agave's (`stable_log.rs`).

use core::{cell::Cell, fmt};

use base64::{Engine, prelude::BASE64_STANDARD};
use solana_pubkey::Pubkey;

use crate::cost::LOG_BYTES_MAX;

const PROGRAM: &str = "Program ";
/// The longest text of an address.
const BASE58_BYTES_MAX: usize = 44;
/// How many addresses each thread remembers the text of.
const REMEMBERED: usize = 64;

/// An address as people write it.
#[derive(Clone, Copy)]
struct Base58 {
    key: Pubkey,
    text: [u8; BASE58_BYTES_MAX],
    len: u8,
}

impl Base58 {
    /// To write an address takes longer than many a program runs, and the same programs are called
    /// over and over; so the last texts are kept.
    fn of(key: &Pubkey) -> Self {
        thread_local! {
            static KNOWN: Cell<[Option<Base58>; REMEMBERED]> = const { Cell::new([None; REMEMBERED]) };
        }
        let bytes = key.as_ref();
        let place = bytes.first().zip(bytes.last()).map_or(0, |(first, last)| first ^ last);
        KNOWN.with(|known| {
            let known = known.as_array_of_cells();
            let place = &known[usize::from(place) % REMEMBERED];
            if let Some(text) = place.get().filter(|known| known.key == *key) {
                return text;
            }
            let made = Self::make(key);
            place.set(Some(made));
            made
        })
    }

    fn make(key: &Pubkey) -> Self {
        let mut text = [0; BASE58_BYTES_MAX];
        let written = key.to_string();
        text[..written.len()].copy_from_slice(written.as_bytes());
        Self { key: *key, text, len: u8::try_from(written.len()).unwrap_or_default() }
    }

    fn as_str(&self) -> &str {
        core::str::from_utf8(&self.text[..usize::from(self.len)]).unwrap_or_default()
    }
}

/// Collects lines until they take too many bytes.
#[derive(Clone, Debug)]
pub(crate) struct Logs {
    lines: Vec<String>,
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
        Self { lines: Vec::new(), bytes: 0, bytes_max, truncated: false }
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
    fn about(&mut self, program: &Pubkey, rest: &[&str]) {
        let name = Base58::of(program);
        let len = rest.iter().map(|part| part.len()).sum::<usize>();
        let len = len.saturating_add(PROGRAM.len()).saturating_add(BASE58_BYTES_MAX);
        let mut line = String::with_capacity(len);
        line.push_str(PROGRAM);
        line.push_str(name.as_str());
        rest.iter().for_each(|part| line.push_str(part));
        self.line(line);
    }

    pub(crate) fn invoke(&mut self, program: &Pubkey, depth: usize) {
        self.about(program, &[" invoke [", &depth.to_string(), "]"]);
    }

    pub(crate) fn message(&mut self, message: impl fmt::Display) {
        self.line(format!("Program log: {message}"));
    }

    pub(crate) fn data(&mut self, fields: &[&[u8]]) {
        let fields: Vec<_> = fields.iter().map(|field| BASE64_STANDARD.encode(field)).collect();
        self.line(format!("Program data: {}", fields.join(" ")));
    }

    pub(crate) fn return_data(&mut self, program: &Pubkey, data: &[u8]) {
        self.line(format!("Program return: {program} {}", BASE64_STANDARD.encode(data)));
    }

    pub(crate) fn consumed(&mut self, program: &Pubkey, units: u64, of: u64) {
        let (units, of) = (units.to_string(), of.to_string());
        self.about(program, &[" consumed ", &units, " of ", &of, " compute units"]);
    }

    pub(crate) fn success(&mut self, program: &Pubkey) {
        self.about(program, &[" success"]);
    }

    pub(crate) fn failed(&mut self, program: &Pubkey, why: &str) {
        self.about(program, &[" failed: ", why]);
    }

    pub(crate) fn lines(&self) -> &[String] {
        &self.lines
    }

    pub(crate) fn into_lines(self) -> Vec<String> {
        self.lines
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
        let lines = logs.into_lines();
        assert_eq!(lines[1..], ["Log truncated".to_owned(), "c".repeat(9)]);
    }

    #[test]
    fn data_is_base64() {
        let mut logs = Logs::default();
        logs.data(&[b"ab", b"", b"abc"]);
        logs.data(&[]);
        assert_eq!(logs.into_lines(), ["Program data: YWI=  YWJj", "Program data: "]);
    }
}
