//! Why a transaction failed and what a program consists of, by the debug information on this machine.
//!
//! Invariant: source files are read only as far as a debug file names them that was built here, since
//! what clients deploy may name any file.

use std::path::Path;

use selkie::Pubkey;
use selkie_inspect::{Listing, is_source_file, stack_use};
use selkie_isa::input;
use selkie_replay::{DebugFiles, ProgramView, Timeline};
use serde_json::{Value, json};

use crate::{symbolize::Programs, trace};

/// The lines of source before and after the one that failed.
const LINES_AROUND: usize = 5;
/// The longest source file that is read.
pub(crate) const SOURCE_BYTES_MAX: u64 = 4 << 20;
/// The longest line of source that is shown.
const LINE_CHARS_MAX: usize = 300;
/// The size of an instruction's slot.
const SLOT_BYTES: usize = 8;
/// The instructions of one answer.
const INSTRUCTIONS_MAX: usize = 2_000;
/// The basic blocks of one answer.
const BLOCKS_MAX: usize = 400;

/// Returns a transaction's calls, why it failed, and the place in the sources with the lines around it.
#[must_use]
pub fn explain_transaction(timeline: &Timeline) -> Value {
    let mut programs = Programs::new(debug_files());
    programs.add(timeline);
    let receipt = timeline.receipt();
    let name = receipt.failed_instruction.as_ref().and_then(|failed| {
        let name = programs.error_name(&failed.program_id, &failed.error, &receipt.logs)?;
        Some(name.to_string())
    });
    let failed = receipt.failed_instruction.as_ref().map(|it| it.program_id.to_string());
    let mut value = trace::to_json(timeline, &programs);
    value["errorName"] = name.into();
    value["explanations"] = receipt.explanations().into();
    value["failedProgram"] = failed.into();
    value["place"] = json!(trace::failure_place(timeline, &programs));
    value["source"] = trace::failure_backtrace(timeline, &programs)
        .and_then(|(id, backtrace)| {
            programs.get(&id)?.view.debug_file.as_ref()?;
            let place = backtrace.place()?;
            let (location, shown) = (place.location.as_ref()?, place.position());
            Some(json!({
                "column": location.column,
                "file": location.file,
                "function": place.function,
                "line": location.line,
                "lines": excerpt(Path::new(&location.file), location.line),
                "shown": shown,
            }))
        })
        .unwrap_or_default();
    value["logs"] = receipt.logs.clone().into();
    value
}

/// Returns the lines of a source file around one, with their numbers; none if it cannot be read.
fn excerpt(path: &Path, line: u32) -> Vec<Value> {
    let read = || input::text(path, SOURCE_BYTES_MAX).ok();
    let Some(text) = is_source_file(path).then(read).flatten() else { return Vec::new() };
    let line = usize::try_from(line).unwrap_or(usize::MAX);
    let first = line.saturating_sub(LINES_AROUND).max(1);
    let numbered = (1_usize..).zip(text.lines()).skip(first.saturating_sub(1));
    let wanted = numbered.take_while(|(number, _)| *number <= line.saturating_add(LINES_AROUND));
    let shown = wanted.map(|(number, text)| {
        json!({ "number": number, "text": text.chars().take(LINE_CHARS_MAX).collect::<String>() })
    });
    shown.collect()
}

/// Returns a program's version, its functions, and its instructions from a slot on: at most so many, and never
/// more than 2,000. `None` if it is no program that can be loaded.
#[must_use]
pub fn disassemble_program(
    id: Pubkey,
    elf: Vec<u8>,
    from: usize,
    count: Option<usize>,
) -> Option<Value> {
    let bytes = elf.len();
    let view = ProgramView::open(id, elf, &debug_files(), None)?;
    let slots = view.program.executable().text().len() / SLOT_BYTES;
    let uses = stack_use(&view.program);
    let functions = view.graph.functions.keys().filter_map(|&pc| {
        let (_, name) = view.function_at(usize::try_from(pc).ok()?)?;
        let stack = uses.iter().find(|it| it.pc == pc).map(|it| it.bytes);
        Some(json!({ "name": name, "pc": pc, "stackBytes": stack }))
    });
    let listing = Listing::new(&view.program);
    let count = count.unwrap_or(INSTRUCTIONS_MAX).min(INSTRUCTIONS_MAX);
    let shown = listing.lines.iter().filter(|it| it.pc as usize >= from).take(count);
    let instructions = shown.map(|it| {
        let line = view.map.own_line_at(it.pc);
        let line = line.map(|it| format!("{}:{}", view.map.own().short(&it.file), it.line));
        let text = format!("{} {}", it.mnemonic, it.operands.join(", "));
        json!({ "comment": it.comment, "line": line, "pc": it.pc, "text": text.trim_end() })
    });
    Some(json!({
        "bytes": bytes,
        "debugFile": view.debug_file.as_ref().map(|it| it.display().to_string()),
        "functions": functions.collect::<Vec<_>>(),
        "instructions": instructions.collect::<Vec<_>>(),
        "name": view.name,
        "slots": slots,
        "version": view.program.version().to_string(),
    }))
}

/// Returns the basic blocks of the function that begins at a slot, each with its instructions and the slots of
/// those that follow; at most 400. `None` if it is no program that can be loaded, or there is no such function.
#[must_use]
pub fn function_graph(id: Pubkey, elf: Vec<u8>, function: u32) -> Option<Value> {
    let view = ProgramView::open(id, elf, &debug_files(), None)?;
    let (range, blocks) = view.graph.by_function().find(|(range, _)| range.start == function)?;
    let listing = Listing::new(&view.program);
    let ends = blocks.iter().skip(1).map(|it| it.pc).chain([range.end]);
    let shown = blocks.iter().zip(ends).take(BLOCKS_MAX).map(|(block, end)| {
        let inside = listing.lines.iter().filter(|it| (block.pc..end).contains(&it.pc));
        let text = inside.map(|it| format!("{} {}", it.mnemonic, it.operands.join(", ")));
        let text: Vec<String> = text.map(|it| it.trim_end().to_owned()).collect();
        json!({ "instructions": text, "pc": block.pc, "to": block.destinations })
    });
    let omitted = blocks.len().saturating_sub(BLOCKS_MAX);
    Some(json!({ "blocks": shown.collect::<Vec<_>>(), "omitted": omitted }))
}

/// Returns the debug files of programs that were built where the node was started.
pub(crate) fn debug_files() -> DebugFiles {
    let mut files = DebugFiles::default();
    files.add_usual(Path::new(""));
    files
}
