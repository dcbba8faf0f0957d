//! Inlay hints: compute units at labels and calls.

use core::ops::Range;
use std::rc::Rc;

use lsp_types::{InlayHint, InlayHintLabel, InlayHintTooltip};
use selkie_asm::syntax::Statement;
use selkie_protocol::syscalls;

use crate::{
    analysis::Analysis,
    cost::Cost,
    describe,
    index::{Key, Role},
    source::{Source, defined},
};

/// Returns the hints in a range of a source.
pub(crate) fn hints(
    unit: &[Rc<Source>],
    source: &Source,
    analysis: &Analysis,
    range: Range<usize>,
) -> Vec<InlayHint> {
    let mut hints = Vec::new();
    if let Some(costs) = analysis.costs() {
        let labels = source.index.definitions().filter(|it| it.role == Role::Label);
        let mut last = None;
        for label in
            labels.filter(|it| range.start <= it.range.start && it.range.start <= range.end)
        {
            let Key::Symbol(name) = &label.key else { continue };
            let cost = analysis.label_pc(name).and_then(|pc| costs.at(pc));
            // One hint for all labels of a line.
            if let Some(cost) = cost.filter(|_| last != Some(label.line)) {
                last = Some(label.line);
                hints.push(hint(source, label.line, short(cost), long(cost)));
            }
        }
    }
    let names = defined(unit);
    let first = source.file.line_at(range.start);
    for (number, line) in source.file.lines().iter().enumerate().skip(first) {
        if line.range.start > range.end {
            break;
        }
        let Statement::Instruction = line.statement else { continue };
        let word = source.file.word(line);
        let is_call = word.is_some_and(|it| matches!(source.file.slice(&it), "call" | "syscall"));
        let Some(callee) = source.file.operands(line).next().filter(|_| is_call) else { continue };
        let name = source.file.slice(&callee);
        let is_label = names.contains_key(&Key::Symbol(name.to_owned()));
        if let Some(syscall) = syscalls::find(name).filter(|_| !is_label) {
            let text = describe::cost(syscall);
            hints.push(hint(source, number, text, describe::syscall(syscall)));
        }
    }
    hints.sort_by_key(|it| (it.position.line, it.position.character));
    hints
}

/// Returns a hint after the code of a line.
fn hint(source: &Source, line: usize, label: String, tooltip: String) -> InlayHint {
    let line = &source.file.lines()[line];
    let tokens =
        source.file.labels(line).chain(source.file.word(line)).chain(source.file.operands(line));
    let end = tokens.last().map_or(line.range.end, |it| it.range.end);
    InlayHint {
        position: source.range(end..end).start,
        label: InlayHintLabel::String(label),
        kind: None,
        text_edits: None,
        tooltip: Some(InlayHintTooltip::MarkupContent(lsp_types::MarkupContent {
            kind: lsp_types::MarkupKind::Markdown,
            value: tooltip,
        })),
        padding_left: Some(true),
        padding_right: None,
        data: None,
    }
}

/// Abbreviates a cost: `4 CU to exit`, `4–12 CU to exit`, `4… CU to exit`.
fn short(cost: Cost) -> String {
    match (cost.min, cost.max) {
        (Some(min), Some(max)) if min == max => format!("{min} CU to exit"),
        (Some(min), Some(max)) => format!("{min}–{max} CU to exit"),
        (Some(min), None) => format!("{min}… CU to exit"),
        (None, _) => format!("{} CU to the jump", cost.straight),
    }
}

/// Describes a cost in sentences.
pub(crate) fn long(cost: Cost) -> String {
    let way = match (cost.min, cost.max) {
        (Some(min), Some(max)) if min == max => format!("{min} CU up to the end of the function"),
        (Some(min), Some(max)) => {
            format!("{min} to {max} CU up to the end of the function, depending on the path")
        }
        (Some(min), None) => format!(
            "at least {min} CU up to the end of the function; with loops, or costs that depend on \
             arguments, there is no upper bound"
        ),
        (None, _) => "no path leads to the end of the function".to_owned(),
    };
    format!("{} CU up to the next jump, branch or exit; {way}", cost.straight)
}
