//! Profiles: where the compute units of transactions go.
//!
//! Every unit is counted once: each instruction is one, syscalls take what the meter says, builtin
//! programs their cost. What is left of an invocation is the runtime's: the heap beyond 32 KiB, and
//! the units that a failure takes. So the sum is that of the receipts, to the unit.

mod collect;
pub mod compare;
pub mod format;
mod pprof;
mod shown;
mod speedscope;
mod svg;
pub mod table;

use std::{collections::BTreeMap, rc::Rc};

use selkie::Pubkey;
use selkie_replay::Timeline;

use self::collect::{Collector, Path, PathKey};
use crate::symbolize::{Line, Programs};

/// What a frame of a profile is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FrameKind {
    /// An invocation of a program.
    Program,
    /// A function.
    Function,
    /// A function that was inlined into the one above it.
    Inlined,
    /// A syscall.
    Syscall,
    /// What the runtime takes.
    Runtime,
}

/// A frame of a call stack.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ProfileFrame {
    /// What it is.
    pub kind: FrameKind,
    /// The name of the program, function or syscall.
    pub name: Rc<str>,
    /// The program that it belongs to.
    pub program: Pubkey,
    /// The file of the function, if known.
    pub file: Option<Rc<str>>,
}

/// A node of the call tree: a frame below its callers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// The frame.
    pub frame: ProfileFrame,
    /// The index of the caller.
    pub parent: Option<usize>,
    /// The compute units of the frame itself.
    pub units: u64,
    /// The instructions of the frame itself; each is a compute unit.
    pub instructions: u64,
    /// How often it was entered; of inlined functions 0, since that is not known.
    pub calls: u64,
    /// The lines that the instructions of the frame are of.
    pub lines: BTreeMap<Line, u64>,
    /// The own lines that have caused them: those of the calls that were inlined, if the function is a
    /// library's.
    pub own_lines: BTreeMap<Line, u64>,
    /// Whether the function is the user's own.
    pub is_own: bool,
    children: BTreeMap<ProfileFrame, usize>,
}

/// The compute units of transactions, as a call tree.
#[derive(Clone, Default, Debug)]
pub struct Profile {
    nodes: Vec<Node>,
    roots: BTreeMap<ProfileFrame, usize>,
    /// The compute units of all transactions.
    pub units: u64,
    /// How many transactions were added.
    pub transactions: u64,
    /// What is known of each source file.
    files: BTreeMap<Rc<str>, SourceFile>,
}

/// A source file of a profile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceFile {
    /// Its path from the package on.
    pub short: Rc<str>,
    /// The package; empty if the path does not tell.
    pub package: Rc<str>,
    /// Whether it is the user's own.
    pub is_own: bool,
}

impl Profile {
    /// Adds a transaction. Its programs are added to `programs` if they are not there.
    pub fn add(&mut self, timeline: &Timeline, programs: &mut Programs) {
        programs.add(timeline);
        let mut collector = Collector::default();
        timeline.visit(&mut collector);
        let mut nodes = Vec::with_capacity(collector.paths.len());
        for path in &collector.paths {
            let caller = path.parent.and_then(|it| nodes.get(it).copied());
            nodes.push(self.add_path(path, caller, programs));
        }
        self.transactions += 1;
        self.units += timeline.receipt().compute_units;
    }

    /// Returns the call tree; each node comes after its caller.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns what is known of a source file.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&SourceFile> {
        self.files.get(path)
    }

    /// Returns the compute units of each node with all that it calls, in the order of the nodes.
    #[must_use]
    pub fn total_units(&self) -> Vec<u64> {
        let mut totals: Vec<u64> = self.nodes.iter().map(|node| node.units).collect();
        for (index, node) in self.nodes.iter().enumerate().rev() {
            if let Some(parent) = node.parent {
                totals[parent] += totals[index];
            }
        }
        totals
    }

    /// Returns the frames of a node, outermost first.
    #[must_use]
    pub fn stack(&self, node: usize) -> Vec<&ProfileFrame> {
        let mut stack = Vec::new();
        let mut next = self.nodes.get(node);
        while let Some(node) = next {
            stack.push(&node.frame);
            next = node.parent.and_then(|parent| self.nodes.get(parent));
        }
        stack.reverse();
        stack
    }

    /// Adds a path of the collector below the node of its caller. Returns its node.
    fn add_path(&mut self, path: &Path, caller: Option<usize>, programs: &mut Programs) -> usize {
        let program = path.program;
        let name = match path.key {
            PathKey::Program => programs.name(&program),
            PathKey::Function(pc, _) => {
                let found = programs.get_mut(&program).map(|it| it.functions_at(pc));
                found.and_then(|it| Some(it.first()?.name.to_string())).unwrap_or_default()
            }
        };
        let kind = match path.key {
            PathKey::Program => FrameKind::Program,
            PathKey::Function(..) => FrameKind::Function,
        };
        let caller = match (path.key, caller) {
            (PathKey::Function(_, Some(call)), Some(caller)) => {
                Some(self.inlined(caller, program, call, programs))
            }
            _ => caller,
        };
        let node =
            self.child(caller, ProfileFrame { kind, name: name.into(), program, file: None });
        self.nodes[node].calls += path.calls;
        self.nodes[node].units += path.builtin_units;
        for (pc, count) in path.counts() {
            self.add_instructions(node, program, pc, count, programs);
        }
        for (name, (calls, units)) in &path.syscalls {
            self.add_leaf(node, FrameKind::Syscall, name, program, (*calls, *units));
        }
        if path.runtime_units > 0 {
            let units = (0, path.runtime_units);
            self.add_leaf(node, FrameKind::Runtime, "[runtime]", program, units);
        }
        node
    }

    fn add_leaf(
        &mut self,
        parent: usize,
        kind: FrameKind,
        name: &str,
        program: Pubkey,
        (calls, units): (u64, u64),
    ) {
        let leaf =
            self.child(Some(parent), ProfileFrame { kind, name: name.into(), program, file: None });
        self.nodes[leaf].calls += calls;
        self.nodes[leaf].units += units;
    }

    /// Adds the instructions at a slot, below the functions that were inlined there.
    fn add_instructions(
        &mut self,
        node: usize,
        program: Pubkey,
        pc: u32,
        count: u64,
        programs: &mut Programs,
    ) {
        let functions = programs.get_mut(&program).map(|it| it.functions_at(pc));
        let node = self.inlined(node, program, pc, programs);
        for file in functions.iter().flat_map(|it| it.iter()).filter_map(|it| it.line.as_ref()) {
            self.add_file(&file.file, program, programs);
        }
        let node = &mut self.nodes[node];
        node.units += count;
        node.instructions += count;
        let innermost = functions.as_ref().and_then(|it| it.last());
        if let Some(line) = innermost.and_then(|it| it.line.clone()) {
            *node.lines.entry(line).or_default() += count;
        }
        let own = functions.as_ref().and_then(|it| it.iter().rfind(|it| it.is_own).or(it.last()));
        if let Some(line) = own.and_then(|it| it.line.clone()) {
            *node.own_lines.entry(line).or_default() += count;
        }
    }

    /// Returns the node of the innermost function that was inlined at a slot of a function.
    fn inlined(
        &mut self,
        mut node: usize,
        program: Pubkey,
        pc: u32,
        programs: &mut Programs,
    ) -> usize {
        let functions = programs.get_mut(&program).map(|it| it.functions_at(pc));
        self.nodes[node].is_own |= functions.as_ref().is_some_and(|it| it[0].is_own);
        for inlined in functions.iter().flat_map(|it| it.iter().skip(1)) {
            let (kind, name) = (FrameKind::Inlined, Rc::clone(&inlined.name));
            let file = inlined.line.as_ref().map(|line| Rc::clone(&line.file));
            node = self.child(Some(node), ProfileFrame { kind, name, program, file });
            self.nodes[node].is_own |= inlined.is_own;
        }
        node
    }

    fn add_file(&mut self, path: &Rc<str>, program: Pubkey, programs: &Programs) {
        if self.files.contains_key(path) {
            return;
        }
        let Some(own) = programs.get(&program).map(|it| it.view.map.own()) else { return };
        let (short, package) = (own.short(path).into(), own.package(path).into());
        let file = SourceFile { short, package, is_own: own.contains(path) };
        self.files.insert(Rc::clone(path), file);
    }

    /// Returns the node of a frame below its caller.
    fn child(&mut self, parent: Option<usize>, frame: ProfileFrame) -> usize {
        let next = self.nodes.len();
        let siblings = match parent {
            Some(parent) => &mut self.nodes[parent].children,
            None => &mut self.roots,
        };
        if let Some(known) = siblings.get(&frame) {
            return *known;
        }
        siblings.insert(frame.clone(), next);
        self.nodes.push(Node {
            frame,
            parent,
            units: 0,
            instructions: 0,
            calls: 0,
            lines: BTreeMap::new(),
            own_lines: BTreeMap::new(),
            is_own: false,
            children: BTreeMap::new(),
        });
        next
    }
}
