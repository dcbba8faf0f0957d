//! What became of a vector.

use core::fmt;

use serde::Serialize;

/// What became of a vector.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// All that the vector expects came out.
    Passed,
    /// Something else came out.
    Failed(Vec<Difference>),
    /// It was not run, for this reason.
    Skipped(String),
}

/// One thing that came out differently.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Difference {
    /// What it is, by the vector's own name.
    pub field: String,
    /// What the vector expects.
    pub expected: String,
    /// What came out.
    pub got: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}, got {}", self.field, self.expected, self.got)
    }
}

/// The vector itself is wrong: something is missing or unreadable. Counts as a failure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadVector(pub String);

impl fmt::Display for BadVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bad vector: {}", self.0)
    }
}

impl core::error::Error for BadVector {}

impl From<serde_json::Error> for BadVector {
    fn from(error: serde_json::Error) -> Self {
        Self(error.to_string())
    }
}

/// Collects differences, field by field.
///
/// ```
/// use selkie_conform::{Comparison, Verdict};
/// let mut comparison = Comparison::default();
/// comparison.check("r0", &5, &5);
/// comparison.check_if("cu_left", None, &7);
/// assert_eq!(comparison.verdict(), Verdict::Passed);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    compared: usize,
    differences: Vec<Difference>,
}

impl Comparison {
    /// Compares a field.
    pub fn check<T: PartialEq + fmt::Display + ?Sized>(
        &mut self,
        field: &str,
        expected: &T,
        got: &T,
    ) {
        self.compared += 1;
        if expected != got {
            self.differ(field, expected, got);
        }
    }

    /// Compares a field that the vector may leave out.
    pub fn check_if<T: PartialEq + fmt::Display>(
        &mut self,
        field: &str,
        expected: Option<T>,
        got: &T,
    ) {
        if let Some(expected) = expected {
            self.check(field, &expected, got);
        }
    }

    /// Notes a difference that was found otherwise.
    pub fn differ(&mut self, field: &str, expected: impl fmt::Display, got: impl fmt::Display) {
        self.compared += 1;
        self.differences.push(Difference {
            field: field.to_owned(),
            expected: expected.to_string(),
            got: got.to_string(),
        });
    }

    /// The verdict over all fields. With nothing compared, nothing passed.
    #[must_use]
    pub fn verdict(mut self) -> Verdict {
        if self.compared == 0 {
            self.differ("expectation", "something to compare", "nothing known");
        }
        match self.differences.is_empty() {
            true => Verdict::Passed,
            false => Verdict::Failed(self.differences),
        }
    }
}
