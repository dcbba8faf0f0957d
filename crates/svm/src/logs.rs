//! The log of a transaction.
//!
//! Lines are part of the interface: explorers, wallets and client libraries parse them. Their
//! texts, and which of them are dropped when there are too many, are agave's (`stable_log.rs`).

use core::fmt;

use base64::{Engine, prelude::BASE64_STANDARD};
use solana_pubkey::Pubkey;

use crate::cost::LOG_BYTES_MAX;

/// Collects lines until they take too many bytes.
#[derive(Clone, Default, Debug)]
pub(crate) struct Logs {
    lines: Vec<String>,
    bytes: usize,
    truncated: bool,
}

impl Logs {
    /// Adds a line if it fits. A short line may still fit after a long one was dropped.
    pub(crate) fn line(&mut self, line: impl Into<String>) {
        let line = line.into();
        let bytes = self.bytes.saturating_add(line.len());
        if bytes < LOG_BYTES_MAX {
            self.bytes = bytes;
            self.lines.push(line);
        } else if !self.truncated {
            self.truncated = true;
            self.lines.push("Log truncated".to_owned());
        }
    }

    pub(crate) fn invoke(&mut self, program: &Pubkey, depth: usize) {
        self.line(format!("Program {program} invoke [{depth}]"));
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
        self.line(format!("Program {program} consumed {units} of {of} compute units"));
    }

    pub(crate) fn success(&mut self, program: &Pubkey) {
        self.line(format!("Program {program} success"));
    }

    pub(crate) fn failed(&mut self, program: &Pubkey, why: &str) {
        self.line(format!("Program {program} failed: {why}"));
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
