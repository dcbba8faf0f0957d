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
