//! Graphviz output.

use core::fmt::{self, Write};

use selkie_isa::{Kind, syntax::Names};

use super::{Block, Graph};

/// The options of [`Graph::dot`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DotOptions {
    /// Draw a dotted line from each block to its immediate dominator.
    pub dominators: bool,
    /// Draw only the function that starts at this slot.
    pub function: Option<u32>,
}

/// Colours of edges: unconditional, branch taken, branch not taken.
const PLAIN: &str = "#555555";
const TAKEN: &str = "#2e7d32";
const NOT_TAKEN: &str = "#c62828";

const HEADER: &str = r##"digraph program {
  graph [fontname="Helvetica", rankdir=TB, compound=true, style=rounded, color="#9e9e9e"];
  node [fontname="monospace", fontsize=10, shape=box, style=filled, fillcolor="#fafafa"];
  edge [fontname="Helvetica", fontsize=9, arrowsize=0.7];
"##;

impl Graph {
    /// Returns the graph in the DOT language: a cluster for each function, a box for each block.
    /// Green edges are branches taken, red ones branches not taken.
    #[must_use]
    pub fn dot(&self, names: &dyn Names, options: &DotOptions) -> String {
        let mut text = String::from(HEADER);
        let drawn = self.by_function();
        let drawn = drawn.filter(|(range, _)| options.function.is_none_or(|it| it == range.start));
        for (range, blocks) in drawn {
            self.cluster(&mut text, range.start, blocks, names, options)
                .expect("writing to a string does not fail");
        }
        text + "}\n"
    }

    fn cluster(
        &self,
        out: &mut String,
        start: u32,
        blocks: &[Block],
        names: &dyn Names,
        options: &DotOptions,
    ) -> fmt::Result {
        let Some(first) = blocks.first() else { return Ok(()) };
        writeln!(out, "  subgraph cluster_{start} {{")?;
        writeln!(out, "    label=\"{}\";", Escaped(&first.label))?;
        for block in blocks {
            write!(out, "    b{} [label=\"{}:\\l", block.pc, Escaped(&block.label))?;
            for it in &self.instructions[block.instructions.clone()] {
                let text = it.text(names).to_string();
                write!(out, "{:>6}  {}\\l", it.pc, Escaped(&text))?;
            }
            writeln!(out, "\"];")?;
        }
        writeln!(out, "  }}")?;
        for block in blocks {
            self.edges(out, block, options)?;
        }
        Ok(())
    }

    fn edges(&self, out: &mut String, block: &Block, options: &DotOptions) -> fmt::Result {
        let last = self.instructions[block.instructions.clone()].last();
        let branches = last
            .and_then(|it| it.insn)
            .is_some_and(|insn| matches!(insn.op.kind(), Kind::Branch(..)));
        let taken = last.and_then(|it| it.insn?.jump_target(it.pc as usize));
        for (position, &to) in block.destinations.iter().enumerate() {
            let is_taken = taken == Some(to.into()) && position + 1 == block.destinations.len();
            let color = match (branches, is_taken) {
                (false, _) => PLAIN,
                (true, true) => TAKEN,
                (true, false) => NOT_TAKEN,
            };
            let weight = if is_taken { 1 } else { 4 };
            writeln!(out, "  b{} -> b{to} [color=\"{color}\", weight={weight}];", block.pc)?;
        }
        let is_inner = self.super_root().is_some_and(|root| root.pc != block.idom);
        if options.dominators && is_inner {
            let style = "style=dotted, color=\"#1565c0\", constraint=false, arrowhead=none";
            writeln!(out, "  b{} -> b{} [{style}];", block.idom, block.pc)?;
        }
        Ok(())
    }
}

/// Text escaped for double quotes in the DOT language.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for char in self.0.chars() {
            match char {
                '"' | '\\' => write!(f, "\\{char}")?,
                char if char.is_control() => f.write_char(' ')?,
                char => f.write_char(char)?,
            }
        }
        Ok(())
    }
}
