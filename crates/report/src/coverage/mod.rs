//! Coverage: which lines, functions and branches of programs were executed.
//!
//! A line counts once each time that control comes to it from another line, or back to it by a jump:
//! not once for each of its instructions. Lines of inlined functions count, and so do the lines that
//! they were inlined at.

mod collect;
pub mod format;
mod html;
mod lines;

use std::{collections::BTreeMap, rc::Rc};

use selkie::Pubkey;
use selkie_replay::Timeline;

use self::collect::{Collector, Executed};
use crate::symbolize::{Programs, Version};

/// The source files of a report, by path.
pub type Files = BTreeMap<Rc<str>, SourceFile>;

/// Returns the lines of a source file, if it is there.
pub type ReadSource<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What was executed of a source file.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SourceFile {
    /// Whether it is the user's own rather than a library's: in one of the programs, if it is in several.
    pub is_own: bool,
    /// How often control came to each line that has instructions.
    pub lines: BTreeMap<u32, u64>,
    /// The functions that have instructions in the file.
    pub functions: BTreeMap<Rc<str>, FunctionCoverage>,
    /// The conditional jumps of each line, in the order of their slots.
    pub branches: BTreeMap<u32, Vec<Branch>>,
}

/// What was executed of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FunctionCoverage {
    /// The first line that has instructions.
    pub line: u32,
    /// How often it was called, or if it is inlined, how often its most frequent line was reached.
    pub calls: u64,
}

/// How often a conditional jump was taken, and how often not.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Branch {
    /// How often control went on behind it.
    pub not_taken: u64,
    /// How often it jumped.
    pub taken: u64,
}

/// The share of something that was executed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Share {
    /// How many were executed.
    pub hit: u64,
    /// How many there are.
    pub found: u64,
}

/// The coverage of programs by transactions.
#[derive(Default, Debug)]
pub struct Coverage {
    executed: BTreeMap<Version, Executed>,
    /// How many transactions were added.
    pub transactions: u64,
}

impl Coverage {
    /// Adds a transaction. Its programs are added to `programs` if they are not there.
    pub fn add(&mut self, timeline: &Timeline, programs: &mut Programs) {
        programs.add(timeline);
        let mut collector = Collector::new(&mut self.executed, programs);
        timeline.visit(&mut collector);
        self.transactions += 1;
    }

    /// Returns the source files of all programs with lines, by path. Files are told apart by their
    /// paths alone, so programs that share a library share its lines.
    #[must_use]
    pub fn files(&self, programs: &mut Programs) -> Files {
        self.files_of(programs, |_| true)
    }

    /// Returns the source files of the programs that are wanted, as [`Coverage::files`] does.
    pub fn files_of(&self, programs: &mut Programs, is_wanted: impl Fn(&Pubkey) -> bool) -> Files {
        let mut files = BTreeMap::new();
        for (id, symbols) in programs.iter_mut().filter(|((id, _), _)| is_wanted(id)) {
            if let Some(executed) = self.executed.get(&id) {
                lines::add(&mut files, symbols, executed);
            }
        }
        files
    }

    /// Returns the programs whose instructions have no lines: they are not covered by a report.
    #[must_use]
    pub fn without_lines(&self, programs: &mut Programs) -> Vec<Version> {
        let found = programs.iter_mut().filter_map(|(id, symbols)| {
            let mut slots = self.executed.get(&id)?.slots();
            (!slots.any(|pc| symbols.line_at(pc).is_some())).then_some(id)
        });
        found.collect()
    }
}

impl SourceFile {
    /// Returns the share of lines.
    #[must_use]
    pub fn line_share(&self) -> Share {
        Share::of(self.lines.values().copied())
    }

    /// Returns the share of functions.
    #[must_use]
    pub fn function_share(&self) -> Share {
        Share::of(self.functions.values().map(|it| it.calls))
    }

    /// Returns the share of the sides of branches.
    #[must_use]
    pub fn branch_share(&self) -> Share {
        let sides = self.branches.values().flatten().flat_map(|it| [it.not_taken, it.taken]);
        Share::of(sides)
    }
}

impl Share {
    fn of(counts: impl Iterator<Item = u64>) -> Self {
        counts.fold(Self::default(), |Self { hit, found }, count| Self {
            hit: hit + u64::from(count > 0),
            found: found + 1,
        })
    }

    /// Returns the sum of two shares.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { hit: self.hit + other.hit, found: self.found + other.found }
    }
}

/// Adds up the shares of lines, functions and sides of branches.
#[must_use]
pub fn shares(files: &Files) -> [Share; 3] {
    files.values().fold([Share::default(); 3], |[lines, functions, branches], file| {
        [
            lines.plus(file.line_share()),
            functions.plus(file.function_share()),
            branches.plus(file.branch_share()),
        ]
    })
}
