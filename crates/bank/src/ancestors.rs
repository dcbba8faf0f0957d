//! Which banks a bank descends from.
//!
//! Banks are numbered in the order in which they are made, so that a child's number is higher than
//! its parent's, and a block that takes the slot of a dead one is another bank. Every bank that is
//! alive descends from the root, or is the root: what has a number up to the root's and still has
//! left anything behind is an ancestor of all.

/// The number of a bank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct BankId(pub(crate) u64);

/// A bank's ancestors, and the bank itself.
#[derive(Clone, Debug)]
pub(crate) struct Ancestors {
    own: BankId,
    /// The root when the bank was made.
    root: BankId,
    /// A bit for each bank after the root.
    bits: Box<[u64]>,
}

impl Ancestors {
    /// Those of a root: all that is there.
    pub(crate) fn root(own: BankId) -> Self {
        Self { own, root: own, bits: Box::default() }
    }

    /// Those of a child of this bank, which is the root by now or descends from it.
    pub(crate) fn child(&self, own: BankId, root: BankId) -> Self {
        let words = place(root, own).map_or(0, |(word, _)| word.saturating_add(1));
        let mut bits = vec![0; words].into_boxed_slice();
        if root == self.root {
            bits.iter_mut().zip(&self.bits).for_each(|(to, from)| *to = *from);
        } else {
            // The root has moved since, which happens less often than that banks are made.
            let after_root = root.0.saturating_add(1)..=self.own.0;
            for id in after_root.map(BankId).filter(|id| self.contains(*id)) {
                set(&mut bits, root, id);
            }
        }
        set(&mut bits, root, own);
        Self { own, root, bits }
    }

    /// The bank itself.
    pub(crate) fn own(&self) -> BankId {
        self.own
    }

    /// Whether a bank is one of them. The bank is alive, was rooted, or has left nothing behind.
    pub(crate) fn contains(&self, id: BankId) -> bool {
        match place(self.root, id) {
            None => true,
            Some((word, bit)) => self.bits.get(word).is_some_and(|bits| bits >> bit & 1 == 1),
        }
    }
}

fn set(bits: &mut [u64], root: BankId, id: BankId) {
    if let Some((word, bit)) = place(root, id)
        && let Some(bits) = bits.get_mut(word)
    {
        *bits |= 1 << bit;
    }
}

/// Where the bit of a bank is; nowhere if it is not after the root.
fn place(root: BankId, id: BankId) -> Option<(usize, u32)> {
    let after = id.0.checked_sub(root.0)?.checked_sub(1)?;
    let bit = u32::try_from(after % 64).expect("it is below 64");
    // No machine has room for so many banks that this could be anything else.
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
    fn ancestors_outlive_the_root_that_they_were_counted_from() {
        let ids = [1, 2, 3, 90].map(BankId);
        let first = Ancestors::root(ids[0]);
        let second = first.child(ids[1], ids[0]);
        let third = second.child(ids[2], ids[0]);
        let last = third.child(ids[3], ids[1]);
        assert!(ids.iter().all(|id| last.contains(*id)));
        assert!(!last.contains(BankId(4)) && !last.contains(BankId(89)));
    }
}
