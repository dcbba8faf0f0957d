//! Which transactions go into a block: as many as its limits of compute units allow, for the block and for each
//! account that they write to (agave: `cost-model/src/cost_tracker.rs`).
//!
//! As a leader does, a block reserves what a transaction may cost at most before it runs, and keeps what it
//! has cost afterwards. What does not fit waits for what was reserved too much, then for the next block.

use std::collections::HashMap;

use selkie_bank::Bank;
use selkie_svm::{Transaction, TransactionBudget, budget::Requests, check::resolve_lookups};
use solana_pubkey::Pubkey;

use crate::{cost, fees::writable};

/// The costs of a block so far, in compute units.
#[derive(Debug)]
pub(crate) struct Packing {
    account_max: u64,
    block_max: u64,
    block: u64,
    accounts: HashMap<Pubkey, u64>,
}

/// What a transaction costs, in compute units, and the accounts that it writes to.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Cost {
    pub(crate) units: u64,
    pub(crate) writable: Vec<Pubkey>,
}

impl Cost {
    /// Returns what a transaction costs at most in a bank. One that the bank drops costs nothing.
    pub(crate) fn most(transaction: &Transaction, bank: &Bank) -> Self {
        let environment = bank.environment();
        let budget = || {
            let mut requests = Requests::default();
            requests.read(transaction).ok()?;
            let price = environment.lamports_per_signature;
            TransactionBudget::of(transaction, &requests, environment.features, price).ok()
        };
        let message = transaction.message();
        let lookups = message.address_table_lookups().unwrap_or_default();
        let Some(budget) = budget() else { return Self::default() };
        let Ok((to_write, to_read)) = resolve_lookups(lookups, bank, environment) else {
            return Self::default();
        };
        let keys: Vec<Pubkey> =
            transaction.static_keys().iter().copied().chain(to_write).chain(to_read).collect();
        let flags = writable(message, &keys);
        let written = keys.into_iter().zip(flags).filter(|(_, is_written)| *is_written);
        let writable: Vec<Pubkey> = written.map(|(key, _)| key).collect();
        let limit = budget.compute.compute_unit_limit;
        let units = environment.compute_unit_limit.unwrap_or(limit);
        let units = cost::sum(message, units, budget.loaded_bytes_max, writable.len());
        Self { units, writable }
    }
}

impl Packing {
    /// Creates an empty block with the limits of a bank.
    pub(crate) fn new(bank: &Bank) -> Self {
        let (account_max, block_max) = bank.units_max();
        Self { account_max, block_max, block: 0, accounts: HashMap::new() }
    }

    /// Reserves what a transaction costs at most; returns whether it fits. The first one always does.
    pub(crate) fn reserve(&mut self, cost: &Cost) -> bool {
        let of = |key: &Pubkey| self.accounts.get(key).copied().unwrap_or(0);
        let fits = self.block.saturating_add(cost.units) <= self.block_max
            && cost.units <= self.account_max
            && cost
                .writable
                .iter()
                .all(|key| of(key).saturating_add(cost.units) <= self.account_max);
        let is_first = self.block == 0;
        if fits || is_first {
            self.add(cost, cost.units);
        }
        fits || is_first
    }

    /// Keeps what a transaction has cost of what was reserved.
    pub(crate) fn settle(&mut self, reserved: &Cost, units: u64) {
        let freed = reserved.units.saturating_sub(units);
        self.block = self.block.saturating_sub(freed);
        for key in &reserved.writable {
            self.accounts.entry(*key).and_modify(|sum| *sum = sum.saturating_sub(freed));
        }
    }

    fn add(&mut self, cost: &Cost, units: u64) {
        self.block = self.block.saturating_add(units);
        for key in &cost.writable {
            let sum = self.accounts.entry(*key).or_default();
            *sum = sum.saturating_add(units);
        }
    }
}

/// Returns whether so many transactions fit into a block of a bank whatever they do.
pub(crate) fn fit_anyway(count: usize, bank: &Bank) -> bool {
    /// More than any transaction costs: its compute units, the pages of what it loads, its signatures, locks
    /// and data.
    const COST_MAX: u64 = 2_000_000;
    let (account_max, _) = bank.units_max();
    let has_limit = bank.environment().compute_unit_limit.is_none();
    has_limit && (count as u64).saturating_mul(COST_MAX) <= account_max
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(units: u64, keys: &[u8]) -> Cost {
        let key = |byte: &u8| Pubkey::new_from_array([*byte; 32]);
        Cost { units, writable: keys.iter().map(key).collect() }
    }

    #[test]
    fn blocks_and_accounts_have_limits() {
        let mut packing =
            Packing { account_max: 20, block_max: 50, block: 0, accounts: HashMap::new() };
        assert!(packing.reserve(&cost(15, &[1])));
        assert!(!packing.reserve(&cost(6, &[2, 1])));
        assert!(packing.reserve(&cost(20, &[2])));
        assert!(!packing.reserve(&cost(16, &[3])));
        // What was reserved too much is free again, in the account and in the block.
        packing.settle(&cost(15, &[1]), 5);
        assert!(packing.reserve(&cost(15, &[1])));
        assert_eq!(packing.block, 40);
    }

    #[test]
    fn what_is_beyond_every_limit_gets_a_block_of_its_own() {
        let mut packing =
            Packing { account_max: 20, block_max: 50, block: 0, accounts: HashMap::new() };
        assert!(packing.reserve(&cost(1000, &[1])));
        assert!(!packing.reserve(&cost(1, &[2])));
    }
}
