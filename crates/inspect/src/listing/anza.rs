//! The listing of anza sbpf's disassembler, byte for byte.

use core::fmt::Write as _;

use selkie_isa::Op;

use crate::{Style, cfg::Graph, names::Labels, program::NamedProgram};

/// Returns the listing as anza sbpf's disassembler prints it.
///
/// A block has a label if it is a function, or if it has sources other than the previous block. A
/// function is preceded by an empty line.
#[must_use]
pub fn anza(program: &NamedProgram) -> String {
    let graph = Graph::new(program, Style::Anza);
    let names = Labels::new(program, &graph);
    let mut text = String::new();
    let mut before = None;
    for (index, it) in graph.instructions.iter().enumerate() {
        if let Some(block) = graph.block_at(it.pc) {
            let is_function = graph.functions.contains_key(&it.pc);
            if is_function || before.is_none_or(|before| block.sources != [before]) {
                let gap = if is_function && index > 0 { "\n" } else { "" };
                let _ = writeln!(text, "{gap}{}:", block.label);
            }
            let last = &graph.instructions[block.instructions.end - 1];
            before = (last.code != Op::Ja.code()).then_some(block.pc);
        }
        let _ = writeln!(text, "    {}", it.text(&names));
    }
    text
}
