//! Comparison of results with expectations, field by field.

use core::fmt::{Debug, Display};

use crate::{
    BadVector, Difference, Verdict,
    vector::{number, unhex},
};

/// A comparison in progress: collects the differences of all fields.
///
/// ```
/// use selkie_conform::{Check, Verdict};
/// let mut check = Check::default();
/// check.same("r0", 5, 5);
/// check.equal("cu_left", None, 7);
/// assert_eq!(check.finish(), Ok(Verdict::Passed));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Check {
    compared: usize,
    /// The text put before the names of fields.
    prefix: &'static str,
    differences: Vec<Difference>,
}

impl Check {
    /// Compares a field, and records a difference if the values are not equal.
    pub fn same<T: PartialEq + Debug>(&mut self, field: &str, expected: T, got: T) {
        self.compared += 1;
        if expected != got {
            self.differ(field, format_args!("{expected:?}"), format_args!("{got:?}"));
        }
    }

    /// Compares a field if the vector expects a value for it.
    pub fn equal<T: PartialEq + Debug>(&mut self, field: &str, expected: Option<T>, got: T) {
        if let Some(expected) = expected {
            self.same(field, expected, got);
        }
    }

    /// Records a difference unconditionally.
    pub fn differ(&mut self, field: &str, expected: impl Display, got: impl Display) {
        self.compared += 1;
        let (expected, got) = (expected.to_string(), got.to_string());
        let field = format!("{}{field}", self.prefix);
        self.differences.push(Difference { field, expected, got });
    }

    /// Sets the text put before the names of subsequent fields.
    pub(crate) fn set_prefix(&mut self, prefix: &'static str) {
        self.prefix = prefix;
    }

    /// Returns the verdict over all fields.
    ///
    /// # Errors
    /// If no field was compared: a vector without expectations must not pass.
    pub fn finish(self) -> Result<Verdict, BadVector> {
        match self.compared {
            0 => Err(BadVector("it expects no field that is supported".to_owned())),
            _ if self.differences.is_empty() => Ok(Verdict::Passed),
            _ => Ok(Verdict::Failed(self.differences)),
        }
    }
}

/// Decodes a string of hexadecimal digits.
pub(crate) fn bytes(text: &str) -> Result<Vec<u8>, BadVector> {
    unhex(text).ok_or_else(|| BadVector("not hexadecimal".to_owned()))
}

/// Decodes a hexadecimal number, with or without the prefix `0x`.
pub(crate) fn hex_number(text: &str) -> Result<u64, BadVector> {
    let unreadable = || BadVector(format!("`{text}` is not a hexadecimal number"));
    number(&text.into()).ok_or_else(unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_difference_is_reported() {
        let mut check = Check::default();
        check.same("same", 1, 1);
        check.same("r0", 1, 2);
        check.equal("err", Some("a"), "b");
        let Ok(Verdict::Failed(differences)) = check.finish() else { panic!("must fail") };
        let texts: Vec<_> = differences.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["r0: expected 1, got 2", "err: expected \"a\", got \"b\""]);
    }

    #[test]
    fn a_vector_without_expectations_does_not_pass() {
        let mut check = Check::default();
        check.equal("r0", None, 1);
        assert!(check.finish().is_err());
    }
}
