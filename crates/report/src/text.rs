//! Text: escaping for XML and HTML, names of programs, numbers.

use core::fmt::Write as _;
use sha2::{Digest as _, Sha256};

/// Escapes text for XML and HTML. Control characters but line breaks and tabs become U+FFFD.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // XML has no way to write control characters.
            it if it.is_control() && it != '\n' && it != '\t' => escaped.push('\u{fffd}'),
            it => escaped.push(it),
        }
    }
    escaped
}

/// Renders a number with separators between thousands.
#[must_use]
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Renders a share in percent with one digit, computed without rounding errors.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    let tenths = u128::from(part) * 1000 / u128::from(whole);
    let mut text = String::new();
    let _ = write!(text, "{}.{} %", tenths / 10, tenths % 10);
    text
}

/// Returns the SHA-256 of bytes in hexadecimal.
pub(crate) fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_in_groups_of_three() {
        let shown = [0, 999, 1000, 98_979, 1_234_567].map(thousands);
        assert_eq!(shown.join(" "), "0 999 1,000 98,979 1,234,567");
    }
}
