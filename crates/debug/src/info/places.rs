//! Where breakpoints are: the instructions at which lines and functions begin.

use std::collections::BTreeSet;

use gimli::{DW_TAG_inlined_subroutine, DW_TAG_subprogram};

use super::{DebugInfo, EntryId, lines::FileId, ranges::Budget};

/// The instructions at which a line begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinePlaces {
    /// The path of the file as the compiler recorded it.
    pub file: String,
    /// The line: the one that was asked for, or the next one that has instructions.
    pub line: u32,
    /// The slots, one for each copy of the line: in each inlined call, in each part of a loop.
    pub pcs: Vec<u32>,
    /// How many parts of the path, from its end, are the file's.
    pub common: usize,
}

/// Paths of the machine that compiled, and the folders here that have the same files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PathMap {
    /// Recorded prefixes, and what stands for them.
    pub rules: Vec<(String, String)>,
}

impl PathMap {
    /// Returns the path here of a file that the compiler recorded.
    #[must_use]
    pub fn local(&self, recorded: &str) -> String {
        let moved = self.rules.iter().find_map(|(from, to)| replace(recorded, from, to));
        moved.unwrap_or_else(|| recorded.to_owned())
    }

    /// Returns the path that the compiler recorded for a file here.
    #[must_use]
    pub fn recorded(&self, local: &str) -> String {
        let moved = self.rules.iter().find_map(|(from, to)| replace(local, to, from));
        moved.unwrap_or_else(|| local.to_owned())
    }
}

/// Replaces a prefix of whole folders.
fn replace(path: &str, from: &str, to: &str) -> Option<String> {
    let rest = path.strip_prefix(from.trim_end_matches('/'))?;
    let is_whole = rest.is_empty() || rest.starts_with(['/', '\\']);
    is_whole.then(|| format!("{}{rest}", to.trim_end_matches('/')))
}

impl DebugInfo {
    /// Returns the instructions at which a line begins. The file is the one with the most folders, from
    /// the name backwards, in common with the path. If no instruction belongs to the line, the next
    /// line that has one is taken.
    #[must_use]
    pub fn line_places(&self, path: &str, line: u32) -> Option<LinePlaces> {
        let (common, files) = self.files_like(path);
        let lines = files.iter().flat_map(|&file| self.lines.line_starts(file).map(|it| it.line));
        let found = lines.filter(|&it| it >= line).min()?;
        let file = files.first().and_then(|&file| self.lines.path(file))?.to_owned();
        let rows = files.iter().flat_map(|&file| self.lines.line_starts(file));
        let addresses = rows.filter(|it| it.line == found).map(|it| it.address);
        let pcs: BTreeSet<u32> = addresses.filter_map(|it| self.slot(it)).collect();
        Some(LinePlaces { file, line: found, pcs: pcs.into_iter().collect(), common })
    }

    /// Returns the lines of a file that have instructions.
    #[must_use]
    pub fn lines_of(&self, path: &str) -> BTreeSet<u32> {
        let (_, files) = self.files_like(path);
        files.iter().flat_map(|&file| self.lines.line_starts(file).map(|it| it.line)).collect()
    }

    /// Returns the files that a path may mean, and how many parts they have in common with it from the
    /// end: those with most of them, and with one at least. The user's own come before libraries'.
    fn files_like(&self, path: &str) -> (usize, Vec<FileId>) {
        let common = |file: &str| parts(file).zip(parts(path)).take_while(|(a, b)| a == b).count();
        let scored =
            self.lines.files().map(|(id, file)| ((common(file), self.own.contains(file)), id));
        let scored: Vec<_> = scored.filter(|((common, _), _)| *common > 0).collect();
        let best = scored.iter().map(|it| it.0).max().unwrap_or_default();
        (best.0, scored.iter().filter(|it| it.0 == best).map(|it| it.1).collect())
    }

    /// Returns the slots at which functions of this name begin, those of inlined copies included. The
    /// name may leave out modules and type parameters: `process` is `counter::process`.
    #[must_use]
    pub fn function_places(&self, name: &str) -> Vec<u32> {
        let is_named = |id: &EntryId| {
            let function = self.entry(*id).and_then(|it| it.function_name());
            function.is_some_and(|it| is_called(&it, name))
        };
        let mut budget = Budget::default();
        let entries = self.tree.all(&[DW_TAG_subprogram, DW_TAG_inlined_subroutine]);
        let starts = entries.filter(is_named).filter_map(|id| {
            let start = self.ranges(id, &mut budget).map(|(start, _)| start).min()?;
            self.slot(start)
        });
        let mut pcs: BTreeSet<u32> = starts.collect();
        let symbols = self.symbols().filter(|(_, symbol)| is_called(symbol, name));
        pcs.extend(symbols.map(|(pc, _)| pc));
        pcs.into_iter().collect()
    }

    /// Returns the names of the functions that were not inlined.
    pub fn function_names(&self) -> impl Iterator<Item = String> {
        let entries = self.functions.starts().filter_map(|(_, id)| self.entry(id)?.function_name());
        entries.chain(self.symbols().map(|(_, name)| name))
    }
}

/// Returns the parts of a path from its last one.
fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.rsplit(['/', '\\']).filter(|it| !it.is_empty() && *it != ".")
}

/// Returns whether a function has a name, which may leave out modules and parameters.
pub(crate) fn is_called(function: &str, name: &str) -> bool {
    let Some(rest) = without_parameters(function).strip_suffix(without_parameters(name)) else {
        return false;
    };
    rest.is_empty() || rest.ends_with("::")
}

/// Cuts the type parameters from a path, and the arguments that demanglers write for C++.
fn without_parameters(name: &str) -> &str {
    let end = name.find(['<', '(']).filter(|&it| it > 0).unwrap_or(name.len());
    name[..end].trim_end_matches("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_leave_out_modules_and_parameters() {
        assert!(is_called("counter::process", "process"));
        assert!(is_called("counter::process", "counter::process"));
        assert!(is_called("core::mem::swap::<u64>", "swap"));
        assert!(is_called("add(int, int)", "add"));
        assert!(!is_called("counter::preprocess", "process"));
    }

    #[test]
    fn paths_are_replaced_by_whole_folders() {
        let rules = vec![("/rustc/abc".to_owned(), "/usr/src/rust/".to_owned())];
        let map = PathMap { rules };
        assert_eq!(map.local("/rustc/abc/library/core/a.rs"), "/usr/src/rust/library/core/a.rs");
        assert_eq!(map.local("/rustc/abcd/a.rs"), "/rustc/abcd/a.rs");
        assert_eq!(map.recorded("/usr/src/rust/library/a.rs"), "/rustc/abc/library/a.rs");
    }
}
