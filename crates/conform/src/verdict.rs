//! The verdict of a vector.

use core::fmt;

use serde::Serialize;

/// The verdict of a vector.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// All expectations hold.
    Passed,
    /// At least one expectation does not hold.
    Failed(Vec<Difference>),
    /// The vector was not run, for this reason.
    Skipped(String),
}

/// A field whose value differs from the expectation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Difference {
    /// The name of the field in the vector.
    pub field: String,
    /// The expected value.
    pub expected: String,
    /// The actual value.
    pub got: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}, got {}", self.field, self.expected, self.got)
    }
}

/// The error of a malformed vector: something is missing or unreadable. It counts as a failure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadVector(pub String);

impl fmt::Display for BadVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bad vector: {}", self.0)
    }
}

impl core::error::Error for BadVector {}

impl From<String> for BadVector {
    fn from(why: String) -> Self {
        Self(why)
    }
}

impl From<serde_json::Error> for BadVector {
    fn from(error: serde_json::Error) -> Self {
        Self(error.to_string())
    }
}
