//! Parses integers; errors name the valid range.

use core::{fmt::Display, str::FromStr};

/// An integer type with its range.
pub trait Integer: FromStr + Display {
    /// The smallest value.
    const MIN: Self;
    /// The largest value.
    const MAX: Self;
}

macro_rules! integers {
    ($($integer:ident)*) => {
        $(impl Integer for $integer {
            const MIN: Self = $integer::MIN;
            const MAX: Self = $integer::MAX;
        })*
    };
}

integers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128);

/// A text that is no number of a type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotANumber(String);

impl Display for NotANumber {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for NotANumber {}

impl From<NotANumber> for String {
    fn from(error: NotANumber) -> Self {
        error.0
    }
}

/// Parses a decimal number.
///
/// # Errors
/// If it is none, or not within the type's range.
pub fn parse<I: Integer>(text: &str) -> Result<I, NotANumber> {
    text.parse()
        .map_err(|_| NotANumber(format!("`{text}` is not a number from {} to {}", I::MIN, I::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_errors_name_the_range() {
        assert_eq!(parse::<u8>("255"), Ok(255));
        let refused = Err(NotANumber("`256` is not a number from 0 to 255".to_owned()));
        assert_eq!(parse::<u8>("256"), refused);
        let refused = Err(NotANumber("`x` is not a number from -128 to 127".to_owned()));
        assert_eq!(parse::<i8>("x"), refused);
    }
}
