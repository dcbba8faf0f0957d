//! Text of others on a terminal: what programs, files and servers say must not steer it.
//!
//! Logs, names of debug information and errors of servers may have control characters, which move the
//! cursor, set the title or hide text, and line breaks, which make lines that look like ours. All code
//! that shows such text shows these characters as escapes.

use core::fmt::Write as _;
use std::borrow::Cow;

/// Returns a text as one line: control characters and line breaks are shown as escapes.
///
/// ```
/// use selkie_isa::plain::line;
/// assert_eq!(line("Program log: 🦭"), "Program log: 🦭");
/// assert_eq!(line("\x1b]0;title\x07\nProgram success"), r"\x1b]0;title\x07\nProgram success");
/// assert_eq!(line("\u{202e}\u{9b}2J"), r"\u202e\u009b2J");
/// ```
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    escape(text, is_unsafe)
}

/// Like [`line()`], but line breaks are kept: for texts that several lines of ours are part of.
#[must_use]
pub fn lines(text: &str) -> Cow<'_, str> {
    escape(text, |it| it != '\n' && is_unsafe(it))
}

/// Whether a terminal would do something else than draw a character. Marks that change the direction
/// of text make it read as another one.
fn is_unsafe(it: char) -> bool {
    it != '\t' && it.is_control()
        || matches!(it, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{061c}' | '\u{feff}')
}

fn escape(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for it in text.chars() {
        // Those beyond ASCII are as in JSON, so that its texts stay what they are.
        let _ = match it {
            _ if !is_escaped(it) => escaped.write_char(it),
            '\n' => escaped.write_str("\\n"),
            '\r' => escaped.write_str("\\r"),
            it if u32::from(it) < 0x7f => write!(escaped, "\\x{:02x}", u32::from(it)),
            it => write!(escaped, "\\u{:04x}", u32::from(it)),
        };
    }
    Cow::Owned(escaped)
}
