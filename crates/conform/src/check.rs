//! Comparing what came out with what was expected, field by field.

use core::fmt::{Debug, Display};

use crate::{
    BadVector, Difference, Verdict,
    vector::{number, unhex},
};

/// Collects differences.
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
    /// What stands before the names of fields.
    prefix: &'static str,
    differences: Vec<Difference>,
}

impl Check {
    /// Notes a difference if the values are not the same.
    pub fn same<T: PartialEq + Debug>(&mut self, field: &str, expected: T, got: T) {
        self.compared += 1;
        if expected != got {
            self.differ(field, format_args!("{expected:?}"), format_args!("{got:?}"));
        }
    }

    /// The same where something is expected at all.
    pub fn equal<T: PartialEq + Debug>(&mut self, field: &str, expected: Option<T>, got: T) {
        if let Some(expected) = expected {
            self.same(field, expected, got);
        }
    }

    /// Notes a difference that was found otherwise.
    pub fn differ(&mut self, field: &str, expected: impl Display, got: impl Display) {
        self.compared += 1;
        let (expected, got) = (expected.to_string(), got.to_string());
        let field = format!("{}{field}", self.prefix);
        self.differences.push(Difference { field, expected, got });
    }

    /// Puts this before the names of fields from here on.
    pub(crate) fn prefix(&mut self, prefix: &'static str) {
        self.prefix = prefix;
    }

    /// The verdict over all fields.
    ///
    /// # Errors
    /// If nothing was compared: a vector that expects nothing must not pass.
    pub fn finish(self) -> Result<Verdict, BadVector> {
        match self.compared {
            0 => Err(BadVector("it expects nothing that is known here".to_owned())),
            _ if self.differences.is_empty() => Ok(Verdict::Passed),
            _ => Ok(Verdict::Failed(self.differences)),
        }
    }
}

/// Decodes a string of hexadecimal digits.
pub(crate) fn bytes(text: &str) -> Result<Vec<u8>, String> {
    unhex(text).ok_or_else(|| "not hexadecimal".to_owned())
}

/// Decodes a number in hexadecimal without prefix.
pub(crate) fn hex_number(text: &str) -> Result<u64, String> {
    number(&text.into()).ok_or_else(|| format!("`{text}` is no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_difference_is_told() {
        let mut check = Check::default();
        check.same("same", 1, 1);
        check.same("r0", 1, 2);
        check.equal("err", Some("a"), "b");
        let Ok(Verdict::Failed(differences)) = check.finish() else { panic!("must fail") };
        let texts: Vec<_> = differences.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["r0: expected 1, got 2", "err: expected \"a\", got \"b\""]);
    }

    #[test]
    fn to_expect_nothing_is_no_way_to_pass() {
        let mut check = Check::default();
        check.equal("r0", None, 1);
        assert!(check.finish().is_err());
    }
}
