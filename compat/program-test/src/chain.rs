//! The chain behind a client and its context.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use selkie::{AccountError, Clock, Receipt, Stage, Svm};
use selkie_convert::{from_transaction_error, to_shared_account, to_transaction};
use solana_account::AccountSharedData;
use solana_address::Address;
use solana_hash::Hash;
use solana_sdk_ids::sysvar;
use solana_signature::Signature;
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::{TransactionError, TransactionResult};

/// A chain that a client and its context share.
#[derive(Clone, Debug)]
pub(crate) struct SharedChain(Arc<Mutex<Chain>>);

impl SharedChain {
    pub(crate) fn new(chain: Chain) -> Self {
        Self(Arc::new(Mutex::new(chain)))
    }

    /// Locks the chain, for no longer than a call.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Chain> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub(crate) struct Chain {
    svm: Svm,
    /// The slot, whichever slot a test has given to the clock.
    slot: u64,
    /// The number of blocks before the slot's.
    block_height: u64,
    /// The slots in which the cluster was restarted.
    hard_forks: Vec<u64>,
    /// The results of transactions that paid their fees, with their slots.
    statuses: BTreeMap<Signature, (u64, TransactionResult<()>)>,
    /// Whether a transaction was processed with the latest blockhash.
    is_blockhash_used: bool,
    /// How many accounts a transaction may lock, if the test says so.
    account_locks_max: Option<usize>,
}

impl Chain {
    pub(crate) fn new(svm: Svm, account_locks_max: Option<usize>) -> Self {
        Self {
            slot: svm.slot(),
            svm,
            block_height: 1,
            hard_forks: Vec::new(),
            statuses: BTreeMap::new(),
            is_blockhash_used: false,
            account_locks_max,
        }
    }

    pub(crate) fn svm(&self) -> &Svm {
        &self.svm
    }

    pub(crate) fn svm_mut(&mut self) -> &mut Svm {
        &mut self.svm
    }

    pub(crate) fn slot(&self) -> u64 {
        self.slot
    }

    pub(crate) fn block_height(&self) -> u64 {
        self.block_height
    }

    pub(crate) fn status(&self, signature: &Signature) -> Option<&(u64, TransactionResult<()>)> {
        self.statuses.get(signature)
    }

    /// Processes a transaction.
    pub(crate) fn process(&mut self, transaction: VersionedTransaction) -> Arc<Receipt> {
        let blockhash = *transaction.message.recent_blockhash();
        self.is_blockhash_used |= self.svm.latest_blockhash() == blockhash;
        let sent = self.svm.send(to_transaction(transaction));
        let receipt = sent.unwrap_or_else(|failed| failed.receipt);
        if receipt.stage != Stage::Dropped {
            self.statuses.insert(receipt.signature(), (self.slot, result(&receipt)));
        }
        receipt
    }

    /// Processes a transaction without changing anything. Its signatures are not verified.
    pub(crate) fn simulate(&mut self, transaction: VersionedTransaction) -> Arc<Receipt> {
        self.verify_signatures(false);
        let simulated = self.svm.simulate(to_transaction(transaction));
        self.verify_signatures(true);
        simulated.unwrap_or_else(|failed| failed.receipt)
    }

    fn verify_signatures(&mut self, checks: bool) {
        let svm = core::mem::take(&mut self.svm);
        self.svm = svm.with_signature_checks(checks);
    }

    /// Refuses a transaction that locks more accounts than the test allows.
    pub(crate) fn check_locks(&self, transaction: &VersionedTransaction) -> TransactionResult<()> {
        let message = &transaction.message;
        let lookups = message.address_table_lookups().unwrap_or_default();
        let looked_up =
            lookups.iter().map(|it| it.writable_indexes.len() + it.readonly_indexes.len());
        let locks = message.static_account_keys().len() + looked_up.sum::<usize>();
        match self.account_locks_max {
            Some(max) if locks > max => Err(TransactionError::TooManyAccountLocks),
            _ => Ok(()),
        }
    }

    /// Returns a blockhash with which no transaction was processed, so that the same instructions make a new
    /// transaction. The original makes one every 6.4 ms.
    pub(crate) fn unused_blockhash(&mut self) -> Hash {
        if core::mem::take(&mut self.is_blockhash_used) {
            self.svm.advance_blockhash();
        }
        self.svm.latest_blockhash()
    }

    /// Returns a blockhash other than this one.
    pub(crate) fn blockhash_after(&mut self, blockhash: &Hash) -> Hash {
        match self.unused_blockhash() {
            unused if unused == *blockhash => self.svm.advance_blockhash(),
            unused => unused,
        }
    }

    /// Sets an account, and the sysvar if it is one's.
    pub(crate) fn set_account(&mut self, address: Address, account: AccountSharedData) {
        let mut account = to_shared_account(account);
        if self.svm.sysvar(&address).is_some() {
            let data = self.padded(&address, selkie::ReadableAccount::data(&account));
            account.set_data_from_slice(&data);
        }
        or_panic(&address, self.svm.set_account(address, account));
    }

    /// Sets a sysvar to the data of its account.
    pub(crate) fn set_sysvar(&mut self, address: Address, data: &[u8]) {
        let data = self.padded(&address, data);
        or_panic(&address, self.svm.set_sysvar(address, &data).map_err(AccountError::from));
    }

    /// Adds zeros up to the length that the sysvar has: lists are encoded without unused entries.
    fn padded(&self, address: &Address, data: &[u8]) -> Vec<u8> {
        let len = self.svm.sysvar(address).map_or(0, <[u8]>::len);
        let mut data = data.to_vec();
        data.resize(len.max(data.len()), 0);
        data
    }

    /// Makes a block in a later slot, whose parent is the current one. The slots between have no block, and no
    /// time passes.
    pub(crate) fn skip_to(&mut self, slot: u64) {
        let before = self.svm.clock();
        let schedule = self.svm.epoch_schedule();
        let epoch = schedule.get_epoch(self.slot);
        if (before.slot, before.epoch) != (self.slot, epoch) {
            self.svm.set_clock(&Clock { slot: self.slot, epoch, ..before });
        }
        self.svm.skip_to_slot(slot).expect("the slot is later");
        let time = before.unix_timestamp;
        let begins_epoch = schedule.get_epoch(slot) > epoch;
        let epoch_start_timestamp = if begins_epoch { time } else { before.epoch_start_timestamp };
        let clock = self.svm.clock();
        self.svm.set_clock(&Clock { unix_timestamp: time, epoch_start_timestamp, ..clock });
        let past = self.hard_forks.iter().filter(|fork| **fork <= slot);
        if let Some(last) = past.max().copied() {
            self.set_sysvar(sysvar::last_restart_slot::ID, &last.to_le_bytes());
        }
        self.slot = slot;
        self.block_height = self.block_height.saturating_add(1);
        self.is_blockhash_used = false;
    }

    /// Goes on to the next slot, and ends the distribution of rewards.
    pub(crate) fn end_rewards(&mut self) {
        self.skip_to(self.slot.saturating_add(1));
        if self.svm.is_paying_rewards() {
            let mut data = self.svm.sysvar(&sysvar::epoch_rewards::ID).unwrap_or_default().to_vec();
            if let Some(is_active) = data.last_mut() {
                *is_active = 0;
            }
            self.set_sysvar(sysvar::epoch_rewards::ID, &data);
        }
    }

    pub(crate) fn register_hard_fork(&mut self, slot: u64) {
        self.hard_forks.push(slot);
    }
}

/// Returns whether the transaction succeeded.
pub(crate) fn result(receipt: &Receipt) -> TransactionResult<()> {
    receipt.result.clone().map_err(from_transaction_error)
}

fn or_panic(address: &Address, set: Result<(), AccountError>) {
    set.unwrap_or_else(|error| panic!("cannot set the account {address}: {error}"));
}
