//! `--sizes`: what the bytes of a program are.

use std::io::Write as _;

use anyhow::Result;
use selkie_build::sizes::{CrateSize, ItemSize, Sizes};
use serde_json::{Value, json};

use crate::{
    render::count,
    ui::{DIM, Ui},
};

/// Functions and data shown without `--functions`.
const LARGEST: usize = 20;

/// What is shown of the way from the entry to an item.
const USERS_MAX: usize = 4;

pub(super) fn show(ui: &mut Ui, sizes: &Sizes, all: bool) -> Result<()> {
    let crates = sizes.crates.iter().map(|it| it.code + it.data);
    let total = sizes.other + crates.sum::<u64>();
    writeln!(ui.out, "{DIM}  bytes      %  crate{DIM:#}")?;
    for it in &sizes.crates {
        let CrateSize { name, code, data, functions } = it;
        let functions = count(*functions, "function");
        line(
            ui,
            code + data,
            total,
            &format!("{name}  {DIM}{functions}, {data} bytes of data{DIM:#}"),
        )?;
    }
    line(ui, sizes.other, total, &format!("{DIM}headers, symbols and padding{DIM:#}"))?;
    writeln!(ui.out, "{DIM}  bytes      %  function or data, and what keeps it{DIM:#}")?;
    let shown = if all { sizes.items.len() } else { LARGEST };
    for it in sizes.items.iter().take(shown) {
        line(ui, it.bytes, total, &it.name)?;
        if let Some(note) = note(it) {
            writeln!(ui.out, "                 {DIM}{note}{DIM:#}")?;
        }
    }
    if sizes.items.len() > shown {
        let rest = sizes.items.len() - shown;
        writeln!(ui.out, "                 {DIM}{rest} more: --functions{DIM:#}")?;
    }
    Ok(())
}

#[allow(clippy::cast_precision_loss, reason = "percentages are rounded")]
fn line(ui: &mut Ui, bytes: u64, total: u64, text: &str) -> Result<()> {
    let percent = 100.0 * bytes as f64 / total.max(1) as f64;
    writeln!(ui.out, "{bytes:>7}  {percent:>5.1}  {text}")?;
    Ok(())
}

/// Returns what keeps an item, and what shares it; `None` for the entry.
fn note(item: &ItemSize) -> Option<String> {
    let shared = match item.folded.len() {
        0 => String::new(),
        others => format!("; shared with {}", count(others, "equal function")),
    };
    let entry = item.kept_by.last()?;
    let mut users: Vec<&str> = item.kept_by.iter().map(String::as_str).collect();
    if users.len() > USERS_MAX {
        users.truncate(USERS_MAX - 1);
        users.extend(["…", entry]);
    }
    Some(format!("kept by {}{shared}", users.join(" ← ")))
}

pub(super) fn to_json(sizes: &Sizes) -> Value {
    let of_crate = |it: &CrateSize| json!({ "name": it.name, "code": it.code, "data": it.data, "functions": it.functions });
    let of_item = |it: &ItemSize| {
        let kind = if it.is_function { "function" } else { "data" };
        json!({
            "name": it.name, "crate": it.krate, "kind": kind, "bytes": it.bytes,
            "folded": it.folded, "kept_by": it.kept_by,
        })
    };
    json!({
        "crates": sizes.crates.iter().map(of_crate).collect::<Vec<_>>(),
        "items": sizes.items.iter().map(of_item).collect::<Vec<_>>(),
        "other": sizes.other,
    })
}
