//! A digest of results, which proves that two runs executed the same items with the same effects.

use arrow_array::{Array, RecordBatch};
use sha2::{Digest as _, Sha256 as Hasher};

use crate::{
    Sha256,
    columns::{Columns, check_results},
    error::BatchError,
    schema::column as c,
};

/// The number of items, and a sum over what they are and did. It does not depend on their order, so
/// results may be added shard by shard.
///
/// The sum is 256 bits wide: each result adds the hash of its item id and effects. So a result that is
/// lost, doubled or different changes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Digest {
    /// The number of results.
    pub items: u64,
    sum: [u64; 4],
}

impl Digest {
    /// Adds the results of a batch. The columns `item_id` and `effects_hash` count.
    ///
    /// # Errors
    /// If the batch has no such columns.
    pub fn add(&mut self, results: &RecordBatch) -> Result<(), BatchError> {
        check_results(results, &[c::ITEM_ID, c::EFFECTS_HASH])?;
        let table = Columns::Table(results);
        let (ids, effects) = (table.binary(c::ITEM_ID), table.binary(c::EFFECTS_HASH));
        for row in 0..results.num_rows() {
            let [id, effects] =
                [ids, effects].map(|it| if it.is_null(row) { &[][..] } else { it.value(row) });
            self.add_result(id, effects);
        }
        Ok(())
    }

    /// Adds a result.
    pub fn add_result(&mut self, item_id: &[u8], effects_hash: &[u8]) {
        let mut hasher = Hasher::new_with_prefix((item_id.len() as u64).to_le_bytes());
        hasher.update(item_id);
        hasher.update(effects_hash);
        let hash: Sha256 = hasher.finalize().into();
        let mut carry = false;
        for (sum, word) in self.sum.iter_mut().zip(hash.as_chunks().0) {
            (*sum, carry) = carrying_add(*sum, u64::from_le_bytes(*word), carry);
        }
        self.items = self.items.saturating_add(1);
    }

    /// Adds the results of another digest.
    pub fn merge(&mut self, other: &Self) {
        let mut carry = false;
        for (sum, word) in self.sum.iter_mut().zip(other.sum) {
            (*sum, carry) = carrying_add(*sum, word, carry);
        }
        self.items = self.items.saturating_add(other.items);
    }

    /// Returns the digest as text: 64 hex digits.
    #[must_use]
    pub fn to_hex(&self) -> String {
        self.sum.iter().rev().fold(String::new(), |text, word| text + &format!("{word:016x}"))
    }
}

const fn carrying_add(left: u64, right: u64, carry: bool) -> (u64, bool) {
    let (sum, first) = left.overflowing_add(right);
    let (sum, second) = sum.overflowing_add(carry as u64);
    (sum, first || second)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(results: &[(&[u8], &[u8])]) -> Digest {
        let mut digest = Digest::default();
        results.iter().for_each(|(id, effects)| digest.add_result(id, effects));
        digest
    }

    #[test]
    fn the_order_of_results_does_not_count_and_shards_can_be_merged() {
        let all = digest(&[(b"a", b"1"), (b"b", b"2"), (b"c", b"3")]);
        assert_eq!(digest(&[(b"c", b"3"), (b"a", b"1"), (b"b", b"2")]), all);
        let mut merged = digest(&[(b"c", b"3")]);
        merged.merge(&digest(&[(b"a", b"1"), (b"b", b"2")]));
        assert_eq!(merged, all);
    }

    #[test]
    fn what_is_lost_doubled_or_different_changes_the_digest() {
        let all = digest(&[(b"a", b"1"), (b"b", b"2")]);
        for other in [
            digest(&[(b"a", b"1")]),
            digest(&[(b"a", b"1"), (b"b", b"2"), (b"b", b"2")]),
            digest(&[(b"a", b"1"), (b"b", b"3")]),
            digest(&[(b"a", b"2"), (b"b", b"1")]),
            digest(&[(b"a1", b""), (b"b", b"2")]),
        ] {
            assert_ne!(other.to_hex(), all.to_hex());
        }
    }
}
