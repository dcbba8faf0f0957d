//! Parses integers; errors name the valid range.

use std::str::FromStr;

/// An integer type with its range.
pub(crate) trait Integer: FromStr + std::fmt::Display {
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

/// Parses a decimal number.
pub(crate) fn parse<I: Integer>(text: &str) -> Result<I, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number from {} to {}", I::MIN, I::MAX))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn parse_errors_name_the_range() {
        assert_eq!(parse::<u8>("255"), Ok(255));
        let refused = Err("`256` is not a number from 0 to 255".to_owned());
        assert_eq!(parse::<u8>("256"), refused);
        let refused = Err("`x` is not a number from -128 to 127".to_owned());
        assert_eq!(parse::<i8>("x"), refused);
    }
}
