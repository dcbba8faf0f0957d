//! Profiles as tables: by program, function, syscall and line.

use std::collections::{BTreeMap, BTreeSet};

use selkie_inspect::item_name;
use serde_json::{Value, json};

use super::{FrameKind, Profile};
use crate::symbolize::Line;

/// Rows of libraries that take less than this part of all compute units are folded: one in a hundred.
const FOLDED_BELOW: u64 = 100;

/// A row of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The name of the program, function or syscall, or the line.
    pub name: String,
    /// The program that it belongs to; empty for programs and lines.
    pub program: String,
    /// The compute units of its own.
    pub own: u64,
    /// The compute units with everything that it calls; recursive calls count once.
    pub total: u64,
    /// How often it was called; 0 if that is not known.
    pub calls: u64,
    /// Whether it is the user's own function, line or package.
    pub is_own: bool,
}

/// How libraries are shown.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Libraries {
    /// Their units are those of the own functions and lines that have called them.
    #[default]
    RolledUp,
    /// As functions and lines of their own.
    Expanded,
}

/// The tables of a profile, each with the user's own rows first, and then sorted by the compute units of
/// the rows, most first.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Tables {
    /// Programs, with the units of their own functions and syscalls.
    pub programs: Vec<Row>,
    /// Packages, by the files of instructions.
    pub packages: Vec<Row>,
    /// Functions, inlined ones among them.
    pub functions: Vec<Row>,
    /// Syscalls, without what a CPI's callee takes.
    pub syscalls: Vec<Row>,
    /// Source lines.
    pub lines: Vec<Row>,
}

impl Tables {
    /// Adds up a profile.
    #[must_use]
    pub fn of(profile: &Profile, libraries: Libraries) -> Self {
        let names = program_names(profile);
        let mut tables: [BTreeMap<(String, String), Row>; 3] = Default::default();
        let mut lines: BTreeMap<Line, u64> = BTreeMap::new();
        let mut packages: BTreeMap<(bool, String), u64> = BTreeMap::new();
        let (totals, own) = (profile.total_units(), units(profile, libraries));
        for (index, node) in profile.nodes().iter().enumerate() {
            let program = names[index].clone();
            let [programs, functions, syscalls] = &mut tables;
            let key = (program.clone(), String::new());
            let row = programs.entry(key).or_insert_with(|| row(&program, ""));
            row.own += node.units;
            let table = match node.frame.kind {
                FrameKind::Program => {
                    row.calls += node.calls;
                    row.total += if repeats(profile, index) { 0 } else { totals[index] };
                    continue;
                }
                FrameKind::Function | FrameKind::Inlined => functions,
                FrameKind::Syscall | FrameKind::Runtime => syscalls,
            };
            for (line, units) in &node.lines {
                *packages.entry(package(profile, line, &program)).or_default() += units;
            }
            let shown =
                if libraries == Libraries::Expanded { &node.lines } else { &node.own_lines };
            for (line, units) in shown {
                *lines.entry(line.clone()).or_default() += units;
            }
            let Some(units) = own[index] else { continue };
            let name = match libraries {
                Libraries::RolledUp => item_name(&node.frame.name),
                Libraries::Expanded => &node.frame.name,
            };
            let key = (program.clone(), name.to_owned());
            let row = table.entry(key).or_insert_with(|| self::row(name, &program));
            row.own += units;
            row.calls += node.calls;
            row.is_own |= node.is_own;
            row.total += if repeats(profile, index) { 0 } else { totals[index] };
        }
        let [programs, functions, syscalls] = tables.map(sorted);
        let lines = lines.into_iter().map(|(line, own)| {
            let file = profile.file(&line.file);
            let name = format!("{}:{}", file.map_or(&line.file, |it| &it.short), line.line);
            let is_own = file.is_some_and(|it| it.is_own);
            (line, Row { own, total: own, is_own, ..row(&name, "") })
        });
        let packages = packages.into_iter().map(|((is_own, name), own)| {
            ((is_own, name.clone()), Row { own, total: own, is_own, ..row(&name, "") })
        });
        let (mut lines, packages) = (sorted(lines.collect()), sorted(packages.collect()));
        let mut functions = functions;
        if libraries == Libraries::RolledUp {
            fold(&mut functions, "functions", profile.units);
            fold(&mut lines, "lines", profile.units);
        }
        Self { programs, packages, functions, syscalls, lines }
    }

    /// Renders the tables.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let rows = |rows: &[Row]| {
            let rows = rows.iter().map(|row| {
                json!({
                    "name": row.name,
                    "program": row.program,
                    "own": row.own,
                    "total": row.total,
                    "calls": row.calls,
                    "is_own": row.is_own,
                })
            });
            rows.collect::<Vec<_>>()
        };
        json!({
            "programs": rows(&self.programs),
            "packages": rows(&self.packages),
            "functions": rows(&self.functions),
            "syscalls": rows(&self.syscalls),
            "lines": rows(&self.lines),
        })
    }
}

fn row(name: &str, program: &str) -> Row {
    Row {
        name: name.to_owned(),
        program: program.to_owned(),
        own: 0,
        total: 0,
        calls: 0,
        is_own: false,
    }
}

/// Returns the package of a line, and whether it is the user's own. Own files that do not tell theirs are
/// of the program.
fn package(profile: &Profile, line: &Line, program: &str) -> (bool, String) {
    let file = profile.file(&line.file);
    let is_own = file.is_some_and(|it| it.is_own);
    match file.map(|it| &*it.package).filter(|it| !it.is_empty()) {
        Some(package) => (is_own, package.to_owned()),
        None => (is_own, program.to_owned()),
    }
}

/// Returns the units of each node that are shown as its own; `None` if it is not shown.
fn units(profile: &Profile, libraries: Libraries) -> Vec<Option<u64>> {
    let nodes = profile.nodes();
    let mut own: Vec<Option<u64>> = nodes.iter().map(|it| Some(it.units)).collect();
    if libraries == Libraries::Expanded {
        return own;
    }
    // Each node comes after its caller: from the last one on, units go up to an own function.
    for (index, node) in nodes.iter().enumerate().rev() {
        let is_function = matches!(node.frame.kind, FrameKind::Function | FrameKind::Inlined);
        if node.is_own || !is_function {
            continue;
        }
        if let Some(caller) = own_caller(profile, index) {
            let units = own[index].take().unwrap_or_default();
            own[caller] = own[caller].map(|it| it + units);
        }
    }
    own
}

/// Returns the innermost own function that a node is below, in the same invocation.
pub(super) fn own_caller(profile: &Profile, node: usize) -> Option<usize> {
    let mut next = profile.nodes()[node].parent;
    while let Some(caller) = next {
        let it = &profile.nodes()[caller];
        match it.frame.kind {
            FrameKind::Program => return None,
            _ if it.is_own => return Some(caller),
            _ => next = it.parent,
        }
    }
    None
}

/// Makes one row of those of libraries that take few compute units, behind the user's own: what runs
/// before and after own code, in a program that has some.
fn fold(rows: &mut Vec<Row>, what: &str, units: u64) {
    let programs: BTreeSet<String> =
        rows.iter().filter(|it| it.is_own).map(|it| it.program.clone()).collect();
    let is_small =
        |it: &Row| !it.is_own && programs.contains(&it.program) && it.own < units / FOLDED_BELOW;
    if rows.iter().filter(|it| is_small(it)).count() < 2 {
        return;
    }
    for program in &programs {
        let (small, others): (Vec<Row>, _) =
            rows.drain(..).partition(|it| is_small(it) && it.program == *program);
        *rows = others;
        if !small.is_empty() {
            let own = small.iter().map(|it| it.own).sum();
            let name = format!("[{} {what} of libraries]", small.len());
            rows.push(Row { own, total: own, ..row(&name, program) });
        }
    }
}

fn sorted<K>(rows: BTreeMap<K, Row>) -> Vec<Row> {
    let mut rows: Vec<Row> = rows.into_values().collect();
    rows.sort_by_key(|row| core::cmp::Reverse((row.is_own, row.own, row.total)));
    rows
}

/// Returns the name of each node's program: that of the last program among the node and its callers.
fn program_names(profile: &Profile) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(profile.nodes().len());
    for node in profile.nodes() {
        let is_program = node.frame.kind == FrameKind::Program;
        let caller = node.parent.filter(|_| !is_program).and_then(|it| names.get(it).cloned());
        names.push(caller.unwrap_or_else(|| node.frame.name.to_string()));
    }
    names
}

/// Returns whether a frame is also one of its own callers.
fn repeats(profile: &Profile, node: usize) -> bool {
    let frame = &profile.nodes()[node].frame;
    let mut next = profile.nodes()[node].parent;
    while let Some(caller) = next {
        let it = &profile.nodes()[caller];
        if it.frame == *frame {
            return true;
        }
        next = it.parent;
    }
    false
}
