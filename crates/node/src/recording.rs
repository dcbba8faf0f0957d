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
use selkie_case::{
    Case, CaseOptions, Input, KeyedAccount, blockhashes, changed_accounts, unnamed_accounts,
};
use selkie_svm::{BlockhashQueue, Environment, Processed, Transaction};
use solana_account::{AccountSharedData, ReadableAccount};
use solana_hash::Hash;
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
    pub(crate) case: Case,
    /// The accounts that changed, afterwards.
    pub(crate) after: Vec<KeyedAccount>,
    pub(crate) is_executed: bool,
    /// The number of lists of inner instructions.
    pub(crate) inner_lists: usize,
    /// How many bytes of account data it changed, before and afterwards.
    bytes: usize,
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

fn bytes(block: &[Kept]) -> usize {
    block.iter().map(|kept| kept.bytes).sum()
}

/// Takes what is kept of transactions that an open bank has processed, in their order.
pub(crate) fn keep(bank: &Bank, transactions: &[(Transaction, Processed)]) -> Vec<Kept> {
    // The accounts that a transaction or one after it writes to, as they were before it.
    let mut before: HashMap<Pubkey, Option<AccountSharedData>> = HashMap::new();
    let mut keeper = Keeper {
        bank,
        environment: Arc::new(bank.environment().clone()),
        blockhashes: HashMap::new(),
    };
    let mut all = Vec::with_capacity(transactions.len());
    for (transaction, processed) in transactions.iter().rev() {
        let written = processed.accounts.iter().filter(|it| it.write.is_some());
        before.extend(written.map(|it| (it.key, it.before.clone())));
        let find = |key: &Pubkey| match before.get(key) {
            Some(account) => account.clone(),
            None => bank.get_account(key).ok().flatten(),
        };
        all.push(keeper.keep(transaction, processed, &find));
    }
    all.reverse();
    all
}

/// What the transactions of a block share.
struct Keeper<'a> {
    bank: &'a Bank,
    environment: Arc<Environment>,
    /// What transactions need of the blockhash queue, by their blockhashes.
    blockhashes: HashMap<Hash, Arc<BlockhashQueue>>,
}

impl Keeper<'_> {
    fn keep(
        &mut self,
        transaction: &Transaction,
        processed: &Processed,
        find: &dyn Fn(&Pubkey) -> Option<AccountSharedData>,
    ) -> Kept {
        let own = *transaction.blockhash();
        let recent = self.blockhashes.entry(own).or_insert_with(|| {
            let is_recent = self.bank.is_blockhash_valid(&own);
            Arc::new(blockhashes(own, is_recent, &self.environment))
        });
        let named = processed.accounts.iter().filter_map(|it| Some((it.key, it.before.as_ref()?)));
        let known = named.clone().map(|(_, account)| account);
        let others = unnamed_accounts(transaction.message(), known, find);
        let named = named.map(|(key, account)| (key, account.clone()));
        let written = processed.accounts.iter().filter(|it| it.write.is_some());
        let written = written.flat_map(|it| it.before.iter().chain(&it.write));
        Kept {
            signature: transaction.signatures().first().copied().unwrap_or_default(),
            slot: self.bank.slot(),
            case: Case {
                environment: Arc::clone(&self.environment),
                blockhashes: Arc::clone(recent),
                accounts: others.into_iter().chain(named).collect(),
                input: Input::Transaction(transaction.signed().clone()),
                options: CaseOptions::default(),
            },
            after: changed_accounts(&processed.accounts),
            is_executed: processed.is_executed,
            inner_lists: processed.inner_instructions.len(),
            bytes: written.map(|account| account.data().len()).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(slot: u64, environment: &Arc<Environment>) -> Kept {
        Kept {
            signature: Signature::default(),
            slot,
            case: Case { environment: Arc::clone(environment), ..Case::default() },
            after: Vec::new(),
            is_executed: true,
            inner_lists: 0,
            bytes: 0,
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
