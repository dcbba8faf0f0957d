//! Telling why a program was stopped: where, by what, and what may be behind it.

use std::io::Write as _;

use anyhow::Result;
use selkie_inspect::{Graph, Labels, SourceMap, Style};
use selkie_isa::layout::STACK_FRAME_BYTES;
use selkie_svm::Run;
use selkie_vm::{Access, Trap};
use serde_json::{Value, json};

use crate::{
    program::{ProgramFile, open_to_inspect},
    render::{instruction_text, place_of, place_text},
    ui::{BAD, DIM, NOTE, STRONG, Ui},
};

pub(super) fn show(
    ui: &mut Ui,
    trap: &Trap,
    run: &Run,
    file: &ProgramFile,
    map: &SourceMap,
) -> Result<()> {
    writeln!(ui.out, "{BAD}trap{BAD:#}{STRONG}: {trap}{STRONG:#}")?;
    let place = place_text(&place_of(map, run.pc));
    let text = instruction_at(file, run.pc);
    writeln!(ui.out, "  {NOTE}-->{NOTE:#} pc {}{place}: {STRONG}{text}{STRONG:#}", run.pc)?;
    let sites: Vec<usize> = call_sites(run).collect();
    // A recursion that went too deep is one line.
    for same in sites.chunk_by(|a, b| a == b) {
        let pc = same[0];
        let place = place_text(&place_of(map, pc));
        let times = if same.len() > 1 { format!("  {} times", same.len()) } else { String::new() };
        writeln!(ui.out, "  called from pc {pc}{place}{times}")?;
    }
    for (index, registers) in run.registers.chunks(4).enumerate() {
        let cells = registers.iter().enumerate().map(|(offset, value)| {
            format!("{:>3} = {value:#018x}", format!("r{}", index * 4 + offset))
        });
        writeln!(ui.out, "  {DIM}{}{DIM:#}", cells.collect::<Vec<_>>().join("  "))?;
    }
    for note in notes(trap, run) {
        writeln!(ui.out, "{NOTE}note{NOTE:#}: {note}")?;
    }
    Ok(())
}

pub(super) fn as_json(trap: &Trap, run: &Run, file: &ProgramFile, map: &SourceMap) -> Value {
    let (access, vaddr, len) = match trap {
        Trap::AccessViolation { access, vaddr, len, .. }
        | Trap::StackAccessViolation { access, vaddr, len, .. } => {
            (Some(format!("{access:?}").to_lowercase()), Some(vaddr), Some(len))
        }
        _ => (None, None, None),
    };
    json!({
        "message": trap.to_string(),
        "access": access,
        "vaddr": vaddr,
        "len": len,
        "place": place_of(map, run.pc),
        "instruction": instruction_at(file, run.pc),
        "call_stack": call_sites(run).map(|pc| place_of(map, pc)).collect::<Vec<_>>(),
        "registers": run.registers,
        "notes": notes(trap, run),
    })
}

fn instruction_at(file: &ProgramFile, pc: usize) -> String {
    match open_to_inspect(&file.elf, None) {
        Ok(program) => {
            let graph = Graph::new(&program, Style::Selkie);
            instruction_text(program.executable(), &Labels::new(&program, &graph), pc)
        }
        // It was loaded before, so it can be opened.
        Err(error) => format!("{error:#}"),
    }
}

/// The calls that had not returned, innermost first.
fn call_sites(run: &Run) -> impl Iterator<Item = usize> {
    run.return_pcs.iter().rev().map(|pc| pc.saturating_sub(1))
}

/// What may be behind a trap.
fn notes(trap: &Trap, run: &Run) -> Vec<String> {
    match trap {
        Trap::StackAccessViolation { vaddr, len, .. } => stack_notes(*vaddr, *len, run),
        Trap::AccessViolation {
            access: Access::Store, region: "program" | "allocated", ..
        } => {
            vec!["the program's code and constants can only be read".to_owned()]
        }
        Trap::AccessViolation { vaddr, len, .. } => input_notes(*vaddr, *len, run),
        Trap::CallDepthExceeded => {
            vec!["64 frames are all there is: is this recursion meant?".to_owned()]
        }
        Trap::ExecutionOverrun => {
            vec!["the last instruction that runs must be `exit` or a jump".to_owned()]
        }
        Trap::ExceededMaxInstructions => vec!["`--limit` sets the budget".to_owned()],
        _ => Vec::new(),
    }
}

/// By how much an access leaves the frame of the function that made it.
fn stack_notes(vaddr: u64, len: u64, run: &Run) -> Vec<String> {
    let [.., frame_end] = run.registers;
    let frame_start = frame_end.saturating_sub(STACK_FRAME_BYTES);
    let note = if vaddr < frame_start {
        let below = frame_start - vaddr;
        format!(
            "the function's frame has {STACK_FRAME_BYTES} bytes, from {frame_start:#x} to \
             {frame_end:#x}: the access starts {below} bytes below it; make large variables \
             smaller, or move them to the heap"
        )
    } else if vaddr.saturating_add(len) > frame_end {
        let above = vaddr.saturating_add(len) - frame_end;
        format!(
            "the function's frame has {STACK_FRAME_BYTES} bytes, from {frame_start:#x} to \
             {frame_end:#x}: the access ends {above} bytes above it"
        )
    } else {
        return Vec::new();
    };
    vec![note]
}

/// Which field of the input lies nearest before an address.
fn input_notes(vaddr: u64, len: u64, run: &Run) -> Vec<String> {
    let input = &run.input;
    let end = selkie_isa::layout::INPUT_START + input.bytes.len() as u64;
    let is_near = (selkie_isa::layout::INPUT_START..end + (1 << 20)).contains(&vaddr);
    if !is_near {
        return Vec::new();
    }
    let past = vaddr.saturating_add(len).saturating_sub(end);
    vec![format!(
        "the input has {} bytes and ends at {end:#x}: the access ends {past} bytes behind it; \
         `selkie input` shows what lies where",
        input.bytes.len()
    )]
}
