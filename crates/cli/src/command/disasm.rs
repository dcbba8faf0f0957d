//! `selkie disasm`.

use std::{io::Write as _, ops::Range};

use anstream::adapter::strip_str;
use anyhow::{Context as _, Result, anyhow, bail};
use selkie_inspect::{Graph, Listing, NamedProgram, Style, TextOptions, listing};
use selkie_isa::layout::SLOT_BYTES;
use serde::Serialize;

use crate::{
    args::{DisasmArgs, StyleArg},
    files,
    program::{find_function, open_to_show},
    render::Seq,
    ui::{Advise as _, Status, Ui},
};

mod native;

pub(crate) fn run(ui: &mut Ui, args: &DisasmArgs) -> Result<Status> {
    let Ok(program) = open_to_show(ui, &args.program, args.raw, &args.assembler)? else {
        return Ok(Status::Failure);
    };
    let text = text(ui, args, &program)?;
    match &args.output {
        Some(path) => files::write(path, text)?,
        None => ui.out.write_all(text.as_bytes())?,
    }
    Ok(Status::Success)
}

fn text(ui: &mut Ui, args: &DisasmArgs, program: &NamedProgram) -> Result<String> {
    let selected = selected(args, program)?;
    if args.style == StyleArg::Anza && !ui.json {
        return match selected {
            None => Ok(listing::anza(program)),
            Some(_) => Err(anyhow!("`--style anza` lists whole programs"))
                .advise("omit `--style` to list a part"),
        };
    }
    let mut listing = Listing::new(program);
    if let Some(range) = &selected {
        select(&mut listing, range)?;
    }
    if args.native {
        let code = native::compile(ui, program, args.hardening)?;
        let spans = code.spans();
        let native = native::Native::new(&listing, code.bytes(), &spans, selected.is_none());
        return Ok(match (ui.json, &args.output) {
            (true, _) => format!("{}\n", native.as_json()),
            (false, None) => native.text(),
            (false, Some(_)) => strip_str(&native.text()).to_string(),
        });
    }
    let options = TextOptions { addresses: args.addresses, bytes: args.bytes };
    Ok(if ui.json { format!("{}\n", as_json(&listing)?) } else { listing.text(&options) })
}

/// Returns the slots to list; `None` for all.
fn selected(args: &DisasmArgs, program: &NamedProgram) -> Result<Option<Range<u32>>> {
    let Some(name) = &args.function else { return Ok(args.range.clone()) };
    let graph = Graph::new(program, Style::Selkie);
    let start = find_function(&graph, name).with_context(|| args.program.display().to_string())?;
    let range = graph.by_function().map(|(range, _)| range).find(|range| range.start == start);
    Ok(range)
}

/// Reduces a listing to the lines of `range`, without the parts about the whole program.
fn select(listing: &mut Listing, range: &Range<u32>) -> Result<()> {
    let Some(last) = listing.lines.last().map(|line| line.pc) else {
        bail!("the program has no instructions");
    };
    // An `lddw` takes two slots, and is listed whichever of them is asked for.
    listing.lines.retain(|line| {
        let slots = if line.bytes.len() > SLOT_BYTES { 2 } else { 1 };
        line.pc < range.end && range.start < line.pc + slots
    });
    if listing.lines.is_empty() {
        bail!("the program ends before slot {}: its last instruction is at {last}", range.start);
    }
    listing.entry = listing.entry.take().filter(|_| range.contains(&listing.entry_pc));
    listing.text_offset = None;
    listing.trailing.clear();
    listing.data.clear();
    listing.syscalls.clear();
    Ok(())
}

/// Returns the listing as JSON, serialized piece by piece. Keys are sorted, as in all JSON output.
fn as_json(listing: &Listing) -> Result<String> {
    let data = || {
        listing.data.iter().map(|datum| DatumJson {
            directive: datum.directive,
            label: datum.label.as_deref(),
            len: datum.len,
            operands: &datum.operands,
            vaddr: datum.vaddr,
        })
    };
    let instructions = || {
        listing.lines.iter().map(|line| LineJson {
            bytes: hex::encode(&line.bytes),
            comment: line.comment.as_deref(),
            cost: line.cost,
            function: line.function.as_deref(),
            label: line.label.as_deref(),
            mnemonic: &line.mnemonic,
            operands: &line.operands,
            pc: line.pc,
            target: line.target,
            vaddr: line.vaddr,
        })
    };
    Ok(serde_json::to_string(&ListingJson {
        data: Seq(data),
        entry_pc: listing.entry_pc,
        instructions: Seq(instructions),
        note: listing.note.as_deref(),
        syscalls: &listing.syscalls,
        version: listing.version.to_string(),
    })?)
}

#[derive(Serialize)]
struct ListingJson<'a, D, I> {
    data: D,
    entry_pc: u32,
    instructions: I,
    note: Option<&'a str>,
    syscalls: &'a [String],
    version: String,
}

#[derive(Serialize)]
struct DatumJson<'a> {
    directive: &'a str,
    label: Option<&'a str>,
    len: usize,
    operands: &'a [String],
    vaddr: u64,
}

#[derive(Serialize)]
struct LineJson<'a> {
    bytes: String,
    comment: Option<&'a str>,
    cost: u64,
    function: Option<&'a str>,
    label: Option<&'a str>,
    mnemonic: &'a str,
    operands: &'a [String],
    pc: u32,
    target: Option<u32>,
    vaddr: u64,
}
