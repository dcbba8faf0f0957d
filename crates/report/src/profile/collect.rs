//! Counts instructions and syscalls by call path, while a transaction runs.

use core::ops::ControlFlow;
use std::collections::BTreeMap;

use selkie::{InstructionError, InvokeContext, MemoryMap, Pubkey, SyscallCall};
use selkie_replay::{ReachedStep, Visitor};

/// The slots of a path that are counted in a table, from its first one on. A program chooses where it
/// jumps, so a table as long as its jumps would take a program's size for each path.
const NEAR_SLOTS: usize = 512;

/// The call paths of a transaction. Calls beyond them count as part of their caller.
const PATHS_MAX: usize = 1 << 14;

/// What a path ends in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum PathKey {
    /// An invocation of the program.
    Program,
    /// A call of the function at a slot, by the instruction at another one: functions that were inlined
    /// there are callers as well. The entry is called by none.
    Function(u32, Option<u32>),
}

/// A call path: what was executed below the same callers.
#[derive(Debug)]
pub(super) struct Path {
    pub(super) parent: Option<usize>,
    pub(super) program: Pubkey,
    pub(super) key: PathKey,
    pub(super) calls: u64,
    /// Calls and compute units of each syscall.
    pub(super) syscalls: BTreeMap<String, (u64, u64)>,
    /// The units of a builtin program.
    pub(super) builtin_units: u64,
    pub(super) runtime_units: u64,
    /// The executions of the slots from `first` on, `NEAR_SLOTS` at most.
    first: u32,
    near: Vec<u64>,
    /// Those of other slots, to which the function jumps.
    far: BTreeMap<u32, u64>,
}

impl Path {
    /// Returns slots with the number of their executions.
    pub(super) fn counts(&self) -> impl Iterator<Item = (u32, u64)> {
        let near = (self.first..).zip(&self.near).map(|(pc, count)| (pc, *count));
        let far = self.far.iter().map(|(pc, count)| (*pc, *count));
        far.chain(near.filter(|(_, count)| *count > 0))
    }

    #[inline]
    fn count(&mut self, pc: u32) {
        let offset = pc.checked_sub(self.first).map(|it| it as usize);
        let Some(offset) = offset.filter(|it| *it < NEAR_SLOTS) else {
            *self.far.entry(pc).or_default() += 1;
            return;
        };
        if offset >= self.near.len() {
            self.near.resize(offset + 1, 0);
        }
        self.near[offset] += 1;
    }
}

/// An invocation in progress.
#[derive(Debug)]
struct Active {
    /// The path of the invocation, and of each function in progress.
    program: usize,
    functions: Vec<usize>,
    /// The last instruction.
    last: Option<u32>,
    /// Compute units that are accounted for: instructions, syscalls, inner invocations.
    units: u64,
    /// Compute units of the invocations that the syscall in progress has made.
    inner_units: u64,
}

/// Counts instructions and syscalls by call path.
#[derive(Default, Debug)]
pub(super) struct Collector {
    /// Each path comes after that of its caller.
    pub(super) paths: Vec<Path>,
    children: BTreeMap<(Option<usize>, Pubkey, PathKey), usize>,
    active: Vec<Active>,
}

impl Collector {
    fn path(&mut self, parent: Option<usize>, program: Pubkey, key: PathKey) -> usize {
        let Self { paths, children, .. } = self;
        let index = *children.entry((parent, program, key)).or_insert_with(|| {
            let first = match key {
                PathKey::Program => 0,
                PathKey::Function(pc, _) => pc,
            };
            paths.push(Path {
                parent,
                program,
                key,
                calls: 0,
                syscalls: BTreeMap::new(),
                builtin_units: 0,
                runtime_units: 0,
                first,
                near: Vec::new(),
                far: BTreeMap::new(),
            });
            paths.len() - 1
        });
        self.paths[index].calls += 1;
        index
    }

    /// Returns the path of a call if there is one, and otherwise that of its caller.
    fn known_path(&mut self, caller: usize, program: Pubkey, key: PathKey) -> usize {
        let known = self.children.get(&(Some(caller), program, key)).copied();
        if let Some(known) = known {
            self.paths[known].calls += 1;
        }
        known.unwrap_or(caller)
    }

    /// Returns the path of the function that executes the next instruction.
    #[inline]
    fn function(&mut self, moment: &ReachedStep<'_, '_, '_>, pc: u32) -> Option<usize> {
        let depth = moment.call_depth() + 1;
        let active = self.active.last_mut()?;
        if active.functions.len() == depth {
            return active.functions.last().copied();
        }
        active.functions.truncate(depth);
        while self.active.last()?.functions.len() < depth {
            let active = self.active.last()?;
            let parent = active.functions.last().copied().unwrap_or(active.program);
            let call = active.last.filter(|_| !active.functions.is_empty());
            let path = match self.paths.len() < PATHS_MAX {
                true => self.path(Some(parent), moment.program(), PathKey::Function(pc, call)),
                false => self.known_path(parent, moment.program(), PathKey::Function(pc, call)),
            };
            self.active.last_mut()?.functions.push(path);
        }
        self.active.last()?.functions.last().copied()
    }
}

impl Visitor for Collector {
    fn enter(&mut self, _: usize, context: &InvokeContext<'_>) {
        let caller = self.active.last();
        let parent = caller.map(|it| it.functions.last().copied().unwrap_or(it.program));
        let program = self.path(parent, context.instruction().program_id, PathKey::Program);
        self.active.push(Active {
            program,
            functions: Vec::new(),
            last: None,
            units: 0,
            inner_units: 0,
        });
    }

    fn leave(&mut self, _: usize, context: &InvokeContext<'_>, _: &Result<(), InstructionError>) {
        let Some(ended) = self.active.pop() else { return };
        let units = context.instruction().compute_units;
        let path = &mut self.paths[ended.program];
        let is_builtin = ended.functions.is_empty() && context.running().is_none();
        // Builtin programs invoke others directly, so those are not part of a syscall.
        let rest = units.saturating_sub(ended.units + ended.inner_units);
        match is_builtin {
            true => path.builtin_units += rest,
            false => path.runtime_units += rest,
        }
        if let Some(caller) = self.active.last_mut() {
            caller.inner_units += units;
        }
    }

    fn step(&mut self, moment: &mut ReachedStep<'_, '_, '_>) -> ControlFlow<()> {
        let pc = u32::try_from(moment.pc()).unwrap_or(u32::MAX);
        if let Some(path) = self.function(moment, pc) {
            self.paths[path].count(pc);
            if let Some(active) = self.active.last_mut() {
                active.units += 1;
                active.last = Some(pc);
            }
        }
        ControlFlow::Continue(())
    }

    fn syscall_end(
        &mut self,
        _: &InvokeContext<'_>,
        call: &SyscallCall<'_>,
        _: &mut MemoryMap<'_>,
        units_left: u64,
        _: Option<u64>,
    ) {
        let Some(active) = self.active.last_mut() else { return };
        let units = call.units_before.saturating_sub(units_left);
        let own = units.saturating_sub(active.inner_units);
        active.units += units;
        active.inner_units = 0;
        let path = active.functions.last().copied().unwrap_or(active.program);
        let (calls, total) = self.paths[path].syscalls.entry(call.name.to_owned()).or_default();
        *calls += 1;
        *total += own;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_to_anywhere_takes_no_more_memory_than_one_nearby() {
        let mut collector = Collector::default();
        let index = collector.path(None, Pubkey::default(), PathKey::Function(1000, None));
        let path = &mut collector.paths[index];
        for pc in [1000, 1002, 7, u32::MAX, 1000 + 511, 1000 + 512, u32::MAX] {
            path.count(pc);
        }
        assert!(path.near.capacity() <= 2 * NEAR_SLOTS);
        let mut counts: Vec<_> = path.counts().collect();
        counts.sort_unstable();
        let expected = [(7, 1), (1000, 1), (1002, 1), (1511, 1), (1512, 1), (u32::MAX, 2)];
        assert_eq!(counts, expected);
    }
}
