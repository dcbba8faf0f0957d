//! Formats counts, code locations and changed bytes for people and as JSON.

use std::{io::Write as _, ops::Range};

use anyhow::Result;
use selkie_elf::Executable;
pub(crate) use selkie_inspect::instruction_text;
use selkie_inspect::{Backtrace, CodeLocation, Graph, Labels, NamedProgram, SourceMap, Style};
pub(crate) use selkie_isa::plural::count;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::ui::{DIM, NOTE, STRONG, Ui};

/// Returns the location of a slot as JSON: function, file and line as far as they are known.
pub(crate) fn location_of(map: &SourceMap, pc: usize) -> Value {
    location_json(&map.locate(pc))
}

/// Returns a code location as JSON; unknown fields are null.
pub(crate) fn location_json(CodeLocation { pc, function, location }: &CodeLocation) -> Value {
    json!({
        "pc": pc,
        "function": function,
        "file": location.as_ref().map(|it| &it.file),
        "line": location.as_ref().map(|it| it.line),
        "column": location.as_ref().and_then(|it| it.column),
    })
}

/// Returns the frames of a backtrace as JSON, the innermost one first; unknown fields are null.
pub(crate) fn frames_json(backtrace: &Backtrace) -> Value {
    let frames = backtrace.frames.iter().map(|it| {
        let (function, location) = (it.function.clone(), it.location.clone());
        let mut frame = location_json(&CodeLocation { pc: it.pc, function, location });
        (frame["inlined"], frame["own"]) = (it.is_inlined.into(), it.is_own.into());
        frame
    });
    frames.collect()
}

/// Shows the instruction at a slot and its location.
pub(crate) fn show_instruction(
    ui: &mut Ui,
    executable: &Executable,
    map: &SourceMap,
    pc: usize,
) -> Result<()> {
    let program = NamedProgram::new(executable.clone());
    let graph = Graph::new(&program, Style::Anza);
    let text = instruction_text(executable, &Labels::new(&program, &graph), pc);
    let location = Backtrace::new(map, [pc]).instruction_line();
    if let Some(refusal) = map.refusal() {
        ui.warning(&refusal.of("the program"))?;
    }
    writeln!(ui.out, "  {NOTE}-->{NOTE:#} {location}: {STRONG}{text}{STRONG:#}")?;
    Ok(())
}

/// Prints a range of changed bytes: offsets, old and new bytes, and both as `u64` if 8 bytes long.
pub(crate) fn show_change(ui: &mut Ui, offset: usize, before: &[u8], after: &[u8]) -> Result<()> {
    const SHOWN: usize = 32;
    let cut = |bytes: &[u8]| {
        let more = if bytes.len() > SHOWN { "…" } else { "" };
        format!("{}{more}", hex::encode(bytes.get(..SHOWN).unwrap_or(bytes)))
    };
    let end = offset + before.len().max(after.len());
    write!(
        ui.out,
        "    data[{offset}..{end}]  {DIM}{}{DIM:#} → {STRONG}{}{STRONG:#}",
        cut(before),
        cut(after),
    )?;
    if let (Ok(before), Ok(after)) = (before.try_into(), after.try_into()) {
        let (before, after) = (u64::from_le_bytes(before), u64::from_le_bytes(after));
        write!(ui.out, "  {DIM}u64 {before} →{DIM:#} {STRONG}{after}{STRONG:#}")?;
    }
    writeln!(ui.out)?;
    Ok(())
}

/// Returns the ranges in which two buffers differ, in words of 8 bytes, with adjacent ones joined.
pub(crate) fn changes(before: &[u8], after: &[u8]) -> Vec<Range<usize>> {
    const WORD: usize = 8;
    let len = before.len().max(after.len());
    let word = |data: &[u8], start: usize| {
        data.get(start.min(data.len())..(start + WORD).min(data.len())).map(<[u8]>::to_vec)
    };
    let mut runs: Vec<Range<usize>> = Vec::new();
    for start in (0..len).step_by(WORD) {
        if word(before, start) == word(after, start) {
            continue;
        }
        let end = (start + WORD).min(len);
        match runs.last_mut() {
            Some(run) if run.end == start => run.end = end,
            _ => runs.push(start..end),
        }
    }
    runs
}

/// A sequence whose items are made while they are serialized.
pub(crate) struct Seq<F>(pub(crate) F);

impl<F, I> Serialize for Seq<F>
where
    F: Fn() -> I,
    I: IntoIterator,
    I::Item: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

#[cfg(test)]
mod tests {
    use super::changes;

    #[test]
    fn changes_are_whole_words() {
        let (mut before, mut after) = ([0; 32], [0; 32]);
        assert!(changes(&before, &after).is_empty());
        (before[9], after[17], after[31]) = (1, 1, 1);
        assert_eq!(changes(&before, &after), vec![8..32]);
        (before[9], after[17]) = (0, 0);
        assert_eq!(changes(&before, &after[..30]), vec![24..32]);
    }
}
