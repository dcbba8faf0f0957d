//! `selkie disasm`.

use std::io::Write as _;

use anyhow::Result;
use selkie_inspect::{Listing, TextOptions, listing};
use serde_json::json;

use crate::{
    args::{DisasmArgs, StyleArg},
    program::{ProgramFile, open_to_inspect},
    ui::{Status, Ui},
};

pub(crate) fn run(ui: &mut Ui, args: &DisasmArgs) -> Result<Status> {
    let Ok(file) = ProgramFile::open(ui, &args.program, &args.assembler)? else {
        return Ok(Status::Failure);
    };
    let program = open_to_inspect(&file.elf, args.raw.then_some(args.assembler.arch))?;
    if let Some(refusal) = program.refusal() {
        ui.warning(&format!("the loader refuses this file: {refusal}"))?;
    }
    let text = if ui.json {
        format!("{}\n", as_json(&Listing::new(&program)))
    } else {
        match args.style {
            StyleArg::Anza => listing::anza(&program),
            StyleArg::Selkie => {
                let options = TextOptions { addresses: args.addresses, bytes: args.bytes };
                Listing::new(&program).text(&options)
            }
        }
    };
    match &args.output {
        Some(path) => std::fs::write(path, text)?,
        None => ui.out.write_all(text.as_bytes())?,
    }
    Ok(Status::Success)
}

fn as_json(listing: &Listing) -> serde_json::Value {
    let lines = listing.lines.iter().map(|line| {
        json!({
            "pc": line.pc,
            "vaddr": line.vaddr,
            "bytes": hex::encode(&line.bytes),
            "label": line.label,
            "function": line.function.as_deref(),
            "mnemonic": line.mnemonic,
            "operands": line.operands,
            "target": line.target,
            "cost": line.cost,
            "comment": line.comment,
        })
    });
    let data = listing.data.iter().map(|datum| {
        json!({
            "vaddr": datum.vaddr,
            "label": datum.label,
            "len": datum.len,
            "directive": datum.directive,
            "operands": datum.operands,
        })
    });
    json!({
        "version": listing.version.to_string(),
        "entry_pc": listing.entry_pc,
        "instructions": lines.collect::<Vec<_>>(),
        "data": data.collect::<Vec<_>>(),
        "syscalls": listing.syscalls,
        "note": listing.note,
    })
}
