//! Names for the targets of jumps and calls, from a control-flow graph.

use std::borrow::Cow;

use selkie_isa::syntax::{Names, Target};

use crate::{Style, cfg::Graph, program::NamedProgram};

/// The labels of a graph's blocks and the names of functions and syscalls, for
/// [`Insn::display`](selkie_isa::Insn::display) in listings and traces.
#[derive(Clone, Copy, Debug)]
pub struct Labels<'a> {
    program: &'a NamedProgram,
    graph: &'a Graph,
}

impl<'a> Labels<'a> {
    /// Makes the names for `program` from its graph.
    #[must_use]
    pub fn new(program: &'a NamedProgram, graph: &'a Graph) -> Self {
        Self { program, graph }
    }

    fn function(&self, key: u32) -> Option<Cow<'a, str>> {
        let registered = self.program.executable().functions().get(key);
        let is_static = self.program.version().static_calls();
        let pc = if is_static { Some(key) } else { registered.map(|it| it.pc) };
        let label = pc.and_then(|pc| self.graph.block_at(pc)).map(|block| block.label.as_str());
        let name = registered.map(|it| it.name.as_str());
        let preferred = match self.graph.style {
            Style::Anza => name.or(label),
            Style::Selkie => label.or(name),
        };
        preferred.map(Cow::Borrowed)
    }
}

impl Names for Labels<'_> {
    fn name(&self, target: Target) -> Option<Cow<'_, str>> {
        match target {
            Target::Slot(slot) => {
                let block = u32::try_from(slot).ok().and_then(|pc| self.graph.block_at(pc));
                Some(Cow::Borrowed(block.map_or("[invalid]", |block| &block.label)))
            }
            Target::Function(key) => self.function(key),
            Target::Syscall(key) => self.program.syscall(key).map(Cow::Borrowed),
        }
    }
}
