//! Comparing what came out with what was expected, field by field.

use std::fmt::Debug;

/// Collects differences.
#[derive(Default, Debug)]
pub(crate) struct Check {
    differences: Vec<String>,
}

impl Check {
    /// Notes a difference if the values are not the same.
    pub(crate) fn same<T: PartialEq + Debug>(&mut self, what: &str, expected: T, got: T) {
        if expected != got {
            self.differences.push(format!("{what}: expected {expected:?}, got {got:?}"));
        }
    }

    /// The same where something is expected at all.
    pub(crate) fn equal<T: PartialEq + Debug>(&mut self, what: &str, expected: Option<T>, got: T) {
        if let Some(expected) = expected {
            self.same(what, expected, got);
        }
    }

    /// The differences, if there are any.
    pub(crate) fn finish(self) -> Result<(), String> {
        if self.differences.is_empty() { Ok(()) } else { Err(self.differences.join("; ")) }
    }
}

/// Decodes a string of hexadecimal digits.
pub(crate) fn bytes(text: &str) -> Result<Vec<u8>, String> {
    hex::decode(text).map_err(|error| format!("not hexadecimal: {error}"))
}

/// Decodes a number in hexadecimal without prefix.
pub(crate) fn number(text: &str) -> Result<u64, String> {
    u64::from_str_radix(text, 16).map_err(|error| format!("`{text}` is no number: {error}"))
}
