//! Source texts, spans and lines.
//!
//! Every file and every macro expansion has a range of one 32-bit position space, so that a
//! [`Span`] is two words and needs no file. Invariants: a position belongs to exactly one text, and
//! the end of a text is a position of that text.

use selkie_isa::failure::{Failure, OrFailure as _};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use selkie_isa::input;

/// A range of source text. [`Sources`] resolves it to a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Span {
    /// Position of the first byte.
    pub start: u32,
    /// Position after the last byte.
    pub end: u32,
}

impl Span {
    /// Returns the span from the start of `self` to the end of `other`.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start, end: other.end.max(self.start) }
    }
}

/// A line and column in a file, both from 1; columns count characters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Location<'a> {
    /// Name of the file, or `<macro name>` for the text of an expansion.
    pub file: &'a str,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

/// The texts of an assembly: files and expansions.
#[derive(Debug, Default)]
pub struct Sources {
    texts: Vec<Text>,
}

#[derive(Debug)]
struct Text {
    name: String,
    base: u32,
    text: Arc<str>,
    lines: OnceLock<Vec<u32>>,
    origin: Option<Origin>,
}

/// The origin of an expanded text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    /// The call of the macro, or the head of the loop.
    pub(crate) call: Span,
    /// For loops: start and line count of the body, whose lines the lines of the text are
    /// attributed to. For macros `None`: the text is attributed to the line of the call.
    pub(crate) body: Option<(u32, u32)>,
}

/// Limit for all texts of an assembly together, expansions included.
const TEXT_BYTES_MAX: usize = 256 << 20;

impl Sources {
    /// Adds a text and returns its first position; `None` if the texts would exceed their limit.
    pub(crate) fn add(
        &mut self,
        name: String,
        text: Arc<str>,
        origin: Option<Origin>,
    ) -> Option<u32> {
        let base = self.texts.last().map_or(0, |last| last.base as usize + last.text.len() + 1);
        if base + text.len() > TEXT_BYTES_MAX {
            return None;
        }
        let base = u32::try_from(base).ok()?;
        self.texts.push(Text { name, base, text, lines: OnceLock::new(), origin });
        Some(base)
    }

    fn text_at(&self, position: u32) -> Option<&Text> {
        let after = self.texts.partition_point(|text| text.base <= position);
        self.texts.get(after.checked_sub(1)?)
    }

    /// Returns the name and text of the file that contains `span`.
    #[must_use]
    pub fn file(&self, span: Span) -> (&str, &str) {
        self.text_at(span.start).map_or(("", ""), |text| (&text.name, &text.text))
    }

    /// Returns the range of bytes in its file that `span` covers.
    #[must_use]
    pub fn range(&self, span: Span) -> core::ops::Range<usize> {
        let Some(text) = self.text_at(span.start) else { return 0..0 };
        let local =
            |position: u32| (position.saturating_sub(text.base) as usize).min(text.text.len());
        local(span.start)..local(span.end)
    }

    /// Returns the text of `span`.
    #[must_use]
    pub fn slice(&self, span: Span) -> &str {
        self.file(span).1.get(self.range(span)).unwrap_or_default()
    }

    /// Returns the file, line and column at which `span` starts.
    #[must_use]
    pub fn locate(&self, span: Span) -> Location<'_> {
        let Some(text) = self.text_at(span.start) else {
            return Location { file: "", line: 1, column: 1 };
        };
        let (line, column) = text.line_column(span.start);
        Location { file: &text.name, line, column }
    }

    /// Like [`Self::locate`], but always in a file: a span in the expansion of a macro is located
    /// at the call.
    #[must_use]
    pub fn locate_in_file(&self, span: Span) -> Location<'_> {
        let mut position = span.start;
        while let Some(text) = self.text_at(position)
            && let Some(origin) = text.origin
        {
            let Some((body, lines)) = origin.body else {
                position = origin.call.start;
                continue;
            };
            let (line, _) = text.line_column(position);
            position = self.text_at(body).map_or(origin.call.start, |outer| {
                outer.line_after(body, (line - 1) % lines.max(1))
            });
        }
        self.locate(Span { start: position, end: position })
    }

    /// Returns the calls whose expansion contains `span`, the innermost first.
    #[must_use]
    pub fn expansions(&self, span: Span) -> Vec<Span> {
        let mut calls = Vec::new();
        let mut position = span.start;
        while let Some(origin) = self.text_at(position).and_then(|text| text.origin) {
            calls.push(origin.call);
            position = origin.call.start;
        }
        calls
    }
}

impl Text {
    fn lines(&self) -> &[u32] {
        self.lines.get_or_init(|| {
            let newlines = self.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
            core::iter::once(self.base)
                .chain(newlines.map(|(at, _)| self.base + position(at) + 1))
                .collect()
        })
    }

    fn line_column(&self, at: u32) -> (u32, u32) {
        let line = self.lines().partition_point(|start| *start <= at).max(1);
        (position(line), self.column(line - 1, at))
    }

    fn column(&self, line: usize, at: u32) -> u32 {
        let start = (self.lines()[line] - self.base) as usize;
        let end = ((at - self.base) as usize).min(self.text.len());
        let bytes = self.text.as_bytes().get(start..end).unwrap_or_default();
        let characters = bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
        position(characters) + 1
    }

    /// Returns the start of the line `count` lines below the line of `at`.
    fn line_after(&self, at: u32, count: u32) -> u32 {
        let line = self.lines().partition_point(|start| *start <= at).max(1) - 1;
        let wanted = (line + count as usize).min(self.lines().len() - 1);
        self.lines()[wanted]
    }
}

/// Converts a position to 32 bits, which [`TEXT_BYTES_MAX`] guarantees to fit.
pub(crate) fn position(at: usize) -> u32 {
    u32::try_from(at).expect("`Sources::add` keeps texts below 4 GiB")
}

/// Reads the files of `.include` and `.incbin`.
pub trait Files {
    /// Returns the bytes of the file at `path`.
    ///
    /// # Errors
    /// If the file does not exist or cannot be read: the reason, as text for a diagnostic.
    fn read(&self, path: &Path) -> Result<Vec<u8>, Failure>;
}

/// Access to no files: `.include` and `.incbin` fail.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &Path) -> Result<Vec<u8>, Failure> {
        Err("no files can be read here".into())
    }
}

/// Access to the file system. Refuses files that are too large for a source, and all but regular
/// files ([`selkie_isa::input`]).
#[derive(Clone, Copy, Debug, Default)]
pub struct DiskFiles;

impl Files for DiskFiles {
    fn read(&self, path: &Path) -> Result<Vec<u8>, Failure> {
        input::read(path, TEXT_BYTES_MAX as u64).or_failure()
    }
}

/// Returns the paths at which to look for the file `name` that the file `from` includes: in the
/// folder of `from`, then in `include_paths`.
pub(crate) fn candidate_paths(name: &str, from: &str, include_paths: &[PathBuf]) -> Vec<PathBuf> {
    let beside = Path::new(from).parent().unwrap_or(Path::new("")).join(name);
    core::iter::once(beside).chain(include_paths.iter().map(|path| path.join(name))).collect()
}

/// The source line of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line {
    /// The slot of the instruction.
    pub pc: u32,
    /// The file, as an index into [`Assembly::files`](crate::Assembly::files).
    pub file: u32,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

/// The last line looked up, since the next statement is usually near.
#[derive(Clone, Copy, Default)]
struct LastLine {
    text: usize,
    /// Index into the lines of the text.
    line: usize,
    file: u32,
}

impl Sources {
    /// Returns the line table of statements, given in the order of their slots, and the names of
    /// its files.
    pub(crate) fn lines(&self, spans: &[(u32, Span)]) -> (Vec<Line>, Vec<String>) {
        let mut files: Vec<String> = Vec::new();
        let mut lines: Vec<Line> = Vec::with_capacity(spans.len());
        let mut last: Option<LastLine> = None;
        for &(pc, span) in spans {
            let next = last.and_then(|last| self.advance(last, span.start));
            let (line, column) = next.unwrap_or_else(|| self.find_line(span, &mut files));
            last = Some(line);
            lines.push(Line { pc, file: line.file, line: position(line.line + 1), column });
        }
        lines.sort_by_key(|line| line.pc);
        (lines, files)
    }

    fn find_line(&self, span: Span, files: &mut Vec<String>) -> (LastLine, u32) {
        let Location { file, line, column } = self.locate_in_file(span);
        let index = files.iter().position(|known| known == file).unwrap_or_else(|| {
            files.push(file.to_owned());
            files.len() - 1
        });
        let text = self.texts.partition_point(|text| text.base <= span.start).saturating_sub(1);
        (LastLine { text, line: line as usize - 1, file: position(index) }, column)
    }

    /// Returns the line and column of `at` if it is in the same file as `last`, on the same line or
    /// a few lines below.
    fn advance(&self, last: LastLine, at: u32) -> Option<(LastLine, u32)> {
        const FAR: usize = 16;
        let text = self.texts.get(last.text).filter(|text| text.origin.is_none())?;
        let end = text.base + position(text.text.len());
        let starts = text.lines().get(last.line..)?;
        if at > end || at < *starts.first()? {
            return None;
        }
        let next = starts.iter().take(FAR).position(|start| *start > at);
        let line = match next {
            Some(next) => last.line + next - 1,
            None if starts.len() < FAR => last.line + starts.len() - 1,
            None => return None,
        };
        Some((LastLine { line, ..last }, text.column(line, at)))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn devices_and_folders_are_refused() {
        for (path, error) in [("/dev/zero", "not a regular file"), ("/", "is a directory")] {
            assert_eq!(DiskFiles.read(Path::new(path)).unwrap_err().to_string(), error);
        }
    }
}
