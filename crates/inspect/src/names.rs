//! Names for what jumps and calls refer to, taken from a graph.

use std::borrow::Cow;

use selkie_isa::syntax::{Names, Target};

use crate::{cfg::Graph, program::Program};

/// The labels of a graph's blocks and the names of functions and syscalls: what
/// [`Insn::display`](selkie_isa::Insn::display) asks for in listings and traces.
#[derive(Clone, Copy, Debug)]
pub struct Labels<'a> {
    program: &'a Program,
    graph: &'a Graph,
}

impl<'a> Labels<'a> {
    /// The names that `graph` gives to `program`.
    #[must_use]
    pub fn new(program: &'a Program, graph: &'a Graph) -> Self {
        Self { program, graph }
    }

    fn function(&self, key: u32) -> Option<Cow<'a, str>> {
        let registered = self.program.executable().functions().get(key);
        if let Some(function) = registered.filter(|it| !it.name.is_empty()) {
            return Some(Cow::Borrowed(&function.name));
        }
        let is_static = self.program.version().static_calls();
        let pc = if is_static { key } else { registered?.pc };
        self.graph.block_at(pc).map(|block| Cow::Borrowed(block.label.as_str()))
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
