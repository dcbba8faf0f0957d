//! What programs compare: the values that inputs would have to have to go another way.

use std::collections::BTreeSet;

use selkie::{Detail, Inspector, InvokeContext, Machine, MemoryMap, Next, SyscallCall};

use crate::call_sequence::CallSequence;

/// The most comparisons of a case that are kept.
const PAIRS_MAX: usize = 1024;
/// The most cases that are made of them.
const CANDIDATES_MAX: usize = 128;
/// The longest memory that is compared.
const MEMORY_BYTES_MAX: u64 = 64;

/// Both sides of comparisons whose sides differ, as bytes.
#[derive(Default, Debug)]
pub(crate) struct Compared {
    pairs: BTreeSet<(Vec<u8>, Vec<u8>)>,
}

impl Compared {
    fn add(&mut self, left: &[u8], right: &[u8]) {
        if left != right && self.pairs.len() < PAIRS_MAX {
            self.pairs.insert((left.to_vec(), right.to_vec()));
            self.pairs.insert((right.to_vec(), left.to_vec()));
        }
    }

    fn add_numbers(&mut self, [left, right]: [u64; 2]) {
        for (bytes, bits) in [(1, 8), (2, 16), (4, 32), (8, 64)] {
            let fits = |number: u64| bits == 64 || number >> bits == 0;
            if fits(left) && fits(right) {
                let (left, right) = (left.to_le_bytes(), right.to_le_bytes());
                let sides = left.get(..bytes).zip(right.get(..bytes));
                if let Some((left, right)) = sides {
                    self.add(left, right);
                }
            }
        }
    }

    /// Returns the values, for a dictionary.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.pairs.iter().map(|(left, _)| left)
    }

    /// Returns the cases in which one side of a comparison is replaced by the other, wherever it
    /// stands in the data.
    pub(crate) fn candidates(&self, case: &CallSequence) -> Vec<CallSequence> {
        let mut candidates = Vec::new();
        // Long values are seldom in the data by chance.
        let mut pairs: Vec<_> = self.pairs.iter().collect();
        pairs.sort_by_key(|(left, _)| core::cmp::Reverse(left.len()));
        for (left, right) in pairs {
            for (call, index) in case.calls.iter().zip(0..) {
                let places = call.data.windows(left.len()).enumerate();
                for (at, _) in places.filter(|(_, bytes)| *bytes == left.as_slice()) {
                    if candidates.len() >= CANDIDATES_MAX {
                        return candidates;
                    }
                    candidates.push(replaced(case, index, at, right));
                }
            }
        }
        candidates
    }
}

fn replaced(case: &CallSequence, call: usize, at: usize, bytes: &[u8]) -> CallSequence {
    let mut case = case.clone();
    let data = case.calls.get_mut(call).map(|call| &mut call.data);
    let place = data.and_then(|data| data.get_mut(at..)?.get_mut(..bytes.len()));
    if let Some(place) = place {
        place.copy_from_slice(bytes);
    }
    case
}

impl Inspector for Compared {
    fn detail(&self) -> Detail {
        Detail::Instructions
    }

    fn instruction(&mut self, context: &InvokeContext<'_>, machine: &mut Machine<'_>) -> Next {
        let running = context.running().map(|(_, program)| program);
        if let Some(sides) = running.and_then(|it| it.verified().compared(machine)) {
            self.add_numbers(sides);
        }
        Next::Execute
    }

    fn syscall_end(
        &mut self,
        _: &InvokeContext<'_>,
        call: &SyscallCall<'_>,
        memory: &mut MemoryMap<'_>,
        _: u64,
        _: Option<u64>,
    ) {
        let [left, right, len, ..] = call.arguments;
        if call.name != "sol_memcmp_" || len > MEMORY_BYTES_MAX {
            return;
        }
        if let (Ok(left), Ok(right)) = (memory.slice(left, len), memory.slice(right, len)) {
            self.add(left, right);
        }
    }
}
