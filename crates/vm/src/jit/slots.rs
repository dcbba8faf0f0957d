//! Sets of slots, as bits.

use core::ops::Range;

/// Slots per word.
const BITS: usize = 64;

/// A set of the slots of a program.
#[derive(Debug)]
pub(super) struct Slots(Vec<u64>);

impl Slots {
    pub(super) fn new(len: usize) -> Self {
        Self(vec![0; len / BITS + 1])
    }

    /// Inserts a slot and returns whether it is new. Slots beyond the program are ignored.
    #[inline(always)]
    pub(super) fn insert(&mut self, slot: usize) -> bool {
        let Some(word) = self.0.get_mut(slot / BITS) else { return false };
        let before = *word;
        *word |= 1 << (slot % BITS);
        *word != before
    }

    #[inline(always)]
    pub(super) fn contains(&self, slot: usize) -> bool {
        self.0.get(slot / BITS).is_some_and(|word| word >> (slot % BITS) & 1 == 1)
    }

    pub(super) fn remove(&mut self, slot: usize) {
        if let Some(word) = self.0.get_mut(slot / BITS) {
            *word &= !(1 << (slot % BITS));
        }
    }

    /// Inserts the slots of a range within the program.
    pub(super) fn insert_all(&mut self, range: Range<usize>) {
        for_words(range, |index, mask| self.0[index] |= mask);
    }

    /// Removes the slots of a range within the program.
    pub(super) fn remove_all(&mut self, range: Range<usize>) {
        for_words(range, |index, mask| self.0[index] &= !mask);
    }

    /// Calls `work` with the slots of a range within the program that are in the set, in order.
    pub(super) fn for_each_in(&self, range: Range<usize>, mut work: impl FnMut(usize)) {
        for_words(range, |index, mask| {
            let mut bits = self.0[index] & mask;
            while bits != 0 {
                work(index * BITS + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        });
    }

    #[inline(always)]
    fn word(&self, index: usize) -> u64 {
        self.0.get(index).copied().unwrap_or(0)
    }
}

/// Returns the first slot from `from` on that is in one of the sets or whose bit in `words` is set,
/// or a number beyond all words.
#[inline(always)]
pub(super) fn next_slot<const N: usize>(words: &[u64], sets: [&Slots; N], from: usize) -> usize {
    let mut index = from / BITS;
    let mut mask = u64::MAX << (from % BITS);
    while let Some(word) = words.get(index) {
        let bits = sets.iter().fold(*word, |bits, set| bits | set.word(index)) & mask;
        if bits != 0 {
            return index * BITS + bits.trailing_zeros() as usize;
        }
        mask = u64::MAX;
        index += 1;
    }
    index * BITS
}

/// Calls `work` with the index of each word that has slots of a range, and the mask of those slots.
#[inline(always)]
fn for_words(range: Range<usize>, mut work: impl FnMut(usize, u64)) {
    let (first, last) = (range.start / BITS, range.end / BITS);
    let from = u64::MAX << (range.start % BITS);
    let to = !(u64::MAX << (range.end % BITS));
    if first == last {
        return work(first, from & to);
    }
    work(first, from);
    (first + 1..last).for_each(|index| work(index, u64::MAX));
    work(last, to);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_single_slots() {
        for start in [0, 1, 62, 63, 64, 65, 127, 128, 130] {
            for end in start..200 {
                let (mut slots, mut expected) = (Slots::new(200), Vec::new());
                slots.insert_all(start..end);
                slots.for_each_in(0..200, |slot| expected.push(slot));
                assert_eq!(expected, (start..end).collect::<Vec<_>>());
                let others = Slots::new(200);
                let words = [0; 4];
                let next = next_slot(&words, [&slots, &others], 0);
                assert_eq!(next, if start < end { start } else { 256 });
                slots.remove_all(start..end);
                assert!(!(0..200).any(|slot| slots.contains(slot)));
            }
        }
    }
}
