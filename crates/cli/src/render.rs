//! How places in programs are shown.

use std::io::Write as _;

use anyhow::Result;
use selkie_elf::Executable;
use selkie_inspect::{Graph, Labels, Program, SourceMap, Style};
use selkie_isa::{Insn, syntax::Names};
use serde_json::{Value, json};

use crate::ui::{DIM, NOTE, STRONG, Ui};

/// Where a slot is: function, file and line as far as they are known.
pub(crate) fn place_of(map: &SourceMap, pc: usize) -> Value {
    let slot = u32::try_from(pc).unwrap_or(u32::MAX);
    let line = map.line_at(slot);
    json!({
        "pc": pc,
        "function": map.function_at(slot),
        "file": line.as_ref().map(|it| &it.file),
        "line": line.as_ref().map(|it| it.line),
        "column": line.as_ref().and_then(|it| it.column),
    })
}

/// A place as it stands in a sentence: ` in entrypoint (hello.s:4:5)`.
pub(crate) fn place_text(place: &Value) -> String {
    let mut text = String::new();
    if let Some(function) = place["function"].as_str() {
        text.push_str(" in ");
        text.push_str(function);
    }
    if let (Some(file), Some(line)) = (place["file"].as_str(), place["line"].as_u64()) {
        let column = place["column"].as_u64().map_or(String::new(), |it| format!(":{it}"));
        text.push_str(&format!(" ({file}:{line}{column})"));
    }
    text
}

/// The text of the instruction at a slot.
pub(crate) fn instruction_text(executable: &Executable, names: &dyn Names, pc: usize) -> String {
    match Insn::decode(executable.version(), executable.text(), pc) {
        Some(insn) => insn.display(pc, names).to_string(),
        None => match executable.text().get(pc * 8..pc * 8 + 8) {
            Some(bytes) => format!("no instruction: {}", hex::encode(bytes)),
            None => "past the end of the program".to_owned(),
        },
    }
}

/// Shows the instruction at a slot and where it is.
pub(crate) fn show_instruction(
    ui: &mut Ui,
    executable: &Executable,
    map: &SourceMap,
    pc: usize,
) -> Result<()> {
    let program = Program::new(executable.clone());
    let graph = Graph::new(&program, Style::Anza);
    let text = instruction_text(executable, &Labels::new(&program, &graph), pc);
    let place = place_text(&place_of(map, pc));
    writeln!(ui.out, "  {NOTE}-->{NOTE:#} pc {pc}{place}: {STRONG}{text}{STRONG:#}")?;
    Ok(())
}

/// A run of bytes that changed, for people: offset, before, after.
pub(crate) fn show_change(ui: &mut Ui, offset: usize, before: &[u8], after: &[u8]) -> Result<()> {
    const SHOWN: usize = 32;
    let cut = |bytes: &[u8]| {
        let more = if bytes.len() > SHOWN { "…" } else { "" };
        format!("{}{more}", hex::encode(bytes.get(..SHOWN).unwrap_or(bytes)))
    };
    let end = offset + before.len().max(after.len());
    writeln!(
        ui.out,
        "    data[{offset}..{end}]  {DIM}{}{DIM:#} → {STRONG}{}{STRONG:#}",
        cut(before),
        cut(after),
    )?;
    Ok(())
}

/// The runs of bytes in which two buffers differ. Runs that are less than a word apart are one.
pub(crate) fn changes(before: &[u8], after: &[u8]) -> Vec<std::ops::Range<usize>> {
    const JOIN: usize = 8;
    let common = before.len().min(after.len());
    let mut runs: Vec<std::ops::Range<usize>> = Vec::new();
    let differing = (0..common).filter(|&at| before[at] != after[at]);
    for at in differing.chain(common..before.len().max(after.len())) {
        match runs.last_mut() {
            Some(run) if at < run.end + JOIN => run.end = at + 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::changes;

    #[test]
    fn near_changes_are_one() {
        assert_eq!(changes(b"aaaaaaaaaaaaaaaa", b"abaabaaaaaaaaaab"), [1..5, 15..16]);
        assert_eq!(changes(b"ab", b"abcd"), [2..4]);
        assert!(changes(b"ab", b"ab").is_empty());
    }
}
