//! Profiles as tables: by program, function, syscall and line.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{FrameKind, Profile};
use crate::symbolize::Line;

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
}

/// The tables of a profile, each sorted by the compute units of the rows, most first.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Tables {
    /// Programs, with the units of their own functions and syscalls.
    pub programs: Vec<Row>,
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
    pub fn of(profile: &Profile) -> Self {
        let names = program_names(profile);
        let mut tables: [BTreeMap<(String, String), Row>; 3] = Default::default();
        let mut lines: BTreeMap<Line, u64> = BTreeMap::new();
        let totals = profile.total_units();
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
            let key = (program.clone(), node.frame.name.to_string());
            let row = table.entry(key).or_insert_with(|| self::row(&node.frame.name, &program));
            row.own += node.units;
            row.calls += node.calls;
            row.total += if repeats(profile, index) { 0 } else { totals[index] };
            for (line, units) in &node.lines {
                *lines.entry(line.clone()).or_default() += units;
            }
        }
        let [programs, functions, syscalls] = tables.map(sorted);
        let lines = lines.into_iter().map(|(line, own)| {
            let name = format!("{}:{}", line.file, line.line);
            (line, Row { own, total: own, ..row(&name, "") })
        });
        Self { programs, functions, syscalls, lines: sorted(lines.collect()) }
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
                })
            });
            rows.collect::<Vec<_>>()
        };
        json!({
            "programs": rows(&self.programs),
            "functions": rows(&self.functions),
            "syscalls": rows(&self.syscalls),
            "lines": rows(&self.lines),
        })
    }
}

fn row(name: &str, program: &str) -> Row {
    Row { name: name.to_owned(), program: program.to_owned(), own: 0, total: 0, calls: 0 }
}

fn sorted<K>(rows: BTreeMap<K, Row>) -> Vec<Row> {
    let mut rows: Vec<Row> = rows.into_values().collect();
    rows.sort_by_key(|row| core::cmp::Reverse((row.own, row.total)));
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
