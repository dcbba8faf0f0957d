//! Recordings: the state before the newest transactions, so that they can be replayed.
//!
//! Nothing is copied: account data are shared with the banks, and only versions that no bank needs any
//! longer take memory. So the oldest ones are dropped when there are too many.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use selkie_bank::Bank;
use selkie_svm::{AccountChange, Processed, Transaction, program_cache::program_data_address};
use solana_account::{AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;
use solana_signature::Signature;

/// How many transactions are kept at most.
const KEPT_MAX: usize = 4096;
/// How many bytes of account data that they changed, before and afterwards, are kept at most.
const KEPT_BYTES_MAX: usize = 256 << 20;

/// What is kept of a transaction besides what the history has.
#[derive(Debug)]
pub(crate) struct Kept {
    signature: Signature,
    pub(crate) bank: Arc<Bank>,
    pub(crate) changes: Vec<AccountChange>,
    pub(crate) accounts: Vec<(Pubkey, AccountSharedData)>,
    pub(crate) is_blockhash_recent: bool,
    pub(crate) is_executed: bool,
    /// The number of lists of inner instructions.
    pub(crate) inner_lists: usize,
}

/// The transactions that can be replayed, oldest first.
#[derive(Default, Debug)]
pub(crate) struct Recordings {
    kept: VecDeque<Kept>,
    bytes: usize,
}

impl Recordings {
    /// Adds the transactions of a block.
    pub(crate) fn add(&mut self, block: Vec<Kept>) {
        for kept in block {
            self.bytes = self.bytes.saturating_add(kept.bytes());
            self.kept.push_back(kept);
        }
        while self.kept.len() > KEPT_MAX || self.bytes > KEPT_BYTES_MAX {
            let Some(oldest) = self.kept.pop_front() else { break };
            self.bytes = self.bytes.saturating_sub(oldest.bytes());
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the newest transaction with a signature: after a revert it may have landed again.
    pub(crate) fn find(&self, signature: &Signature, slot: u64) -> Option<&Kept> {
        let is_it = |kept: &&Kept| kept.signature == *signature && kept.bank.slot() == slot;
        self.kept.iter().rev().find(is_it)
    }
}

impl Kept {
    fn bytes(&self) -> usize {
        let written = self.changes.iter().filter(|it| it.write.is_some());
        let data = written.flat_map(|it| it.before.iter().chain(&it.write));
        data.map(|account| account.data().len()).sum()
    }
}

/// Takes what is kept of transactions that an open bank has processed, in their order.
pub(crate) fn keep(bank: &Arc<Bank>, transactions: &[(Transaction, Processed)]) -> Vec<Kept> {
    // The accounts that a transaction or one after it writes to, as they were before it.
    let mut before: HashMap<Pubkey, Option<AccountSharedData>> = HashMap::new();
    let mut all = Vec::with_capacity(transactions.len());
    for (transaction, processed) in transactions.iter().rev() {
        let written = processed.accounts.iter().filter(|it| it.write.is_some());
        before.extend(written.map(|it| (it.key, it.before.clone())));
        let find = |key: &Pubkey| match before.get(key) {
            Some(account) => account.clone(),
            None => bank.get_account(key).ok().flatten(),
        };
        all.push(keep_one(bank, transaction, processed, &find));
    }
    all.reverse();
    all
}

fn keep_one(
    bank: &Arc<Bank>,
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
        bank: Arc::clone(bank),
        changes: processed.accounts.clone(),
        accounts: [tables, files].concat(),
        is_blockhash_recent: bank.is_blockhash_valid(transaction.blockhash()),
        is_executed: processed.is_executed,
        inner_lists: processed.inner_instructions.len(),
    }
}
