//! How places in programs are shown.

use std::{io::Write as _, ops::Range};

use anyhow::Result;
use selkie_elf::Executable;
pub(crate) use selkie_inspect::instruction_text;
use selkie_inspect::{CodeLocation, Graph, Labels, Program, SourceMap, Style};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::ui::{DIM, NOTE, STRONG, Ui};

/// A number of things: `1 error`, `2 errors`.
pub(crate) fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Where a slot is: function, file and line as far as they are known.
pub(crate) fn place_of(map: &SourceMap, pc: usize) -> Value {
    place_json(&map.locate(pc))
}

/// A place as data.
pub(crate) fn place_json(CodeLocation { pc, function, location }: &CodeLocation) -> Value {
    json!({
        "pc": pc,
        "function": function,
        "file": location.as_ref().map(|it| &it.file),
        "line": location.as_ref().map(|it| it.line),
        "column": location.as_ref().and_then(|it| it.column),
    })
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
    let place = map.locate(pc);
    writeln!(ui.out, "  {NOTE}-->{NOTE:#} pc {pc}{place}: {STRONG}{text}{STRONG:#}")?;
    Ok(())
}

/// A run of bytes that changed, for people: where, before, after, and as a number if it is a word.
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

/// The words of eight bytes in which two buffers differ, neighbours joined.
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

/// A sequence that is made while it is written.
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
