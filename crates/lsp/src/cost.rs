//! What code costs, in compute units: one per instruction, plus the costs of syscalls.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
};

use selkie_asm::Assembly;
use selkie_isa::{Insn, Kind, Version};
use selkie_protocol::syscalls::{self, Syscall};

/// What code costs from an instruction on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cost {
    /// Compute units up to the next jump, branch, call by address or exit, which is included.
    pub(crate) straight: u64,
    /// The fewest compute units up to the end of the function; `None` if no path leads there.
    pub(crate) min: Option<u64>,
    /// The most compute units; `None` if there is no bound, because of a loop or a syscall's cost.
    pub(crate) max: Option<u64>,
}

/// Where control goes after an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flow {
    /// Nowhere: the slot is past the end, or the second one of `lddw`.
    Nowhere,
    Next,
    Jump(usize),
    Branch(usize),
    /// To a function, and then to the next instruction.
    Call(usize),
    /// To an unknown function, and then to the next instruction.
    CallUnknown,
    End,
}

/// The costs of a program, by slot.
#[derive(Debug)]
pub(crate) struct Costs {
    flows: Vec<Flow>,
    /// The least that the instruction costs by itself, and whether it always costs that.
    slot_costs: Vec<(u64, bool)>,
    next: Vec<usize>,
    mins: Vec<Option<u64>>,
    maxs: Vec<Option<u64>>,
}

impl Costs {
    pub(crate) fn new(assembly: &Assembly) -> Self {
        let slots = assembly.text.len() / 8;
        let mut costs = Self {
            flows: vec![Flow::Nowhere; slots],
            slot_costs: vec![(0, true); slots],
            next: (1..=slots).collect(),
            mins: vec![None; slots],
            maxs: vec![None; slots],
        };
        let syscalls = Syscalls::new(assembly);
        let mut pc = 0;
        while pc < slots {
            let Some(insn) = Insn::decode(assembly.version, &assembly.text, pc) else {
                pc += 1;
                continue;
            };
            costs.next[pc] = pc + insn.slots();
            (costs.flows[pc], costs.slot_costs[pc]) = instruction(&insn, pc, slots, &syscalls);
            pc += insn.slots().max(1);
        }
        costs.find_mins();
        costs.find_maxs();
        costs
    }

    /// Returns what code costs from slot `pc` on.
    pub(crate) fn at(&self, pc: usize) -> Option<Cost> {
        let mut straight = 0_u64;
        let mut at = pc;
        while let Some(flow) = self.flows.get(at) {
            straight = straight.saturating_add(self.slot_costs[at].0);
            if !matches!(flow, Flow::Next | Flow::Call(_)) {
                break;
            }
            at = self.next[at];
        }
        let min = *self.mins.get(pc)?;
        Some(Cost { straight, min, max: self.maxs[pc] })
    }

    /// Returns the slots that the costs of one depend on: for `Call`, on both of them.
    fn follows(&self, pc: usize) -> [Option<usize>; 2] {
        let next = Some(self.next[pc]);
        match self.flows[pc] {
            Flow::Nowhere | Flow::End => [None, None],
            Flow::Next | Flow::CallUnknown => [next, None],
            Flow::Jump(to) => [Some(to), None],
            Flow::Branch(to) | Flow::Call(to) => [next, Some(to)],
        }
    }

    /// Computes minimums in ascending order; a call needs those of its function and of what follows.
    fn find_mins(&mut self) {
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); self.flows.len()];
        let mut queue = BinaryHeap::new();
        for pc in 0..self.flows.len() {
            for to in self.follows(pc).into_iter().flatten() {
                if let Some(before) = before.get_mut(to) {
                    before.push(pc);
                }
            }
            if self.flows[pc] == Flow::End {
                queue.push(Reverse((self.slot_costs[pc].0, pc)));
            }
        }
        while let Some(Reverse((compute_units, pc))) = queue.pop() {
            if self.mins[pc].is_some() {
                continue;
            }
            self.mins[pc] = Some(compute_units);
            for &from in before[pc].iter().filter(|it| self.mins[**it].is_none()) {
                let rest = match self.flows[from] {
                    Flow::Call(to) => {
                        let min = |at: usize| self.mins.get(at).copied().flatten();
                        min(to).zip(min(self.next[from])).map(|(a, b)| a.saturating_add(b))
                    }
                    _ => Some(compute_units),
                };
                if let Some(rest) = rest {
                    queue.push(Reverse((self.slot_costs[from].0.saturating_add(rest), from)));
                }
            }
        }
    }

    /// Computes maximums, depth first and without recursion. Code on a loop, or that can reach one, has
    /// none.
    fn find_maxs(&mut self) {
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            New,
            Open,
            Done,
        }
        let mut states = vec![State::New; self.flows.len()];
        for start in 0..self.flows.len() {
            let mut stack = vec![start];
            while let Some(&pc) = stack.last() {
                if states[pc] != State::New {
                    stack.pop();
                    if states[pc] == State::Open {
                        self.maxs[pc] = self.max(pc, |at| states[at] == State::Done);
                        states[pc] = State::Done;
                    }
                    continue;
                }
                states[pc] = State::Open;
                let follows = self.follows(pc).into_iter().flatten();
                stack.extend(follows.filter(|to| states.get(*to) == Some(&State::New)));
            }
        }
    }

    fn max(&self, pc: usize, is_done: impl Fn(usize) -> bool) -> Option<u64> {
        let (compute_units, true) = self.slot_costs[pc] else { return None };
        let max = |at: usize| {
            let known = self.flows.get(at).is_some_and(|_| is_done(at));
            known.then(|| self.maxs[at]).flatten()
        };
        let rest = match self.flows[pc] {
            Flow::Nowhere | Flow::CallUnknown => return None,
            Flow::End => 0,
            Flow::Next => max(self.next[pc])?,
            Flow::Jump(to) => max(to)?,
            Flow::Branch(to) => max(self.next[pc])?.max(max(to)?),
            Flow::Call(to) => max(self.next[pc])?.saturating_add(max(to)?),
        };
        Some(compute_units.saturating_add(rest))
    }
}

/// The syscalls that a program calls, by slot.
struct Syscalls<'a> {
    version: Version,
    by_pc: BTreeMap<usize, &'a str>,
}

impl<'a> Syscalls<'a> {
    fn new(assembly: &'a Assembly) -> Self {
        let by_pc = assembly.syscalls.iter().map(|(pc, name)| (*pc as usize, name.as_str()));
        Self { version: assembly.version, by_pc: by_pc.collect() }
    }

    /// Returns the syscall that a call at `pc` calls: `None` if it calls a function, `Some(None)` for an
    /// unknown syscall.
    fn called(&self, insn: &Insn, pc: usize) -> Option<Option<&'static Syscall>> {
        if self.version.static_calls() {
            let key = u32::from_le_bytes(insn.imm.to_le_bytes()[..4].try_into().ok()?);
            return (insn.src == 0).then(|| syscalls::find_hash(key));
        }
        self.by_pc.get(&pc).map(|name| syscalls::find(name))
    }
}

/// Returns where control goes after an instruction, and its own cost.
fn instruction(
    insn: &Insn,
    pc: usize,
    slots: usize,
    syscalls: &Syscalls<'_>,
) -> (Flow, (u64, bool)) {
    let within = |slot: i64| usize::try_from(slot).ok().filter(|slot| *slot < slots);
    let one = (1, true);
    match insn.op.kind() {
        Kind::Exit => (Flow::End, one),
        Kind::Jump => {
            (insn.jump_target(pc).and_then(within).map_or(Flow::Nowhere, Flow::Jump), one)
        }
        Kind::Branch(..) => {
            (insn.jump_target(pc).and_then(within).map_or(Flow::Nowhere, Flow::Branch), one)
        }
        Kind::CallReg(_) => (Flow::CallUnknown, (1, false)),
        Kind::CallHash | Kind::CallStatic => match syscalls.called(insn, pc) {
            Some(Some(syscall)) => {
                let ends = matches!(syscall.name, "abort" | "sol_panic_");
                (
                    if ends { Flow::End } else { Flow::Next },
                    (1 + syscall.cost.minimum(), syscall.cost.is_fixed()),
                )
            }
            Some(None) => (Flow::Next, (1, false)),
            None => {
                let callee = i64::try_from(pc).ok().and_then(|it| within(it + 1 + insn.imm));
                (callee.map_or(Flow::CallUnknown, Flow::Call), one)
            }
        },
        Kind::Tail => (Flow::Nowhere, (0, true)),
        _ => (Flow::Next, one),
    }
}

#[cfg(test)]
mod tests {
    use selkie_asm::{Options, assemble};

    use super::*;

    fn check(source: &str, expected: (u64, Option<u64>, Option<u64>)) {
        for version in Version::ALL {
            let output = assemble(source, &Options { version, ..Options::default() });
            let assembly = output.assembly.expect("the source assembles");
            let pc = assembly.entry_pc as usize;
            let Cost { straight, min, max } =
                Costs::new(&assembly).at(pc).expect("the slot exists");
            assert_eq!((straight, min, max), expected, "{source} {version}");
        }
    }

    #[test]
    fn straight_code_costs_its_length_and_its_syscalls() {
        check("entrypoint: mov64 r0, 0\nexit", (2, Some(2), Some(2)));
        check("entrypoint: call sol_log_64_\nexit", (102, Some(102), Some(102)));
        check("entrypoint: call sol_log_\nexit", (102, Some(102), None));
        check("entrypoint: call abort", (1, Some(1), Some(1)));
    }

    #[test]
    fn branches_have_a_cheapest_and_a_dearest_path() {
        let source = "entrypoint: jeq r1, 0, out\nmov64 r0, 1\nmov64 r0, 2\nout: exit";
        check(source, (1, Some(2), Some(4)));
    }

    #[test]
    fn loops_have_no_maximum() {
        check("entrypoint: mov64 r1, 3\n1: sub64 r1, 1\njne r1, 0, 1b\nexit", (3, Some(4), None));
        check("entrypoint: ja entrypoint\nexit", (1, None, None));
    }

    #[test]
    fn calls_cost_what_their_functions_cost() {
        let source = "entrypoint: call f\ncall f\nexit\nf: jeq r1, 0, 1f\nmov64 r0, 0\n1: exit";
        check(source, (3, Some(7), Some(9)));
        check("entrypoint: mov64 r0, 0\ncall entrypoint\nexit", (3, None, None));
        check("entrypoint: callx r3\nexit", (1, Some(2), None));
    }
}
