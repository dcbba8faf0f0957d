//! Comparison of two profiles.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    Profile,
    table::{Libraries, Row, Tables},
};

/// A function, syscall or program whose own compute units differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// Its name.
    pub name: String,
    /// Its program.
    pub program: String,
    /// The compute units of its own before.
    pub before: u64,
    /// The compute units of its own after.
    pub after: u64,
}

impl Change {
    /// Returns by how much the units have grown.
    #[must_use]
    pub fn delta(&self) -> i128 {
        i128::from(self.after) - i128::from(self.before)
    }

    /// Renders the change.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let Self { name, program, before, after } = self;
        json!({ "name": name, "program": program, "before": before, "after": after })
    }
}

/// Returns the functions and syscalls whose own compute units differ, the largest difference first.
#[must_use]
pub fn compare(before: &Profile, after: &Profile) -> Vec<Change> {
    let mut changes: BTreeMap<(String, String), (u64, u64)> = BTreeMap::new();
    let of = |it: &Profile| Tables::of(it, Libraries::Expanded);
    let (before, after) = (of(before), of(after));
    for row in rows(&before) {
        changes.entry((row.program.clone(), row.name.clone())).or_default().0 += row.own;
    }
    for row in rows(&after) {
        changes.entry((row.program.clone(), row.name.clone())).or_default().1 += row.own;
    }
    let differ = changes.into_iter().filter(|(_, (before, after))| before != after);
    let mut changes: Vec<Change> = differ
        .map(|((program, name), (before, after))| Change { name, program, before, after })
        .collect();
    changes.sort_by_key(|change| core::cmp::Reverse(change.delta().unsigned_abs()));
    changes
}

fn rows(tables: &Tables) -> impl Iterator<Item = &Row> {
    tables.functions.iter().chain(&tables.syscalls)
}
