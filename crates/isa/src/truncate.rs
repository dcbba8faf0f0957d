//! Truncation of long names in messages.
//!
//! Files and sources can contain names of several megabytes. All code that prints a name, alone or
//! in a message, truncates it with these functions. They show control characters as escapes too.

use std::borrow::Cow;

use crate::plain;

/// Bytes to which a name is truncated.
pub const NAME_BYTES_MAX: usize = 256;
/// How many of them are kept from the end, where compilers put the suffix that makes a name unique.
const TAIL_BYTES: usize = 96;
/// Replaces the part that is left out.
const CUT: &str = "…";

/// Returns the name as one line ([`plain::line`]), without its middle if it is longer than
/// [`NAME_BYTES_MAX`].
///
/// ```
/// use selkie_isa::truncate::name;
/// assert_eq!(name("entrypoint"), "entrypoint");
/// let long = format!("first{}last", "a".repeat(1 << 20));
/// let short = name(&long);
/// assert!(short.len() <= 256 && short.starts_with("firsta") && short.ends_with("alast"));
/// ```
#[must_use]
pub fn name(text: &str) -> Cow<'_, str> {
    let short = cut(text);
    match plain::line(&short) {
        Cow::Borrowed(_) => short,
        Cow::Owned(shown) => Cow::Owned(cut(&shown).into_owned()),
    }
}

fn cut(text: &str) -> Cow<'_, str> {
    if text.len() <= NAME_BYTES_MAX {
        return Cow::Borrowed(text);
    }
    let head = NAME_BYTES_MAX - TAIL_BYTES - CUT.len();
    let tail = text.len() - TAIL_BYTES;
    let head = (0..=head).rev().find_map(|at| text.get(..at)).unwrap_or_default();
    let tail = (tail..=text.len()).find_map(|at| text.get(at..)).unwrap_or_default();
    Cow::Owned([head, CUT, tail].concat())
}

/// Truncates all words of a message that are longer than [`NAME_BYTES_MAX`], and shows control
/// characters but for line breaks as escapes ([`plain::lines`]).
///
/// ```
/// use selkie_isa::truncate::message;
/// let long = format!("`{}` is not defined", "a".repeat(1 << 20));
/// let short = message(&long);
/// assert!(short.len() < 300 && short.ends_with("aaa` is not defined"));
/// ```
#[must_use]
pub fn message(text: &str) -> Cow<'_, str> {
    match cut_words(text) {
        Cow::Borrowed(text) => plain::lines(text),
        Cow::Owned(text) => Cow::Owned(plain::lines(&text).into_owned()),
    }
}

fn cut_words(text: &str) -> Cow<'_, str> {
    if text.len() <= NAME_BYTES_MAX {
        return Cow::Borrowed(text);
    }
    let words = text.split_inclusive(char::is_whitespace);
    let words = words.map(|word| word.split_at(word.trim_end().len()));
    if words.clone().all(|(word, _)| word.len() <= NAME_BYTES_MAX) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(words.flat_map(|(word, space)| [cut(word), Cow::Borrowed(space)]).collect())
}

/// Like [`message`], for an owned message.
#[must_use]
pub fn truncated(text: String) -> String {
    match message(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(short) => short,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncation_does_not_split_characters() {
        for shift in 0..4 {
            let text = format!("{}{}", &"abc"[..shift.min(3)], "🦭".repeat(1000));
            let short = name(&text);
            assert!(short.len() <= NAME_BYTES_MAX && short.contains(CUT), "{short}");
        }
    }

    #[test]
    fn names_up_to_the_limit_are_not_truncated() {
        let limit = "a".repeat(NAME_BYTES_MAX);
        assert_eq!(name(&limit), limit);
        let message_of_names = format!("{limit} and {limit}");
        assert_eq!(message(&message_of_names), message_of_names);
        assert_ne!(name(&format!("{limit}b")), format!("{limit}b"));
    }

    #[test]
    fn control_characters_are_shown_within_the_limit() {
        assert_eq!(name("a\x1b[2J\nb"), r"a\x1b[2J\nb");
        assert_eq!(message("a\x1b[2J\nb"), "a\\x1b[2J\nb");
        let long = name(&"\x1b".repeat(1000)).into_owned();
        assert!(long.len() <= NAME_BYTES_MAX && long.starts_with(r"\x1b"), "{long}");
    }
}
