//! Which transactions go into a block: as many as its limits allow. Those are of compute units, for the block
//! and for each account that they write to, and of bytes of accounts that they allocate (agave:
//! `cost-model/src/cost_tracker.rs`).
//!
//! As a leader does, a block reserves what a transaction may cost at most before it runs, and keeps what it
//! has cost afterwards. What does not fit waits for what was reserved too much, then for the next block.

use std::collections::HashMap;

use selkie_bank::Bank;
use selkie_layout::system::{self, SystemInstruction};
use selkie_svm::{
    Feature, FeatureSet, Transaction, TransactionBudget,
    budget::Requests,
    check::resolve_lookups,
    cost::{ACCOUNT_BYTES_MAX, TRANSACTION_GROWTH_MAX},
};
use solana_pubkey::Pubkey;

use crate::{cost, fees::writable};

/// The costs of a block so far.
#[derive(Default, Debug)]
pub(crate) struct Packing {
    account_max: u64,
    block_max: u64,
    allocated_max: u64,
    block: u64,
    accounts: HashMap<Pubkey, u64>,
    allocated: u64,
}

/// What a transaction costs in compute units, the accounts that it writes to, and the bytes of accounts that
/// it asks the system program to allocate.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Cost {
    pub(crate) units: u64,
    pub(crate) writable: Vec<Pubkey>,
    pub(crate) allocated: u64,
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
        Self { units, writable, allocated: allocated(transaction, environment.features) }
    }
}

impl Packing {
    /// Creates an empty block with the limits of a bank.
    pub(crate) fn new(bank: &Bank) -> Self {
        let (account_max, block_max) = bank.units_max();
        let allocated_max = bank.slot_parameters().allocated_bytes_max;
        Self { account_max, block_max, allocated_max, ..Self::default() }
    }

    /// Reserves what a transaction costs at most; returns whether it fits. The first one always does.
    pub(crate) fn reserve(&mut self, cost: &Cost) -> bool {
        let of = |key: &Pubkey| self.accounts.get(key).copied().unwrap_or(0);
        let fits = self.block.saturating_add(cost.units) <= self.block_max
            && cost.units <= self.account_max
            && self.allocated.saturating_add(cost.allocated) <= self.allocated_max
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

    /// Frees what was reserved for a transaction that was dropped.
    pub(crate) fn release(&mut self, reserved: &Cost) {
        self.settle(reserved, 0);
        self.allocated = self.allocated.saturating_sub(reserved.allocated);
    }

    fn add(&mut self, cost: &Cost, units: u64) {
        self.block = self.block.saturating_add(units);
        self.allocated = self.allocated.saturating_add(cost.allocated);
        for key in &cost.writable {
            let sum = self.accounts.entry(*key).or_default();
            *sum = sum.saturating_add(units);
        }
    }
}

/// Returns the bytes of accounts that a transaction asks the system program to allocate, whether it succeeds or
/// not: none if one of the instructions cannot succeed (agave: `calculate_allocated_accounts_data_size`).
fn allocated(transaction: &Transaction, features: FeatureSet) -> u64 {
    use SystemInstruction::{
        Allocate, AllocateWithSeed, CreateAccount, CreateAccountAllowPrefund, CreateAccountWithSeed,
    };
    let mut sum = 0_u64;
    for instruction in transaction.instructions() {
        if transaction.program(instruction) != system::ID {
            continue;
        }
        let space = match SystemInstruction::read(&instruction.data) {
            Ok(
                CreateAccount { space, .. }
                | CreateAccountWithSeed { space, .. }
                | Allocate { space }
                | AllocateWithSeed { space, .. },
            ) => space,
            Ok(CreateAccountAllowPrefund { space, .. })
                if features.has(Feature::CreateAccountAllowPrefund) =>
            {
                space
            }
            Ok(CreateAccountAllowPrefund { .. }) | Err(_) => return 0,
            Ok(_) => 0,
        };
        if space > ACCOUNT_BYTES_MAX as u64 {
            return 0;
        }
        sum = sum.saturating_add(space);
    }
    sum.min(TRANSACTION_GROWTH_MAX.unsigned_abs())
}

/// Returns whether transactions fit into a block of a bank whatever units they use.
pub(crate) fn fit_anyway<'a>(
    transactions: impl ExactSizeIterator<Item = &'a Transaction>,
    bank: &Bank,
) -> bool {
    /// More than any transaction costs: its compute units, the pages of what it loads, its signatures, locks
    /// and data.
    const COST_MAX: u64 = 2_000_000;
    let (account_max, _) = bank.units_max();
    let has_limit = bank.environment().compute_unit_limit.is_none();
    let units = (transactions.len() as u64).saturating_mul(COST_MAX);
    if !has_limit || units > account_max {
        return false;
    }
    let bytes = transactions.map(|it| allocated(it, bank.features())).fold(0, u64::saturating_add);
    bytes <= bank.slot_parameters().allocated_bytes_max
}

#[cfg(test)]
mod tests {
    use selkie_svm::Rules;
    use solana_message::{Message, VersionedMessage};
    use solana_transaction::versioned::VersionedTransaction;

    use super::*;

    fn cost(units: u64, keys: &[u8]) -> Cost {
        let key = |byte: &u8| Pubkey::new_from_array([*byte; 32]);
        Cost { units, writable: keys.iter().map(key).collect(), allocated: 0 }
    }

    #[test]
    fn blocks_and_accounts_have_limits() {
        let mut packing = Packing { account_max: 20, block_max: 50, ..Packing::default() };
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
    fn what_transactions_allocate_is_known_before_they_run() {
        let [payer, new] = [1, 2].map(|byte| Pubkey::new_from_array([byte; 32]));
        let create = |space: u64| {
            let instruction = SystemInstruction::CreateAccount { lamports: 1, space, owner: new };
            instruction.instruction(&system::ID, &[payer, new])
        };
        let of = |spaces: &[u64]| {
            let instructions: Vec<_> = spaces.iter().map(|space| create(*space)).collect();
            let message = Message::new(&instructions, Some(&payer));
            let message = VersionedMessage::Legacy(message);
            let transaction = VersionedTransaction::new_unsigned(message);
            let rules = Rules { features: FeatureSet::all(), ..Rules::mainnet() };
            allocated(&Transaction::new(transaction, rules).unwrap(), rules.features)
        };
        let most = ACCOUNT_BYTES_MAX as u64;
        assert_eq!(of(&[1000, 24]), 1024);
        assert_eq!(of(&[most, most, 1]), 2 * most);
        assert_eq!(of(&[1000, most + 1]), 0);
    }

    #[test]
    fn blocks_allocate_a_limited_number_of_bytes() {
        let mut packing =
            Packing { account_max: 20, block_max: 50, allocated_max: 100, ..Packing::default() };
        let of = |allocated| Cost { allocated, ..cost(2, &[]) };
        assert!(packing.reserve(&of(60)));
        assert!(!packing.reserve(&of(41)));
        // What failed counts, what was dropped does not.
        packing.settle(&of(60), 1);
        assert!(!packing.reserve(&of(41)));
        packing.release(&of(60));
        assert!(packing.reserve(&of(100)));
        assert!(!packing.reserve(&of(1)));
    }

    #[test]
    fn what_is_beyond_every_limit_gets_a_block_of_its_own() {
        let mut packing = Packing { account_max: 20, block_max: 50, ..Packing::default() };
        assert!(packing.reserve(&cost(1000, &[1])));
        assert!(!packing.reserve(&cost(1, &[2])));
    }
}
