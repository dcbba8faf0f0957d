//! Positions in texts: as lines and columns, and as byte offsets.

use lsp_types::{Position, PositionEncodingKind, Range};

/// The unit of columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Encoding {
    Utf8,
    #[default]
    Utf16,
    Utf32,
}

impl Encoding {
    /// Chooses one of the encodings that a client offers. All clients support UTF-16.
    pub(crate) fn negotiate(offered: &[PositionEncodingKind]) -> Self {
        if offered.contains(&PositionEncodingKind::UTF8) {
            Self::Utf8
        } else if offered.contains(&PositionEncodingKind::UTF32)
            && !offered.contains(&PositionEncodingKind::UTF16)
        {
            Self::Utf32
        } else {
            Self::Utf16
        }
    }

    pub(crate) fn kind(self) -> PositionEncodingKind {
        match self {
            Self::Utf8 => PositionEncodingKind::UTF8,
            Self::Utf16 => PositionEncodingKind::UTF16,
            Self::Utf32 => PositionEncodingKind::UTF32,
        }
    }

    fn length(self, character: char) -> usize {
        match self {
            Self::Utf8 => character.len_utf8(),
            Self::Utf16 => character.len_utf16(),
            Self::Utf32 => 1,
        }
    }
}

/// The offsets at which the lines of a text start.
#[derive(Debug)]
pub(crate) struct Lines {
    starts: Vec<usize>,
    encoding: Encoding,
}

impl Lines {
    /// Finds the lines of a text. A line ends with `\n`, `\r\n` or `\r`, as the protocol requires.
    pub(crate) fn new(text: &str, encoding: Encoding) -> Self {
        let bytes = text.as_bytes();
        let ends = |at: &usize| match bytes[*at] {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        };
        let starts = (0..bytes.len()).filter(ends).map(|at| at + 1);
        Self { starts: core::iter::once(0).chain(starts).collect(), encoding }
    }

    pub(crate) fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Returns the offset of a position, or that of the nearest character.
    pub(crate) fn offset(&self, text: &str, position: Position) -> usize {
        let line = position.line as usize;
        let Some(&start) = self.starts.get(line) else { return text.len() };
        let end = self.starts.get(line + 1).copied().unwrap_or(text.len());
        let content = text[start..end].trim_end_matches(['\r', '\n']);
        let mut left = position.character as usize;
        for (at, character) in content.char_indices() {
            let length = self.encoding.length(character);
            if left < length {
                return start + at;
            }
            left -= length;
        }
        start + content.len()
    }

    /// Returns the position of an offset, which must be at the start of a character.
    pub(crate) fn position(&self, text: &str, offset: usize) -> Position {
        let line = self.starts.partition_point(|start| *start <= offset).saturating_sub(1);
        let before = text.get(self.starts[line]..offset).unwrap_or_default();
        let column: usize = match self.encoding {
            Encoding::Utf8 => before.len(),
            encoding => before.chars().map(|it| encoding.length(it)).sum(),
        };
        let narrow = |it: usize| u32::try_from(it).unwrap_or(u32::MAX);
        Position { line: narrow(line), character: narrow(column) }
    }

    pub(crate) fn range(&self, text: &str, range: core::ops::Range<usize>) -> Range {
        Range { start: self.position(text, range.start), end: self.position(text, range.end) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn columns_are_counted_in_the_negotiated_encoding() {
        let text = "a\u{e4}\u{1f980}b\r\nc";
        let check = |encoding, columns: [u32; 4]| {
            let lines = Lines::new(text, encoding);
            for ((offset, _), character) in text.char_indices().zip(columns) {
                let position = Position { line: 0, character };
                assert_eq!(lines.position(text, offset), position);
                assert_eq!(lines.offset(text, position), offset);
            }
            assert_eq!(lines.offset(text, Position { line: 1, character: 9 }), text.len());
        };
        check(Encoding::Utf8, [0, 1, 3, 7]);
        check(Encoding::Utf16, [0, 1, 2, 4]);
        check(Encoding::Utf32, [0, 1, 2, 3]);
    }

    proptest! {
        #[test]
        fn offsets_of_positions_round_trip(text in "(\\PC|[\r\n]){0,40}", line: u32, character in 0..50_u32) {
            for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
                let lines = Lines::new(&text, encoding);
                let near = Position { line: line % 9, character };
                let offset = lines.offset(&text, near);
                prop_assert!(text.is_char_boundary(offset));
                prop_assert_eq!(lines.offset(&text, lines.position(&text, offset)), offset);
            }
        }
    }
}
