//! What transactions use of programs, for the explorer: compute units by function, and covered lines.

use std::{collections::BTreeMap, path::Path};

use selkie::Pubkey;
use selkie_inspect::is_source_file;
use selkie_isa::input;
use selkie_replay::Timeline;
use serde_json::{Value, json};

use crate::{
    Coverage, Profile,
    coverage::{Share, SourceFile},
    explain::{SOURCE_BYTES_MAX, debug_files},
    profile::table::{Libraries, Row, Tables},
    symbolize::Programs,
};

/// The functions of an answer, and the lines of a file.
const FUNCTIONS_MAX: usize = 500;
const LINES_MAX: usize = 20_000;
/// The files of an answer.
const FILES_MAX: usize = 200;
/// The longest line of source that is shown.
const LINE_CHARS_MAX: usize = 300;

/// What transactions use, added up.
#[derive(Debug)]
pub struct Usage {
    programs: Programs,
    profile: Profile,
    coverage: Coverage,
}

impl Default for Usage {
    fn default() -> Self {
        let programs = Programs::new(debug_files());
        Self { programs, profile: Profile::default(), coverage: Coverage::default() }
    }
}

impl Usage {
    /// Adds a transaction.
    pub fn add(&mut self, timeline: &Timeline) {
        self.profile.add(timeline, &mut self.programs);
        self.coverage.add(timeline, &mut self.programs);
    }

    /// Returns functions with their compute units and own files with the lines that were executed: of one program,
    /// or of all.
    #[must_use]
    pub fn to_json(mut self, program: Option<&Pubkey>) -> Value {
        let name = program.map(|id| self.programs.name(id));
        let is_wanted = |row: &&Row| name.as_ref().is_none_or(|name| row.program == *name);
        let tables = Tables::of(&self.profile, Libraries::Expanded);
        let functions = tables.functions.iter().filter(is_wanted).take(FUNCTIONS_MAX).map(|it| {
            json!({ "calls": it.calls, "isOwn": it.is_own, "name": it.name, "own": it.own, "total": it.total })
        });
        let functions: Vec<Value> = functions.collect();
        let files =
            self.coverage.files_of(&mut self.programs, |id| program.is_none_or(|it| it == id));
        let own = files.iter().filter(|(_, it)| it.is_own).take(FILES_MAX);
        // A program names its files itself: those of one without a debug file that was built here are not read.
        let is_built =
            |id: &Pubkey| self.programs.get(id).is_some_and(|it| it.view.debug_file.is_some());
        let is_read = program.is_none_or(is_built);
        json!({
            "files": own.map(|(path, it)| file(path, it, is_read)).collect::<Vec<_>>(),
            "functions": functions,
            "transactions": self.coverage.transactions,
            "units": self.profile.units,
        })
    }
}

fn file(path: &str, file: &SourceFile, is_read: bool) -> Value {
    let share = |it: Share| json!([it.hit, it.found]);
    let is_partial = |line: &u32| {
        let branches = file.branches.get(line).map(Vec::as_slice).unwrap_or_default();
        branches.iter().any(|it| (it.taken == 0) != (it.not_taken == 0))
    };
    let hits: BTreeMap<&u32, &u64> = file.lines.iter().take(LINES_MAX).collect();
    let place = Path::new(path);
    let text =
        (is_read && is_source_file(place)).then(|| input::text(place, SOURCE_BYTES_MAX).ok());
    let lines = text.flatten().map(|text| {
        let lines = text.lines().take(LINES_MAX);
        lines.map(|it| it.chars().take(LINE_CHARS_MAX).collect()).collect::<Vec<String>>()
    });
    json!({
        "branches": share(file.branch_share()),
        "functions": share(file.function_share()),
        "hits": hits.iter().map(|(line, hits)| json!([line, hits])).collect::<Vec<_>>(),
        "lines": share(file.line_share()),
        "partial": hits.keys().filter(|it| is_partial(it)).collect::<Vec<_>>(),
        "path": path,
        "text": lines,
    })
}
