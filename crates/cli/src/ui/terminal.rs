//! The writer of both outputs: control characters reach a terminal as escapes.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use anstream::{
    AutoStream, ColorChoice,
    stream::{AsLockedWrite, RawStream},
};
use selkie_isa::plain;

/// The colours and weights of our own text, and those of diagnostics, as parameters of `ESC [ … m`.
const STYLES: &[&str] = &["", "0", "1", "2", "4"];
const COLOURS: [core::ops::RangeInclusive<u8>; 2] = [31..=36, 91..=96];

/// An output. What is written to it has no other control characters than line breaks, tabs and the
/// styles of our own text, unless raw text is asked for.
pub(crate) struct Terminal<S: RawStream> {
    stream: AutoStream<S>,
    pub(super) is_raw: bool,
}

impl<S: RawStream> Terminal<S> {
    pub(super) fn new(stream: S, choice: ColorChoice) -> Self {
        Self { stream: AutoStream::new(stream, choice), is_raw: false }
    }
}

impl<S> Write for Terminal<S>
where
    S: RawStream + AsLockedWrite,
    for<'a> &'a S: Write,
{
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        // Each part of a format comes alone, so that our styles can be told from other text.
        match self.is_raw && !text.strip_prefix("\x1b[").is_some_and(is_style_alone) {
            true => self.stream.as_inner().write_all(bytes)?,
            false => self.stream.write_all(shown(&text).as_bytes())?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Returns a text without control characters, but for our styles.
fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains('\x1b') {
        return plain::lines(text);
    }
    let mut parts = text.split("\x1b[");
    let mut shown = plain::lines(parts.next().unwrap_or_default()).into_owned();
    for part in parts {
        match part.split_once('m').filter(|(parameter, _)| is_style(parameter)) {
            Some((parameter, rest)) => {
                shown.extend(["\x1b[", parameter, "m"]);
                shown += &plain::lines(rest);
            }
            None => {
                shown += "\\x1b[";
                shown += &plain::lines(part);
            }
        }
    }
    Cow::Owned(shown)
}

/// Whether this is what follows `ESC [` in one of our styles, with nothing after it.
fn is_style_alone(text: &str) -> bool {
    text.strip_suffix('m').is_some_and(is_style)
}

/// Whether this is a style of ours: a weight, a colour, or as in diagnostics both.
fn is_style(parameters: &str) -> bool {
    let is_colour = |it: u8| COLOURS.iter().any(|range| range.contains(&it));
    let is_known =
        |it: &str| STYLES.contains(&it) || it.len() == 2 && it.parse().is_ok_and(is_colour);
    parameters.split(';').all(is_known)
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn our_styles_are_kept() {
        // Diagnostics of the assembler have weight and colour in one.
        let ours = "\x1b[1m\x1b[31merror\x1b[0m: a\n\tb\x1b[0m\x1b[1;33mwarning\x1b[0m";
        assert_eq!(shown(ours), ours);
        let diagnostic = "\x1b[1;31merror\x1b[0m: it\n\x1b[1;34m -->\x1b[0m a.s:1:1";
        assert_eq!(shown(diagnostic), diagnostic);
    }

    #[test]
    fn other_control_characters_are_shown() {
        assert_eq!(shown("\x1b]0;t\x07\x1b[2J\x1b[8mx\r"), r"\x1b]0;t\x07\x1b[2J\x1b[8mx\r");
        assert_eq!(shown("\x1b[1m\x1b[1;1H\u{9b}m"), "\x1b[1m\\x1b[1;1H\\u009bm");
    }
}
