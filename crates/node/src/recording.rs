//! Recordings: the state before the newest transactions, so that they can be replayed.
//!
//! Account data are not copied but shared with the banks: only versions that no bank needs any longer take
//! memory. The environment is copied for each block, by which a process grows by some 30 KB; a whole bank
//! made it grow by some 250 KB. So the oldest blocks are dropped when there are too many.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use selkie_bank::Bank;
use selkie_svm::{
    AccountChange, Environment, Processed, Transaction, program_cache::program_data_address,
};
use solana_account::{AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;
use solana_signature::Signature;

/// Of how many blocks with transactions the state before is kept at most.
pub const RECORDED_BLOCKS_MAX: usize = 256;
/// How many transactions are kept at most, unless the newest block has more.
const TRANSACTIONS_MAX: usize = 4096;
/// How many bytes of account data that they changed, before and afterwards, are kept at most.
const BYTES_MAX: usize = 256 << 20;

/// What is kept of a transaction besides what the history has.
#[derive(Debug)]
pub(crate) struct Kept {
    signature: Signature,
    slot: u64,
    pub(crate) environment: Arc<Environment>,
    pub(crate) changes: Vec<AccountChange>,
    pub(crate) accounts: Vec<(Pubkey, AccountSharedData)>,
    pub(crate) is_blockhash_recent: bool,
    pub(crate) is_executed: bool,
    /// The number of lists of inner instructions.
    pub(crate) inner_lists: usize,
}

/// The transactions that can be replayed, by blocks, oldest first.
#[derive(Default, Debug)]
pub(crate) struct Recordings {
    blocks: VecDeque<Vec<Kept>>,
    transactions: usize,
    bytes: usize,
}

impl Recordings {
    /// Adds the transactions of a block.
    pub(crate) fn add(&mut self, block: Vec<Kept>) {
        self.transactions = self.transactions.saturating_add(block.len());
        self.bytes = self.bytes.saturating_add(bytes(&block));
        self.blocks.push_back(block);
        while self.blocks.len() > 1 && self.is_too_much() {
            let Some(oldest) = self.blocks.pop_front() else { break };
            self.transactions = self.transactions.saturating_sub(oldest.len());
            self.bytes = self.bytes.saturating_sub(bytes(&oldest));
        }
    }

    fn is_too_much(&self) -> bool {
        self.blocks.len() > RECORDED_BLOCKS_MAX
            || self.transactions > TRANSACTIONS_MAX
            || self.bytes > BYTES_MAX
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the newest transaction with a signature: after a revert it may have landed again.
    pub(crate) fn find(&self, signature: &Signature, slot: u64) -> Option<&Kept> {
        let is_it = |kept: &&Kept| kept.signature == *signature && kept.slot == slot;
        self.blocks.iter().rev().flatten().find(is_it)
    }
}

impl Kept {
    fn bytes(&self) -> usize {
        let written = self.changes.iter().filter(|it| it.write.is_some());
        let data = written.flat_map(|it| it.before.iter().chain(&it.write));
        data.map(|account| account.data().len()).sum()
    }
}

fn bytes(block: &[Kept]) -> usize {
    block.iter().map(Kept::bytes).sum()
}

/// Takes what is kept of transactions that an open bank has processed, in their order.
pub(crate) fn keep(bank: &Bank, transactions: &[(Transaction, Processed)]) -> Vec<Kept> {
    // The accounts that a transaction or one after it writes to, as they were before it.
    let mut before: HashMap<Pubkey, Option<AccountSharedData>> = HashMap::new();
    let environment = Arc::new(bank.environment().clone());
    let mut all = Vec::with_capacity(transactions.len());
    for (transaction, processed) in transactions.iter().rev() {
        let written = processed.accounts.iter().filter(|it| it.write.is_some());
        before.extend(written.map(|it| (it.key, it.before.clone())));
        let find = |key: &Pubkey| match before.get(key) {
            Some(account) => account.clone(),
            None => bank.get_account(key).ok().flatten(),
        };
        all.push(keep_one(bank, &environment, transaction, processed, &find));
    }
    all.reverse();
    all
}

fn keep_one(
    bank: &Bank,
    environment: &Arc<Environment>,
    transaction: &Transaction,
    processed: &Processed,
    find: &dyn Fn(&Pubkey) -> Option<AccountSharedData>,
) -> Kept {
    let found = |key: &Pubkey| Some((*key, find(key)?));
    let lookups = transaction.message().address_table_lookups().into_iter().flatten();
    let tables: Vec<_> = lookups.filter_map(|it| found(&it.account_key)).collect();
    let own = processed.accounts.iter().filter_map(|it| it.before.as_ref());
    let files = own.filter_map(|it| program_data_address(it.data()));
    let files: Vec<_> = files.filter_map(|key| found(&key)).collect();
    Kept {
        signature: transaction.signatures().first().copied().unwrap_or_default(),
        slot: bank.slot(),
        environment: Arc::clone(environment),
        changes: processed.accounts.clone(),
        accounts: [tables, files].concat(),
        is_blockhash_recent: bank.is_blockhash_valid(transaction.blockhash()),
        is_executed: processed.is_executed,
        inner_lists: processed.inner_instructions.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(slot: u64, environment: &Arc<Environment>) -> Kept {
        Kept {
            signature: Signature::default(),
            slot,
            environment: Arc::clone(environment),
            changes: Vec::new(),
            accounts: Vec::new(),
            is_blockhash_recent: true,
            is_executed: true,
            inner_lists: 0,
        }
    }

    #[test]
    fn the_oldest_blocks_are_dropped() {
        let environment = Arc::default();
        let mut recordings = Recordings::default();
        let slots = 0..RECORDED_BLOCKS_MAX as u64 + 2;
        slots.clone().for_each(|slot| recordings.add(vec![kept(slot, &environment)]));
        let is_kept = |slot: &u64| recordings.find(&Signature::default(), *slot).is_some();
        assert_eq!(slots.filter(|slot| !is_kept(slot)).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn the_newest_block_is_kept_whatever_its_size() {
        let environment = Arc::default();
        let mut recordings = Recordings::default();
        let block = |slot: u64| (0..=TRANSACTIONS_MAX).map(|_| kept(slot, &environment)).collect();
        recordings.add(block(1));
        recordings.add(block(2));
        assert!(recordings.find(&Signature::default(), 1).is_none());
        assert!(recordings.find(&Signature::default(), 2).is_some());
        assert_eq!(recordings.transactions, TRANSACTIONS_MAX + 1);
    }
}
