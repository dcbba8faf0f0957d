//! The verdict of a vector.

use core::fmt;
use std::{io, path::PathBuf};

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

/// Something that a vector refers to and that is not there: the vector is skipped.
#[derive(Debug)]
#[non_exhaustive]
pub enum Missing {
    /// The fixture at this path is neither a file nor in an archive beside the vectors.
    Fixture(String),
    /// No archive beside the vectors whose name ends with `archives` has the file at `path`.
    Packed {
        /// The path in the archive.
        path: String,
        /// The end of the archives' names.
        archives: String,
    },
    /// An archive beside the vectors cannot be read.
    Archive(io::Error),
    /// No folder of ELF files was given.
    NoElfFolder,
    /// The folder of ELF files has none of this name or hash.
    Elf {
        /// The name or hash.
        name: String,
        /// The folder.
        folder: PathBuf,
    },
    /// A file of this name has another SHA-256 than its name says.
    OtherHash(String),
    /// It is in neither of two places.
    Both(Box<[Self; 2]>),
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixture(path) => write!(f, "fixture {path} is missing beside the vectors"),
            Self::Packed { path, archives } => {
                write!(f, "{path} is in no archive *{archives}.tar.zst beside the vectors")
            }
            Self::Archive(error) => error.fmt(f),
            Self::NoElfFolder => {
                f.write_str("it refers to an ELF file, and no folder of ELF files was given")
            }
            Self::Elf { name, folder } => {
                write!(f, "ELF file {name} is not in {}", folder.display())
            }
            Self::OtherHash(file) => write!(f, "{file} does not have the SHA-256 in its name"),
            Self::Both(places) => {
                let [first, second] = places.as_ref();
                write!(f, "{first}, and {second}")
            }
        }
    }
}

impl core::error::Error for Missing {}

impl From<Missing> for Verdict {
    fn from(missing: Missing) -> Self {
        Self::Skipped(missing.to_string())
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

impl BadVector {
    /// Returns the error of a vector with a part that another library refuses.
    pub(crate) fn of(why: impl fmt::Display) -> Self {
        Self(why.to_string())
    }
}

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
