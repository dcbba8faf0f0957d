//! Sources: their texts, lines, tokens and names.

use core::ops::Range;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    rc::Rc,
};

use lsp_types::{Location, Position, Uri};
use selkie_asm::syntax::{File, Line, Token};

use crate::{
    index::{Index, Key, Occurrence},
    text::{Encoding, Lines},
    uri,
};

/// A source: its text, lines, tokens and names.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) uri: Uri,
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    pub(crate) lines: Lines,
    pub(crate) index: Index,
}

impl Source {
    pub(crate) fn new(uri: Uri, text: &str, encoding: Encoding) -> Self {
        let file = File::read(text);
        let (lines, index) = (Lines::new(text, encoding), Index::new(&file));
        Self { path: uri::path(&uri), uri, file, lines, index }
    }

    pub(crate) fn text(&self) -> &str {
        self.file.text()
    }

    pub(crate) fn offset(&self, position: Position) -> usize {
        self.lines.offset(self.text(), position)
    }

    pub(crate) fn range(&self, range: Range<usize>) -> lsp_types::Range {
        self.lines.range(self.text(), range)
    }

    pub(crate) fn location(&self, range: Range<usize>) -> Location {
        Location { uri: self.uri.clone(), range: self.range(range) }
    }

    /// Returns the line at an offset.
    pub(crate) fn line_at(&self, offset: usize) -> &Line {
        &self.file.lines()[self.file.line_at(offset)]
    }

    /// Returns the token at an offset, or the one that ends there, and its line.
    pub(crate) fn token_at(&self, offset: usize) -> Option<(&Line, Token)> {
        let line = self.line_at(offset);
        let tokens =
            self.file.labels(line).chain(self.file.word(line)).chain(self.file.operands(line));
        let near = tokens.filter(|it| it.range.start <= offset && offset <= it.range.end);
        Some((line, near.last()?))
    }

    /// Returns the text of the comment directly above a line.
    pub(crate) fn comment_above(&self, line: usize) -> String {
        let comment = |line: &Line| {
            let text = self.text()[line.range.clone()].trim();
            let marks = [";", "#", "//"];
            let rest = marks.iter().find_map(|mark| text.strip_prefix(mark))?;
            Some(rest.trim_start_matches([';', '#', '/']).trim_end())
        };
        let above = self.file.lines()[..line].iter().rev();
        // A directive for the name, such as `.globl`, may be in between.
        let is_directive = |it: &&Line| {
            let text = self.text()[it.range.clone()].trim_start();
            [".globl", ".type", ".weak", ".hidden"].iter().any(|name| text.starts_with(name))
        };
        let mut lines: Vec<&str> = above.skip_while(is_directive).map_while(comment).collect();
        lines.reverse();
        lines.iter().map(|it| it.strip_prefix(' ').unwrap_or(it)).collect::<Vec<_>>().join("\n")
    }
}

/// Returns every occurrence of `key` in `unit`; `home` is the source that the key is from.
pub(crate) fn occurrences<'a>(
    unit: &'a [Rc<Source>],
    home: &'a Source,
    key: &'a Key,
) -> impl Iterator<Item = (&'a Source, &'a Occurrence)> {
    let sources = unit.iter().filter(move |it| key.is_shared() || it.uri == home.uri);
    sources.flat_map(move |source| {
        let found = source.index.occurrences.iter().filter(move |it| it.key == *key);
        found.map(move |it| (&**source, it))
    })
}

/// Returns the names that are defined in `unit`, each with its first definition.
pub(crate) fn defined(unit: &[Rc<Source>]) -> BTreeMap<&Key, (&Source, &Occurrence)> {
    let mut found = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for source in unit {
        for it in source.index.definitions().filter(|it| it.key.is_shared()) {
            if seen.insert(&it.key) {
                found.insert(&it.key, (&**source, it));
            }
        }
    }
    found
}
