//! The control-flow graph: basic blocks, the edges between them, dominators, functions.
//!
//! Calls are not edges: each function is a graph of its own, and a super root reaches all of them.
//! The graph of [`Style::Anza`] equals that of anza sbpf's `static_analysis.rs` node by node. It
//! differs from the true control flow where the first block of a function falls through to the next
//! block: it lacks that edge, and treats the next block as a function if it has no other sources.
//!
//! Invariant: time is linear in the size of the program, for any program.

mod anza;
mod dominators;
mod dot;

use core::ops::Range;
use std::collections::BTreeMap;

use selkie_isa::Kind;

use crate::{
    Style,
    program::{Instruction, NamedProgram},
    symbols::{demangle, demangle_rust},
};

pub use dot::DotOptions;

/// A control-flow graph.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The conventions that it follows.
    pub style: Style,
    /// The instructions, in order.
    pub instructions: Vec<Instruction>,
    /// The basic blocks in order; the super root comes last. Empty if there are no instructions.
    pub blocks: Vec<Block>,
    /// The names of functions, not demangled, by the slot of the first instruction.
    pub functions: BTreeMap<u32, String>,
    /// The index of the block that starts at each slot, and of the super root.
    starts: Vec<Option<u32>>,
}

/// A basic block: control enters at its first instruction and leaves at its last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// The slot of the first instruction. That of the super root is the slot after the last one.
    pub pc: u32,
    /// The demangled name of the function that starts here, or else `lbb_` and the slot. In anza's
    /// style Rust names keep their hash, and C++ names are mangled.
    pub label: String,
    /// The slots of the preceding blocks, one for each edge.
    pub sources: Vec<u32>,
    /// The slots of the following blocks. That of a branch not taken comes first.
    pub destinations: Vec<u32>,
    /// The indices of its instructions in [`Graph::instructions`].
    pub instructions: Range<usize>,
    /// The slot of the immediate dominator: the last block on every path from the super root to this
    /// one. The super root is its own.
    pub idom: u32,
}

impl Graph {
    /// Builds the graph of a program.
    #[must_use]
    pub fn new(program: &NamedProgram, style: Style) -> Self {
        let mut graph = Self::split(program, style);
        if graph.blocks.is_empty() {
            return graph;
        }
        graph.link(program);
        match style {
            Style::Anza => {
                let order = anza::Order::of(&graph);
                graph.root(&order.roots(&graph));
                graph.name_roots();
                let idoms = order.dominators(&graph);
                graph.set_dominators(&idoms.unwrap_or_else(|| dominators::of(&graph)));
            }
            Style::Selkie => {
                let roots = dominators::roots(&graph);
                graph.root(&roots);
                let idoms = dominators::of(&graph);
                graph.set_dominators(&idoms);
            }
        }
        graph.label();
        graph
    }

    /// Returns the block that starts at slot `pc`.
    #[must_use]
    pub fn block_at(&self, pc: u32) -> Option<&Block> {
        self.index_of(pc).map(|index| &self.blocks[index])
    }

    /// Returns the block with edges to every function; `None` if there are no instructions.
    #[must_use]
    pub fn super_root(&self) -> Option<&Block> {
        self.blocks.last()
    }

    /// Returns the first slot of a function given by name, mangled or not, or by that slot as text.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<u32> {
        let is_meant = |pc: u32, known: &str| {
            known == name || demangle(known) == name || name.parse() == Ok(pc)
        };
        let found = self.functions.iter().find(|(pc, known)| is_meant(**pc, known));
        found.map(|(pc, _)| *pc)
    }

    /// Returns slots and blocks of each function, which extends to the start of the next one. In
    /// anza's style the instructions before the first function are left out.
    pub fn by_function(&self) -> impl Iterator<Item = (Range<u32>, &[Block])> {
        let starts: Vec<u32> = self.functions.keys().copied().collect();
        let end = self.super_root().map_or(0, |root| root.pc);
        (0..starts.len()).map(move |it| {
            let range = starts[it]..starts.get(it + 1).copied().unwrap_or(end);
            let position = |pc| self.blocks.partition_point(|block| block.pc < pc);
            (range.clone(), &self.blocks[position(range.start)..position(range.end)])
        })
    }

    fn index_of(&self, pc: u32) -> Option<usize> {
        self.starts.get(pc as usize).copied().flatten().map(|index| index as usize)
    }

    /// Returns the indices of the blocks that start at `pcs`.
    fn indices(&self, pcs: &[u32]) -> impl DoubleEndedIterator<Item = usize> {
        pcs.iter().filter_map(|&pc| self.index_of(pc))
    }

    /// Splits the program into blocks without edges.
    fn split(program: &NamedProgram, style: Style) -> Self {
        let instructions = program.instructions(style);
        let slots = program.slot_count() as usize;
        let mut is_instruction = vec![false; slots];
        instructions.iter().for_each(|it| is_instruction[it.pc as usize] = true);
        let mut functions = match style {
            Style::Anza => program.registered(),
            Style::Selkie => program.functions().clone(),
        };
        functions.retain(|&pc, _| is_instruction.get(pc as usize) == Some(&true));

        let mut is_leader = vec![false; slots];
        let mut lead = |pc: i64| {
            let leader = usize::try_from(pc).ok().and_then(|pc| is_leader.get_mut(pc));
            leader.into_iter().for_each(|it| *it = true);
        };
        lead(0);
        functions.keys().for_each(|&pc| lead(pc.into()));
        for it in &instructions {
            if let Some(exits) = Exits::of(program, it) {
                lead(i64::from(it.pc) + 1);
                exits.edges().chain(exits.callee).for_each(&mut lead);
            }
        }

        let starts = vec![None; slots + 1];
        let mut graph = Self { style, instructions, blocks: vec![], functions, starts };
        for (index, it) in graph.instructions.iter().enumerate() {
            if is_leader[it.pc as usize] {
                graph.starts[it.pc as usize] = u32::try_from(graph.blocks.len()).ok();
                graph.blocks.push(Block::new(it.pc, index));
            }
            graph.blocks.last_mut().expect("slot 0 leads a block").instructions.end = index + 1;
        }
        graph
    }

    /// Adds the edges.
    fn link(&mut self, program: &NamedProgram) {
        for index in 0..self.blocks.len() {
            let block = &self.blocks[index];
            let last = &self.instructions[block.instructions.end - 1];
            let quirk = self.style == Style::Anza && self.functions.contains_key(&block.pc);
            let destinations: Vec<u32> = match Exits::of(program, last) {
                Some(exits) => {
                    let known =
                        |pc: i64| u32::try_from(pc).ok().filter(|&it| self.index_of(it).is_some());
                    exits.edges().filter_map(known).collect()
                }
                None if quirk => vec![],
                None => self.blocks.get(index + 1).map(|next| next.pc).into_iter().collect(),
            };
            let from = block.pc;
            let reached: Vec<usize> = self.indices(&destinations).collect();
            reached.into_iter().for_each(|to| self.blocks[to].sources.push(from));
            self.blocks[index].destinations = destinations;
        }
    }

    /// Adds the super root, with edges to `roots`.
    fn root(&mut self, roots: &[usize]) {
        let pc = u32::try_from(self.starts.len() - 1).unwrap_or(u32::MAX);
        let mut root = Block::new(pc, self.instructions.len());
        for &index in roots {
            root.destinations.push(self.blocks[index].pc);
            self.blocks[index].sources.push(pc);
        }
        self.starts[pc as usize] = u32::try_from(self.blocks.len()).ok();
        self.blocks.push(root);
    }

    /// Registers the destinations of the super root as functions.
    fn name_roots(&mut self) {
        let root = self.blocks.last().expect("the super root was added");
        for &pc in &root.destinations {
            self.functions.entry(pc).or_insert_with(|| format!("function_{pc}"));
        }
    }

    fn set_dominators(&mut self, idoms: &[usize]) {
        for (index, &idom) in idoms.iter().enumerate() {
            self.blocks[index].idom = self.blocks[idom].pc;
        }
    }

    fn label(&mut self) {
        for block in &mut self.blocks {
            block.label = match self.functions.get(&block.pc) {
                Some(name) if self.style == Style::Anza => demangle_rust(name),
                Some(name) => demangle(name),
                None => format!("lbb_{}", block.pc),
            };
        }
        let root = self.blocks.last_mut().expect("the super root was added");
        root.label = "super_root".to_owned();
    }
}

impl Block {
    fn new(pc: u32, first: usize) -> Self {
        let (label, sources, destinations) = (String::new(), vec![], vec![]);
        Self { pc, label, sources, destinations, instructions: first..first, idom: pc }
    }
}

/// The ways in which control leaves a block after its last instruction.
struct Exits {
    next: Option<i64>,
    taken: Option<i64>,
    callee: Option<i64>,
}

impl Exits {
    /// Returns the exits of an instruction; `None` if it is not a jump, a return or a function call,
    /// and so does not end a block.
    fn of(program: &NamedProgram, it: &Instruction) -> Option<Self> {
        let insn = it.insn.as_ref()?;
        let next = Some(i64::from(it.pc) + 1);
        let taken = insn.jump_target(it.pc as usize);
        Some(match insn.op.kind() {
            Kind::Jump => Self { next: None, taken, callee: None },
            Kind::Branch(..) => Self { next, taken, callee: None },
            Kind::Exit => Self { next: None, taken: None, callee: None },
            Kind::CallReg(_) => Self { next, taken: None, callee: None },
            _ => Self { next, taken: None, callee: Some(program.callee(it.pc, insn)?.into()) },
        })
    }

    fn edges(&self) -> impl Iterator<Item = i64> + use<> {
        self.next.into_iter().chain(self.taken)
    }
}
