//! The writer: makes blocks, one after the other.
//!
//! After each block it opens the bank of the next one, in which transactions are simulated. If the
//! block comes in another slot than expected, since time has passed, that bank is replaced.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, atomic::Ordering, mpsc::SyncSender},
};

use selkie_bank::{Bank, BankError, Footer, Forks};
use selkie_ledger::{Block, Header, Landed};
use selkie_svm::{Processed, Transaction};
use solana_account::AccountSharedData;
use solana_pubkey::Pubkey;
use solana_transaction_error::TransactionError;

use crate::{
    chain::Tip,
    committer::{Committer, Kind, Write},
    error::NodeError,
    genesis, landed,
    options::{BlockMode, Finality},
    recording,
    scheduled::ScheduledEdit,
    shared::Shared,
    timeline::{Moment, Timeline},
};

/// The number of frozen banks that are kept for readers.
const BANKS_KEPT: usize = 16;
/// Who waits for the result of a transaction.
pub(crate) type Reply = SyncSender<Result<Arc<Landed>, TransactionError>>;

/// A transaction on its way into a block. Its signatures are verified.
#[derive(Debug)]
pub(crate) struct Submission {
    pub(crate) transaction: Transaction,
    /// Who waits for the result.
    pub(crate) reply: Option<Reply>,
    /// How often it is tried again if it is dropped for a reason that may pass.
    pub(crate) retries: u64,
}

/// A snapshot: the slot of its bank, the cluster's time in milliseconds, the number of transactions,
/// and the slots in which features become active.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) slot: u64,
    pub(crate) time: u64,
    pub(crate) transaction_count: u64,
    pub(crate) feature_slots: Vec<u64>,
}

/// The state of the writer thread.
#[derive(Debug)]
pub(crate) struct Producer {
    pub(crate) shared: Arc<Shared>,
    pub(crate) forks: Forks,
    pub(crate) time: Timeline,
    pub(crate) tip: Arc<Bank>,
    /// The open bank after the tip.
    pub(crate) working: Arc<Bank>,
    /// What the working bank was made for: its moment and timestamp.
    pub(crate) working_for: (Moment, i64),
    /// The number of the newest block.
    pub(crate) number: u64,
    pub(crate) transaction_count: u64,
    pub(crate) mode: BlockMode,
    /// Transactions that wait for their block.
    pub(crate) queue: Vec<Submission>,
    /// Dropped transactions that may land later.
    pub(crate) retries: VecDeque<Submission>,
    /// The slots in which features become active.
    pub(crate) feature_slots: Vec<u64>,
    /// Edits that wait for their slots.
    pub(crate) scheduled: Vec<ScheduledEdit>,
    pub(crate) snapshots: BTreeMap<u64, Snapshot>,
    pub(crate) snapshots_made: u64,
    pub(crate) committer: Option<Committer>,
    /// The fields of headers that do not depend on the bank.
    pub(crate) header: Header,
    /// The newest slot with a transaction or an edit.
    lasting_slot: u64,
}

impl Producer {
    /// Creates the writer of a cluster whose banks are `forks`.
    pub(crate) fn new(
        shared: Arc<Shared>,
        forks: Forks,
        working: Arc<Bank>,
        time: Timeline,
        header: Header,
    ) -> Self {
        let tip = forks.root();
        let mode = shared.options.blocks;
        // No block is ever made for this moment, so the bank is replaced by the first one.
        let working_for = (Moment { slot: 0, counts: true }, 0);
        let transaction_count = header.transaction_count;
        Self {
            lasting_slot: tip.slot(),
            shared,
            forks,
            time,
            tip,
            working,
            working_for,
            number: 1,
            transaction_count,
            mode,
            queue: Vec::new(),
            retries: VecDeque::new(),
            feature_slots: Vec::new(),
            scheduled: Vec::new(),
            snapshots: BTreeMap::new(),
            snapshots_made: 0,
            committer: None,
            header,
        }
    }

    /// Returns the host's time, in milliseconds, at which something is to be done without a command.
    pub(crate) fn due_at(&self) -> Option<u64> {
        let is_due = match self.mode {
            _ if self.has_failed() => false,
            BlockMode::Interval => true,
            BlockMode::OnDemand => self.is_pending() || !self.scheduled.is_empty(),
            BlockMode::Manual => false,
        };
        if is_due { self.time.next_slot_at() } else { None }
    }

    /// Returns whether something waits for a block, or for those behind its own.
    fn is_pending(&self) -> bool {
        let is_realistic = self.shared.options.finality == Finality::Realistic;
        let finalized = self.shared.chain().finalized;
        !self.retries.is_empty()
            || !self.queue.is_empty()
            || is_realistic && finalized < self.lasting_slot
    }

    /// Returns whether transactions go into a block as they come.
    pub(crate) fn makes_blocks_on_demand(&self) -> bool {
        self.mode == BlockMode::OnDemand
    }

    /// Adds transactions, and makes a block of them if that is the mode.
    pub(crate) fn add(&mut self, transactions: Vec<Submission>) -> Result<(), NodeError> {
        self.queue.extend(transactions);
        let made = match self.mode {
            BlockMode::OnDemand => self.pack(),
            BlockMode::Interval | BlockMode::Manual => Ok(()),
        };
        if made.is_err() {
            // Those who wait for them are told that the node has stopped.
            self.queue.clear();
        }
        made
    }

    /// Makes blocks until no transaction waits for one.
    fn pack(&mut self) -> Result<(), NodeError> {
        self.block(Vec::new(), false)?;
        while !self.queue.is_empty() {
            self.block(Vec::new(), false)?;
        }
        Ok(())
    }

    /// Lets slots follow the clock.
    pub(crate) fn tick(&mut self) -> Result<(), NodeError> {
        if self.mode != BlockMode::Manual && self.time.slots_passed() > 0 {
            // An edit that waits for a later slot needs no block in this one.
            let only_waits = self.mode == BlockMode::OnDemand
                && !self.scheduled.is_empty()
                && !self.is_pending();
            self.block(Vec::new(), !only_waits)?;
        }
        Ok(())
    }

    /// Makes a block now; `None` if it would be empty and is not `forced`.
    pub(crate) fn block(
        &mut self,
        edits: Vec<(Pubkey, AccountSharedData)>,
        forced: bool,
    ) -> Result<Option<Arc<Block>>, NodeError> {
        self.apply_scheduled()?;
        self.block_at(self.next_moment(), edits, forced)
    }

    /// Makes a block in a slot.
    pub(crate) fn block_at(
        &mut self,
        moment: Moment,
        edits: Vec<(Pubkey, AccountSharedData)>,
        forced: bool,
    ) -> Result<Option<Arc<Block>>, NodeError> {
        self.check_ledger()?;
        self.open(moment)?;
        let mut submissions: Vec<Submission> = self.retries.drain(..).collect();
        submissions.append(&mut self.queue);
        let (landed, replies) = self.process(submissions)?;
        if landed.is_empty() && edits.is_empty() && !forced {
            return Ok(None);
        }
        let is_lasting = !landed.is_empty() || !edits.is_empty();
        for (key, account) in edits {
            self.working.set_account(key, account)?;
        }
        let block = self.finish(landed, is_lasting, moment)?;
        for (reply, index) in replies {
            if let Some(landed) = block.transactions.get(index) {
                // Sending fails if the caller no longer waits.
                let _ = reply.send(Ok(Arc::clone(landed)));
            }
        }
        Ok(Some(block))
    }

    /// Makes a block that sets accounts, which depend on the state. What waits goes into blocks before
    /// and after it, so that the edit neither misses nor undoes it.
    pub(crate) fn edit_of(
        &mut self,
        edits: impl FnOnce(&Bank) -> Result<Vec<(Pubkey, AccountSharedData)>, NodeError>,
    ) -> Result<u64, NodeError> {
        self.block(Vec::new(), false)?;
        let retries = core::mem::take(&mut self.retries);
        let edited = edits(&self.tip).and_then(|accounts| self.edit(accounts));
        self.retries.extend(retries);
        edited
    }

    /// Freezes the working bank, and makes its block visible and durable.
    pub(crate) fn finish(
        &mut self,
        landed: Vec<(Transaction, Processed)>,
        is_lasting: bool,
        moment: Moment,
    ) -> Result<Arc<Block>, NodeError> {
        let bank = Arc::clone(&self.working);
        let parent = Arc::clone(&self.tip);
        let block = Arc::new(self.record(&bank, &parent, landed)?);
        self.number = self.number.saturating_add(1);
        self.transaction_count = block.transaction_count;
        let slots = bank.slot().saturating_sub(parent.slot());
        self.time.advance(slots, moment.counts);
        self.feature_slots.retain(|since| *since > bank.slot());
        self.tip = Arc::clone(&bank);
        if is_lasting {
            self.lasting_slot = bank.slot();
        }
        self.open_next()?;
        self.publish(&bank, &parent, &block, is_lasting);
        self.advance_root()?;
        self.schedule_tick();
        tracing::debug!(slot = block.slot, transactions = block.transactions.len(), "block");
        Ok(block)
    }

    /// Freezes the bank and records its block.
    fn record(
        &self,
        bank: &Arc<Bank>,
        parent: &Arc<Bank>,
        landed: Vec<(Transaction, Processed)>,
    ) -> Result<Block, NodeError> {
        if !landed.is_empty() {
            self.shared.recordings().add(recording::keep(bank, &landed));
        }
        let now = i64::try_from(self.time.now()).unwrap_or(i64::MAX).saturating_mul(1_000_000);
        let leader = self.shared.options.vote_account;
        let footer = Footer { nanoseconds: Some(now), leader, ..Footer::default() };
        bank.freeze_with_footer(&footer)?;
        let block_time = bank.clock().unix_timestamp;
        let find = |key: &Pubkey| bank.get_account(key).ok().flatten();
        let count = landed.len() as u64;
        let transactions = (0..).zip(landed).map(|(index, (transaction, processed))| {
            let place = (bank.slot(), index, block_time);
            Arc::new(landed::landed(place, transaction.into_inner(), processed, &find))
        });
        Ok(Block {
            slot: bank.slot(),
            parent_slot: parent.slot(),
            blockhash: bank.latest_blockhash(),
            previous_blockhash: parent.latest_blockhash(),
            block_time,
            block_height: bank.block_height(),
            transaction_count: self.transaction_count.saturating_add(count),
            transactions: transactions.collect(),
            rewards: landed::rewards(bank),
            reward_partitions: bank.reward_partitions(),
            accounts: changed_accounts(bank)?,
        })
    }

    fn publish(
        &mut self,
        bank: &Arc<Bank>,
        parent: &Arc<Bank>,
        block: &Arc<Block>,
        is_lasting: bool,
    ) {
        self.count(block);
        let before = |key: &Pubkey| parent.get_account(key).ok().flatten();
        let changed = block.accounts.iter().map(|(key, after)| (key, before(key), after));
        let index = self.shared.index_mut().apply(changed);
        let tip = Tip {
            bank: Arc::clone(bank),
            transaction_count: self.transaction_count,
            number: self.number,
            index,
        };
        let mut chain = self.shared.chain_mut();
        if self.committer.is_none() {
            chain.durable = self.number;
        }
        let working = Arc::clone(&self.working);
        let prune_before = chain.publish(tip, working, block, self.time.now());
        drop(chain);
        let block = Arc::clone(block);
        let accounts = block.accounts.clone();
        self.write(bank, accounts, Kind::Block { block, is_lasting, prune_before });
    }

    fn count(&self, block: &Block) {
        let counters = &self.shared.counters;
        let succeeded = block.transactions.iter().filter(|it| it.result.is_ok()).count() as u64;
        let failed = (block.transactions.len() as u64).saturating_sub(succeeded);
        let units = block.transactions.iter().map(|it| it.meta.compute_units).sum();
        counters.succeeded.fetch_add(succeeded, Ordering::Relaxed);
        counters.failed.fetch_add(failed, Ordering::Relaxed);
        counters.blocks.fetch_add(1, Ordering::Relaxed);
        counters.compute_units.fetch_add(units, Ordering::Relaxed);
    }

    /// Queues something for the ledger, with the header of a bank.
    pub(crate) fn write(
        &self,
        bank: &Bank,
        accounts: Vec<(Pubkey, AccountSharedData)>,
        kind: Kind,
    ) {
        let Some(committer) = &self.committer else { return };
        let header = Header {
            transaction_count: self.transaction_count,
            clock_milliseconds: self.time.now(),
            clock_offset_milliseconds: self.time.offset(),
            ..self.header.clone()
        };
        let header = genesis::to_header(bank, header);
        let fetched = self.shared.fetched().take_changed();
        committer.write(Write { number: self.number, accounts, header, fetched, kind });
    }

    /// Moves the root of the banks to the newest block that no reader and no snapshot needs.
    fn advance_root(&mut self) -> Result<(), NodeError> {
        let pinned = self.snapshots.values().map(|it| it.slot).min().unwrap_or(u64::MAX);
        let mut chain = self.shared.chain_mut();
        let last = chain.finalized.min(pinned);
        let mut root = None;
        while chain.tips.len() > BANKS_KEPT
            && let Some(next) = chain.tips.get(1)
            && next.bank.slot() <= last
        {
            root = Some(next.bank.slot());
            self.shared.index_mut().root(&next.index);
            chain.tips.pop_front();
        }
        drop(chain);
        if let Some(root) = root {
            self.forks.set_root(root)?;
        }
        Ok(())
    }

    /// Tells readers when a look at the slot needs a new block.
    pub(crate) fn schedule_tick(&self) {
        let next = self.time.next_slot_at().filter(|_| self.mode == BlockMode::OnDemand);
        self.shared.next_tick.store(next.unwrap_or(u64::MAX), Ordering::Release);
    }

    /// Fails once the ledger cannot be written to any more.
    pub(crate) fn check_ledger(&mut self) -> Result<(), NodeError> {
        if self.committer.as_ref().is_some_and(Committer::has_failed)
            && let Some(committer) = self.committer.take()
            && let Err(error) = committer.stop()
        {
            let mut failure =
                self.shared.failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            tracing::error!(%error, "the ledger cannot be written to");
            *failure = Some(error.to_string());
        }
        if self.has_failed() { Err(NodeError::Stopped) } else { Ok(()) }
    }

    fn has_failed(&self) -> bool {
        self.shared.failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner).is_some()
    }

    /// Drops what waits, and waits until everything is written.
    pub(crate) fn stop(&mut self) -> Result<(), NodeError> {
        self.queue.clear();
        self.retries.clear();
        match self.committer.take() {
            Some(committer) => Ok(committer.stop()?),
            None => Ok(()),
        }
    }
}

/// Returns the accounts that a bank changed, those that it deleted with 0 lamports.
pub(crate) fn changed_accounts(bank: &Bank) -> Result<Vec<(Pubkey, AccountSharedData)>, BankError> {
    let keys = bank.changed_addresses().into_iter();
    keys.map(|key| Ok((key, bank.get_account(&key)?.unwrap_or_default()))).collect()
}
