//! The set of a bank's ancestors.
//!
//! Banks are numbered in order of creation: a child's number is higher than its parent's, and a
//! bank that reuses the slot of a dead one has another number. Every live bank is the root or
//! descends from it, so any bank with a number up to the root's that still has versions is an
//! ancestor of all of them.

/// The number of a bank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct BankId(pub(crate) u64);

/// A bank and its ancestors.
#[derive(Clone, Debug)]
pub(crate) struct Ancestors {
    bank: BankId,
    /// The root when the bank was created.
    root: BankId,
    /// A bit per bank created after the root.
    bits: Box<[u64]>,
}

impl Ancestors {
    /// Returns the set of a root, which includes all earlier banks.
    pub(crate) fn root(bank: BankId) -> Self {
        Self { bank, root: bank, bits: Box::default() }
    }

    /// Returns the set of a child of this bank, which is the current root or descends from it.
    pub(crate) fn child(&self, bank: BankId, root: BankId) -> Self {
        let words = bit_index(root, bank).map_or(0, |(word, _)| word.saturating_add(1));
        let mut bits = vec![0; words].into_boxed_slice();
        if root == self.root {
            bits.iter_mut().zip(&self.bits).for_each(|(to, from)| *to = *from);
        } else {
            // The root has advanced, which happens less often than the creation of banks.
            let after_root = root.0.saturating_add(1)..=self.bank.0;
            for id in after_root.map(BankId).filter(|id| self.contains(*id)) {
                set(&mut bits, root, id);
            }
        }
        set(&mut bits, root, bank);
        Self { bank, root, bits }
    }

    /// Returns the bank itself.
    pub(crate) fn bank(&self) -> BankId {
        self.bank
    }

    /// Returns whether a bank is in the set. `id` must be live, rooted, or without versions.
    pub(crate) fn contains(&self, id: BankId) -> bool {
        match bit_index(self.root, id) {
            None => true,
            Some((word, bit)) => self.bits.get(word).is_some_and(|bits| bits >> bit & 1 == 1),
        }
    }
}

fn set(bits: &mut [u64], root: BankId, id: BankId) {
    if let Some((word, bit)) = bit_index(root, id)
        && let Some(bits) = bits.get_mut(word)
    {
        *bits |= 1 << bit;
    }
}

/// Returns the word and the bit of a bank; `None` if it is not after the root.
fn bit_index(root: BankId, id: BankId) -> Option<(usize, u32)> {
    let after = id.0.checked_sub(root.0)?.checked_sub(1)?;
    let bit = u32::try_from(after % 64).expect("the remainder is below 64");
    // No machine has enough memory for so many banks that this conversion fails.
    Some((usize::try_from(after / 64).unwrap_or(usize::MAX), bit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_has_its_parents_ancestors() {
        let [root, left, right, child] = [5, 6, 7, 200].map(BankId);
        let root_set = Ancestors::root(root);
        let left_set = root_set.child(left, root);
        let right_set = root_set.child(right, root);
        let child_set = left_set.child(child, root);
        assert!([root, left, child].iter().all(|id| child_set.contains(*id)));
        assert!(!child_set.contains(right) && !left_set.contains(child));
        assert!(right_set.contains(right) && !right_set.contains(left));
        assert!(child_set.contains(BankId(3)));
    }

    #[test]
    fn ancestors_stay_correct_after_the_root_advances() {
        let ids = [1, 2, 3, 90].map(BankId);
        let first = Ancestors::root(ids[0]);
        let second = first.child(ids[1], ids[0]);
        let third = second.child(ids[2], ids[0]);
        let last = third.child(ids[3], ids[1]);
        assert!(ids.iter().all(|id| last.contains(*id)));
        assert!(!last.contains(BankId(4)) && !last.contains(BankId(89)));
    }
}
