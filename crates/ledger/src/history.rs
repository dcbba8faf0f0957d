//! The blocks in memory, and the indexes by signature and by address.
//!
//! The limit counts transactions; as many blocks are kept, so that empty ones do not accumulate
//! either.

use core::{fmt, ops::RangeInclusive};
use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
};

use foldhash::fast::FixedState;
use solana_pubkey::Pubkey;
use solana_signature::Signature;
use solana_transaction_error::TransactionError;

use crate::{
    block::{Block, BlockRecord, Landed},
    statuses::Statuses,
};

/// The number of blocks whose changed accounts are kept.
const BLOCKS_WITH_ACCOUNTS: usize = 64;
/// The minimum number of blocks that are kept, so that slots can be looked up.
const BLOCKS_MIN: usize = 512;

/// How many transactions are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HistoryLimit {
    /// The newest ones, at least this many; whole blocks are dropped.
    Transactions(usize),
    /// All of them, which needs memory without bound.
    All,
}

impl Default for HistoryLimit {
    fn default() -> Self {
        Self::Transactions(10_000)
    }
}

/// The blocks that are kept, and their transactions by signature and by address.
#[derive(Debug)]
pub struct History {
    limit: HistoryLimit,
    blocks: BTreeMap<u64, Arc<Block>>,
    by_signature: HashMap<Signature, Arc<Landed>, FixedState>,
    /// Oldest first.
    by_address: HashMap<Pubkey, VecDeque<Arc<Landed>>, FixedState>,
    transactions: usize,
    /// The slots of the blocks that still have their accounts, oldest first.
    with_accounts: VecDeque<u64>,
    /// The results of recent transactions, which are known even if the limit is low.
    statuses: Statuses,
}

/// Which transactions of an address are asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddressQuery {
    /// Only transactions before this one.
    pub before: Option<Signature>,
    /// Only transactions after this one.
    pub until: Option<Signature>,
    /// How many at most.
    pub limit: usize,
    /// Only transactions up to this slot.
    pub slot_max: u64,
}

/// A transaction that a query refers to is not in the history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownSignature(pub Signature);

impl fmt::Display for UnknownSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no transaction with the signature {} is in the history", self.0)
    }
}

impl core::error::Error for UnknownSignature {}

impl History {
    /// Creates an empty history.
    #[must_use]
    pub fn new(limit: HistoryLimit) -> Self {
        Self {
            limit,
            blocks: BTreeMap::new(),
            by_signature: HashMap::default(),
            by_address: HashMap::default(),
            transactions: 0,
            with_accounts: VecDeque::new(),
            statuses: Statuses::default(),
        }
    }

    /// Adds a block after all others, and drops the oldest ones beyond the limit. Returns the first
    /// slot that is left if blocks were dropped.
    pub fn push(&mut self, block: Arc<Block>) -> Option<u64> {
        for landed in &block.transactions {
            self.by_signature.insert(landed.signature, Arc::clone(landed));
            for key in landed.account_keys() {
                self.by_address.entry(key).or_default().push_back(Arc::clone(landed));
            }
        }
        self.statuses.push(&block);
        self.transactions = self.transactions.saturating_add(block.transactions.len());
        if !block.accounts.is_empty() {
            self.with_accounts.push_back(block.slot);
        }
        self.blocks.insert(block.slot, block);
        self.drop_accounts();
        self.prune()
    }

    /// Drops the accounts of blocks that subscribers have long read.
    fn drop_accounts(&mut self) {
        while self.with_accounts.len() > BLOCKS_WITH_ACCOUNTS {
            let Some(slot) = self.with_accounts.pop_front() else { return };
            if let Some(block) = self.blocks.get_mut(&slot) {
                *block = Arc::new(without_accounts(block));
            }
        }
    }

    fn prune(&mut self) -> Option<u64> {
        let HistoryLimit::Transactions(max) = self.limit else { return None };
        let blocks_max = max.max(BLOCKS_MIN);
        let mut is_pruned = false;
        while self.blocks.len() > 1 {
            let Some((slot, oldest)) = self.blocks.first_key_value() else { break };
            let (slot, count) = (*slot, oldest.transactions.len());
            let left = self.transactions.saturating_sub(count);
            let is_spare = self.transactions > max && left >= max;
            if !is_spare && self.blocks.len() <= blocks_max {
                break;
            }
            self.remove(slot, VecDeque::pop_front);
            is_pruned = true;
        }
        if is_pruned { self.first_slot() } else { None }
    }

    /// Removes a block at one end of the history: `pop` removes a transaction of an address there.
    fn remove(
        &mut self,
        slot: u64,
        pop: impl Fn(&mut VecDeque<Arc<Landed>>) -> Option<Arc<Landed>>,
    ) {
        let Some(block) = self.blocks.remove(&slot) else { return };
        self.transactions = self.transactions.saturating_sub(block.transactions.len());
        for landed in &block.transactions {
            self.by_signature.remove(&landed.signature);
            for key in landed.account_keys() {
                let Some(of_address) = self.by_address.get_mut(&key) else { continue };
                pop(of_address);
                if of_address.is_empty() {
                    self.by_address.remove(&key);
                } else if of_address.capacity() > of_address.len().saturating_mul(4) {
                    of_address.shrink_to_fit();
                }
            }
        }
    }

    /// Removes the blocks after a slot.
    pub fn revert_to(&mut self, slot: u64) {
        while let Some((last, _)) = self.blocks.last_key_value()
            && *last > slot
        {
            let last = *last;
            self.remove(last, VecDeque::pop_back);
        }
        self.with_accounts.retain(|it| *it <= slot);
        self.statuses.revert_to(slot);
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        *self = Self::new(self.limit);
    }

    /// Returns the block of a slot.
    #[must_use]
    pub fn block(&self, slot: u64) -> Option<&Arc<Block>> {
        self.blocks.get(&slot)
    }

    /// Returns the blocks of a range of slots, oldest first.
    pub fn blocks(
        &self,
        slots: RangeInclusive<u64>,
    ) -> impl DoubleEndedIterator<Item = &Arc<Block>> {
        let slots = (!slots.is_empty()).then_some(slots);
        slots.into_iter().flat_map(|slots| self.blocks.range(slots)).map(|(_, block)| block)
    }

    /// Returns the first slot with a block.
    #[must_use]
    pub fn first_slot(&self) -> Option<u64> {
        self.blocks.first_key_value().map(|(slot, _)| *slot)
    }

    /// Returns the number of transactions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.transactions
    }

    /// Returns whether there is no transaction.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.transactions == 0
    }

    /// Returns a transaction.
    #[must_use]
    pub fn transaction(&self, signature: &Signature) -> Option<&Arc<Landed>> {
        self.by_signature.get(signature)
    }

    /// Returns the slot and the result of a transaction: one that is kept, or one of the last 300 block
    /// heights.
    #[must_use]
    pub fn status(&self, signature: &Signature) -> Option<(u64, Result<(), TransactionError>)> {
        let kept = self.transaction(signature).map(|it| (it.slot, it.result.clone()));
        kept.or_else(|| self.statuses.get(signature))
    }

    /// Returns the newest transactions, newest first.
    pub fn newest(&self) -> impl Iterator<Item = &Arc<Landed>> {
        self.blocks.values().rev().flat_map(|block| block.transactions.iter().rev())
    }

    /// Returns the transactions of an address, newest first.
    ///
    /// # Errors
    /// If the transaction before which, or up to which, is not known.
    pub fn of_address(
        &self,
        address: &Pubkey,
        query: &AddressQuery,
    ) -> Result<Vec<Arc<Landed>>, UnknownSignature> {
        let place = |signature: Option<Signature>| {
            let Some(signature) = signature else { return Ok(None) };
            let landed = self.transaction(&signature).ok_or(UnknownSignature(signature))?;
            Ok(Some((landed.slot, landed.index)))
        };
        let (before, until) = (place(query.before)?, place(query.until)?);
        let Some(all) = self.by_address.get(address) else { return Ok(Vec::new()) };
        let place = |landed: &Arc<Landed>| (landed.slot, landed.index);
        let is_in = |landed: &Arc<Landed>| {
            landed.slot <= query.slot_max && before.is_none_or(|it| place(landed) < it)
        };
        let end = all.partition_point(is_in);
        let start = until.map_or(0, |it| all.partition_point(|landed| place(landed) <= it));
        let count = end.saturating_sub(start).min(query.limit);
        Ok(all.range(end.saturating_sub(count)..end).rev().cloned().collect())
    }
}

fn without_accounts(block: &Block) -> Block {
    let transactions = block.transactions.clone();
    Block { transactions, ..BlockRecord::new(block).into_block(block.slot) }
}
