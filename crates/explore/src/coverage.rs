//! Coverage: which branches were taken, and about how often.

use core::sync::atomic::Ordering;
use std::{collections::BTreeMap, sync::Arc};

use selkie::{BranchCounters, Pubkey, Svm};

/// The classes of counts, one bit each: 1, 2, 3, and up to 7, 15, 31, 127 and 255.
const CLASSES: [u8; 256] = classes();

#[allow(clippy::arithmetic_side_effects, reason = "computed by the compiler")]
const fn classes() -> [u8; 256] {
    let mut classes = [0; 256];
    let mut count = 1;
    while count < 256 {
        classes[count] = match count {
            1 => 1,
            2 => 2,
            3 => 4,
            4..=7 => 8,
            8..=15 => 16,
            16..=31 => 32,
            32..=127 => 64,
            _ => 128,
        };
        count += 1;
    }
    classes
}

/// What was covered so far: for each program, words of classes as its counters have counts.
#[derive(Clone, Default, Debug)]
pub(crate) struct Seen(BTreeMap<Pubkey, Vec<u64>>);

/// Something that was not covered before: program, word, bits.
pub(crate) type New = (Pubkey, usize, u64);

impl Seen {
    /// Adds bits, and returns whether any is new.
    pub(crate) fn add(&mut self, all: &[New]) -> bool {
        let mut is_new = false;
        for (program, index, bits) in all {
            let words = self.0.entry(*program).or_default();
            if words.len() <= *index {
                words.resize(index.saturating_add(1), 0);
            }
            if let Some(word) = words.get_mut(*index) {
                is_new |= bits & !*word != 0;
                *word |= bits;
            }
        }
        is_new
    }

    /// Returns the number of branch directions that were covered.
    pub(crate) fn directions(&self) -> usize {
        let bytes = self.0.values().flatten().flat_map(|word| word.to_le_bytes());
        bytes.filter(|byte| *byte != 0).count()
    }
}

/// The counters of a chain's programs, and what they have shown.
#[derive(Debug)]
pub(crate) struct Watched {
    programs: Vec<(Pubkey, Arc<BranchCounters>, Vec<u64>)>,
}

impl Watched {
    pub(crate) fn new() -> Self {
        Self { programs: Vec::new() }
    }

    /// Clears the counters.
    pub(crate) fn clear(&self) {
        self.programs.iter().for_each(|(_, counters, _)| counters.clear());
    }

    /// Reads and clears the counters. Removes what they have from `wanted`.
    pub(crate) fn take_from(&mut self, wanted: &mut Vec<New>) {
        for (program, index, bits) in wanted.iter_mut() {
            for (_, counters, _) in self.programs.iter().filter(|(id, ..)| id == program) {
                let word = counters.words().get(*index).map_or(0, |it| it.load(Ordering::Relaxed));
                *bits &= !classes_of(word);
            }
        }
        wanted.retain(|(_, _, bits)| *bits != 0);
        self.clear();
    }

    /// Finds the counters of programs that were loaded meanwhile.
    fn find_programs(&mut self, svm: &Svm) {
        for (program, counters) in svm.program_cache().branch_counters(self.programs.len()) {
            let seen = vec![0; counters.words().len()];
            self.programs.push((program, counters, seen));
        }
    }

    /// Reads and clears the counters. Raises those of a map to them, from an index on that follows from
    /// the program's address.
    pub(crate) fn count(&mut self, svm: &Svm, map: &mut [u8]) {
        self.find_programs(svm);
        for (program, counters, _) in &self.programs {
            let mut index = first_index(program, map.len());
            for word in counters.words() {
                for count in word.swap(0, Ordering::Relaxed).to_le_bytes() {
                    if let Some(counter) = map.get_mut(index) {
                        *counter = count.max(*counter);
                    }
                    index = if index.saturating_add(1) < map.len() {
                        index.saturating_add(1)
                    } else {
                        0
                    };
                }
            }
        }
    }

    /// Reads and clears the counters. Adds what was not covered before.
    pub(crate) fn take_new(&mut self, svm: &Svm, new: &mut Vec<New>) {
        self.find_programs(svm);
        for (program, counters, seen) in &mut self.programs {
            for (index, (word, seen)) in counters.words().iter().zip(seen).enumerate() {
                let counts = word.load(Ordering::Relaxed);
                if counts != 0 {
                    word.store(0, Ordering::Relaxed);
                    let bits = classes_of(counts) & !*seen;
                    if bits != 0 {
                        *seen |= bits;
                        new.push((*program, index, bits));
                    }
                }
            }
        }
    }
}

/// Returns the index in a map at which the counters of a program begin.
fn first_index(program: &Pubkey, len: usize) -> usize {
    // Addresses that were chosen begin alike, so all their bytes count (FNV-1a).
    let mix = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    let hash = program.as_ref().iter().fold(0x811c_9dc5, mix);
    usize::try_from(hash).ok().and_then(|it| it.checked_rem(len)).unwrap_or(0)
}

/// Returns the classes of eight counts.
fn classes_of(counts: u64) -> u64 {
    u64::from_le_bytes(counts.to_le_bytes().map(|it| CLASSES[usize::from(it)]))
}
