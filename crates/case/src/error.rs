//! The errors of reading cases.

use core::fmt;

/// A file that holds no case, or one that ends otherwise than recorded.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplayError {
    /// Not a valid replay.
    Format(String),
    /// The replay has another result: one sentence per difference.
    Differs(Vec<String>),
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format(why) => write!(f, "not a valid replay: {why}"),
            Self::Differs(all) => {
                f.write_str("the replay has another result than recorded")?;
                all.iter().try_for_each(|one| write!(f, "\n  {one}"))
            }
        }
    }
}

/// Prints the same as `Display`, so that tests that unwrap show readable messages.
impl fmt::Debug for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for ReplayError {}

/// Says what is malformed.
pub(crate) fn malformed(why: impl Into<String>) -> ReplayError {
    ReplayError::Format(why.into())
}
