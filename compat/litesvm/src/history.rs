//! The results of recent transactions.

use std::collections::VecDeque;

use solana_signature::Signature;

use crate::types::TransactionResult;

/// How many results are kept by default.
const CAPACITY_DEFAULT: usize = 32;

/// The results of the most recent transactions, by signature.
#[derive(Clone, Debug)]
pub(crate) struct TransactionHistory {
    /// Oldest first.
    entries: VecDeque<(Signature, TransactionResult)>,
    capacity: usize,
}

impl Default for TransactionHistory {
    fn default() -> Self {
        Self { entries: VecDeque::new(), capacity: CAPACITY_DEFAULT }
    }
}

impl TransactionHistory {
    pub(crate) fn set_capacity(&mut self, capacity: usize) {
        self.capacity = capacity;
        self.entries.truncate(capacity);
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.capacity > 0
    }

    /// Returns the newest result with this signature. Transactions that are not signed share one.
    pub(crate) fn get(&self, signature: &Signature) -> Option<&TransactionResult> {
        let mut newest_first = self.entries.iter().rev();
        newest_first.find(|(it, _)| it == signature).map(|(_, result)| result)
    }

    /// Adds a result, dropping the oldest if there are too many.
    pub(crate) fn add(&mut self, signature: Signature, result: &TransactionResult) {
        if !self.is_enabled() {
            return;
        }
        if self.entries.len() >= self.capacity {
            self.entries.pop_front();
        }
        self.entries.push_back((signature, result.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_results_leave_first() {
        let signature = |byte| Signature::from([byte; 64]);
        let mut history = TransactionHistory::default();
        history.set_capacity(2);
        for byte in 0..3 {
            history.add(signature(byte), &Ok(Default::default()));
        }
        assert_eq!(
            [0, 1, 2].map(|byte| history.get(&signature(byte)).is_some()),
            [false, true, true]
        );
        history.set_capacity(0);
        history.add(signature(4), &Ok(Default::default()));
        assert!(history.get(&signature(2)).is_none() && history.get(&signature(4)).is_none());
    }
}
