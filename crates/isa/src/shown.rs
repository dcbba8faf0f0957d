//! Names as people are shown them.
//!
//! Files and sources may hold names of megabytes. Whatever shows a name, alone or in a sentence,
//! cuts it here.

use std::borrow::Cow;

/// Bytes of a name that are shown.
pub const NAME_SHOWN_BYTES_MAX: usize = 256;
/// How many of them are from the end of a name, where compilers put what tells it from others.
const TAIL_BYTES: usize = 96;
/// Stands for what is left out.
const CUT: &str = "…";

/// A name, without its middle if it is longer than [`NAME_SHOWN_BYTES_MAX`].
///
/// ```
/// use selkie_isa::shown::name;
/// assert_eq!(name("entrypoint"), "entrypoint");
/// let long = format!("first{}last", "a".repeat(1 << 20));
/// let short = name(&long);
/// assert!(short.len() <= 256 && short.starts_with("firsta") && short.ends_with("alast"));
/// ```
#[must_use]
pub fn name(text: &str) -> Cow<'_, str> {
    if text.len() <= NAME_SHOWN_BYTES_MAX {
        return Cow::Borrowed(text);
    }
    let head = text.floor_char_boundary(NAME_SHOWN_BYTES_MAX - TAIL_BYTES - CUT.len());
    let tail = text.ceil_char_boundary(text.len() - TAIL_BYTES);
    let (head, _) = text.split_at(head);
    let (_, tail) = text.split_at(tail);
    Cow::Owned([head, CUT, tail].concat())
}

/// A sentence, in which names that are too long are cut.
///
/// ```
/// use selkie_isa::shown::sentence;
/// let long = format!("`{}` is not defined", "a".repeat(1 << 20));
/// let short = sentence(&long);
/// assert!(short.len() < 300 && short.ends_with("aaa` is not defined"));
/// ```
#[must_use]
pub fn sentence(text: &str) -> Cow<'_, str> {
    if text.len() <= NAME_SHOWN_BYTES_MAX {
        return Cow::Borrowed(text);
    }
    let words = text.split_inclusive(char::is_whitespace);
    let words = words.map(|word| word.split_at(word.trim_end().len()));
    if words.clone().all(|(word, _)| word.len() <= NAME_SHOWN_BYTES_MAX) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(words.flat_map(|(word, space)| [name(word), Cow::Borrowed(space)]).collect())
}

/// The same of a sentence that is kept.
#[must_use]
pub fn shorten(text: String) -> String {
    match sentence(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(short) => short,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_stay_whole() {
        for shift in 0..4 {
            let text = format!("{}{}", &"abc"[..shift.min(3)], "🦭".repeat(1000));
            let short = name(&text);
            assert!(short.len() <= NAME_SHOWN_BYTES_MAX && short.contains(CUT), "{short}");
        }
    }

    #[test]
    fn what_is_short_enough_stays() {
        let limit = "a".repeat(NAME_SHOWN_BYTES_MAX);
        assert_eq!(name(&limit), limit);
        let sentence_of_names = format!("{limit} and {limit}");
        assert_eq!(sentence(&sentence_of_names), sentence_of_names);
        assert_ne!(name(&format!("{limit}b")), format!("{limit}b"));
    }
}
