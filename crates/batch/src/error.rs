//! Errors of whole batches. What is wrong with one item is a row of the result instead.

use core::fmt;

use arrow_schema::{ArrowError, DataType};

/// A batch that cannot be run, or a table that cannot be read.
#[non_exhaustive]
#[derive(Debug)]
pub enum BatchError {
    /// A column is missing, or a field of one (`accounts.owner`).
    MissingColumn(String),
    /// A column has another type than [`schema`](crate::schema) says.
    ColumnType {
        /// The column, with the fields of nested ones behind dots.
        column: String,
        /// The type it should have.
        expected: DataType,
        /// The type it has.
        found: DataType,
    },
    /// A row of a table of contents is invalid.
    Content {
        /// The row, from 0.
        row: usize,
        /// What is wrong with it.
        why: String,
    },
    /// The logs and data that results keep take more than
    /// [`RunOptions::kept_bytes_max`](crate::RunOptions::kept_bytes_max). Smaller batches fit.
    TooLarge {
        /// How many results fit.
        rows: usize,
    },
    /// The results cannot be put into a batch: they are larger than Arrow's 32-bit offsets allow.
    Arrow(ArrowError),
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingColumn(column) => write!(f, "the table has no column `{column}`"),
            Self::ColumnType { column, expected, found } => {
                write!(f, "column `{column}` is {found}, but should be {expected}")
            }
            Self::Content { row, why } => write!(f, "row {row} of the contents: {why}"),
            Self::TooLarge { rows } => {
                write!(f, "the logs and data of more than {rows} results are too large for a batch")
            }
            Self::Arrow(error) => write!(f, "the results do not fit into a batch: {error}"),
        }
    }
}

impl core::error::Error for BatchError {}

impl From<ArrowError> for BatchError {
    fn from(error: ArrowError) -> Self {
        Self::Arrow(error)
    }
}

/// What is wrong with an item, or with a file that items refer to. An item's is in the column `error` of
/// its result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Malformed(String);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for Malformed {}

impl<T: Into<String>> From<T> for Malformed {
    fn from(why: T) -> Self {
        Self(why.into())
    }
}
