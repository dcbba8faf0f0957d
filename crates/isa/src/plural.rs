//! Numbers of things in sentences.

use core::fmt::Display;

/// Returns a number with a noun, which has an `s` unless there is one of them.
///
/// ```
/// use selkie_isa::plural::count;
/// assert_eq!(count(1, "item"), "1 item");
/// assert_eq!(count(0, "item"), "0 items");
/// ```
pub fn count<N: Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    format!("{number} {noun}{}", if number == N::from(1) { "" } else { "s" })
}
