//! The thread that writes to the ledger.
//!
//! It takes all blocks that are waiting into one transaction of the store, and reports them as durable
//! when that is on disk. Blocks without transactions and edits are not written by themselves: what
//! they changed goes with the next block.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, PoisonError, RwLock,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
};

use selkie_ledger::{Block, Commit, Header, Store, StoreError};
use solana_account::AccountSharedData;
use solana_pubkey::Pubkey;

use crate::chain::Chain;

/// How many blocks go into one transaction at most.
const BLOCKS_MAX: usize = 512;
/// How many blocks may wait for the disk. Then block production waits too, so that a slow disk does not
/// grow the memory.
const WRITES_MAX: usize = 1024;
/// The size up to which a ledger is compacted when the node stops, which must not take long.
const COMPACTED_BYTES_MAX: u64 = 64 << 20;

/// Something to be written.
#[derive(Debug)]
pub(crate) struct Write {
    /// The number of the block.
    pub(crate) number: u64,
    pub(crate) accounts: Vec<(Pubkey, AccountSharedData)>,
    pub(crate) header: Header,
    /// The addresses that were asked for at another cluster, if they have changed.
    pub(crate) fetched: Option<Vec<Pubkey>>,
    pub(crate) kind: Kind,
}

/// What is written.
#[derive(Debug)]
pub(crate) enum Kind {
    /// A block. One that changed nothing of lasting interest is written with the next one.
    Block { block: Arc<Block>, is_lasting: bool, prune_before: Option<u64> },
    /// The blocks after a slot are removed.
    Revert(u64),
    /// Everything is replaced.
    Replace(Vec<Arc<Block>>),
}

/// The thread, and the way to it.
#[derive(Debug)]
pub(crate) struct Committer {
    writes: SyncSender<Write>,
    thread: JoinHandle<Result<(), StoreError>>,
}

impl Committer {
    /// Starts the thread.
    pub(crate) fn start(store: Box<dyn Store>, chain: Arc<RwLock<Chain>>) -> std::io::Result<Self> {
        let (writes, received) = sync_channel(WRITES_MAX);
        let worker = Worker { store, chain, pending: Pending::default() };
        let thread = thread::Builder::new().name("selkie-ledger".to_owned());
        let thread = thread.spawn(move || worker.run(&received))?;
        Ok(Self { writes, thread })
    }

    /// Queues something to be written. After an error of the store nothing is written any more, and
    /// nothing becomes finalized.
    pub(crate) fn write(&self, write: Write) {
        // The thread ends early after an error only, which `stop` returns.
        let _ = self.writes.send(write);
    }

    /// Returns whether the thread has ended because of an error.
    pub(crate) fn has_failed(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits until everything is written.
    pub(crate) fn stop(self) -> Result<(), StoreError> {
        drop(self.writes);
        let lost = || StoreError::Damaged("the thread that writes it has panicked".to_owned());
        self.thread.join().unwrap_or_else(|_| Err(lost()))
    }
}

#[derive(Debug)]
struct Worker {
    store: Box<dyn Store>,
    chain: Arc<RwLock<Chain>>,
    pending: Pending,
}

/// What the next transaction will write.
#[derive(Default, Debug)]
struct Pending {
    accounts: BTreeMap<Pubkey, AccountSharedData>,
    commit: Commit,
    is_lasting: bool,
    clear: bool,
    /// The highest number of a block in it.
    number: u64,
}

impl Worker {
    fn run(mut self, writes: &Receiver<Write>) -> Result<(), StoreError> {
        while let Ok(write) = writes.recv() {
            self.add(write)?;
            let waiting: Vec<Write> = writes.try_iter().take(BLOCKS_MAX).collect();
            waiting.into_iter().try_for_each(|write| self.add(write))?;
            if self.pending.is_lasting {
                self.flush()?;
            }
            self.report();
        }
        self.flush()?;
        if self.store.size_bytes() <= COMPACTED_BYTES_MAX {
            self.store.compact()?;
        }
        Ok(())
    }

    /// Adds to the pending transaction. What changes the past is a transaction of its own.
    fn add(&mut self, write: Write) -> Result<(), StoreError> {
        let is_past = !matches!(write.kind, Kind::Block { .. });
        if is_past {
            self.flush()?;
        }
        self.pending.add(write);
        if is_past { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        let pending = core::mem::take(&mut self.pending);
        self.pending.number = pending.number;
        if pending.accounts.is_empty() && pending.commit.blocks.is_empty() {
            return Ok(());
        }
        if pending.clear {
            self.store.clear()?;
        }
        let accounts = pending.accounts.into_iter().collect();
        self.store.commit(&Commit { accounts, ..pending.commit })
    }

    fn report(&self) {
        let mut chain = self.chain.write().unwrap_or_else(PoisonError::into_inner);
        chain.durable = chain.durable.max(self.pending.number);
        chain.advance();
    }
}

impl Pending {
    fn add(&mut self, write: Write) {
        self.number = write.number;
        self.accounts.extend(write.accounts);
        self.commit.header = write.header;
        self.commit.fetched = write.fetched.or(self.commit.fetched.take());
        match write.kind {
            Kind::Block { block, is_lasting, prune_before } => {
                self.is_lasting |= is_lasting;
                if is_lasting {
                    self.commit.blocks.push(block);
                }
                self.commit.prune_before = prune_before.or(self.commit.prune_before);
            }
            Kind::Revert(slot) => self.commit.revert_to = Some(slot),
            Kind::Replace(blocks) => {
                self.commit.blocks = blocks;
                self.clear = true;
            }
        }
    }
}
