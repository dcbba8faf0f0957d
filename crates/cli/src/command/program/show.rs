//! `selkie program show` and `selkie program list`.

use std::io::Write as _;

use anyhow::Result;
use selkie::{Loader, Svm};
use selkie_client::programs::{Entry, find, of as entry_of, state};
use serde_json::Value;

use crate::{
    args::program::StateArgs,
    names,
    ui::{DIM, STRONG, Status, Ui},
};

pub(super) fn run(ui: &mut Ui, of: &StateArgs, program: Option<&str>) -> Result<Status> {
    let mut cluster = of.open()?;
    let Some(id) = program else {
        cluster.fetch_programs()?;
        return list(ui, &cluster.svm);
    };
    let id = names::find(of, id)?;
    cluster.fetch(&[id])?;
    let svm = &cluster.svm;
    let entry = find(svm, &id)?;
    if ui.json {
        ui.object(&entry.json())?;
        return Ok(Status::Success);
    }
    writeln!(ui.out, "{STRONG}{}{STRONG:#} {}", entry.type_name(), entry.id)?;
    let sol =
        |lamports: u64| format!("{}.{:09} SOL", lamports / 1_000_000_000, lamports % 1_000_000_000);
    let authority = entry.authority.map_or("none".to_owned(), |key| key.to_string());
    let loader = format!("{} {}", loader_name(entry.loader), entry.loader.address());
    let mut rows = vec![
        ("loader", loader),
        ("file", format!("{} bytes in {}", entry.file_bytes, entry.holder)),
        ("authority", authority),
        ("balance", sol(entry.lamports)),
    ];
    if let Some(slot) = entry.deployed {
        rows.push(("deployed", format!("in slot {slot}; the current slot is {}", svm.slot())));
    }
    if let Some(kind) = entry.kind {
        rows.push(("state", state(kind).to_owned()));
    }
    for (name, value) in rows {
        writeln!(ui.out, "  {DIM}{name:<9}{DIM:#} {value}")?;
    }
    Ok(Status::Success)
}

fn loader_name(loader: Loader) -> &'static str {
    match loader {
        Loader::V1 => "v1",
        Loader::V2 => "v2",
        Loader::V3 => "v3",
        Loader::V4 => "v4",
    }
}

fn list(ui: &mut Ui, svm: &Svm) -> Result<Status> {
    let entries: Vec<Entry> =
        svm.written_accounts().filter_map(|(id, account)| entry_of(svm, id, account)).collect();
    if ui.json {
        ui.object(&Value::Array(entries.iter().map(Entry::json).collect()))?;
        return Ok(Status::Success);
    }
    if entries.is_empty() {
        writeln!(ui.out, "no programs")?;
    }
    for entry in entries {
        let Entry { id, loader, file_bytes, kind, .. } = &entry;
        let (type_name, loader) = (entry.type_name(), loader_name(*loader));
        let state = kind.map_or("being written", state);
        writeln!(ui.out, "{id:<44}  {type_name:<7} {loader} {file_bytes:>9} bytes  {state}")?;
    }
    Ok(Status::Success)
}
