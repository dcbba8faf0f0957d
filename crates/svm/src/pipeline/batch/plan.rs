//! The plan of a batch: which earlier transactions each transaction waits for.
//!
//! Invariant: a transaction's plan depends only on the transactions before it and on the accounts before
//! the batch. The set of transactions that it waits for never changes; only the links by which it finds
//! their results may be shortened (see [`Before`]).

use core::sync::atomic::{AtomicU32, Ordering};
use std::collections::HashMap;

use foldhash::fast::FixedState;
use smallvec::SmallVec;
use solana_account::ReadableAccount;
use solana_message::VersionedMessage;
use solana_pubkey::Pubkey;

use crate::{
    chain::{
        account::{AccountStore, Loader, is_same},
        key_map::KeyMap,
        message_id::MessageId,
        transaction::Transaction,
    },
    pipeline::{chain_state::ChainState, check::is_reserved, lookup},
    programs::cache::program_data_address,
};

/// The index of a transaction in its batch: 32 bits, since many are stored.
pub(super) type Index = u32;

/// A link to an earlier transaction, if there is one. If that transaction turns out to have written
/// nothing, the link is shortened to the one before it, so that later searches skip it.
#[derive(Debug)]
pub(super) struct Before(AtomicU32);

/// The value of a link to no transaction.
const NONE: Index = Index::MAX;

impl Before {
    fn new(index: Option<Index>) -> Self {
        Self(AtomicU32::new(index.unwrap_or(NONE)))
    }

    pub(super) fn get(&self) -> Option<Index> {
        Some(self.0.load(Ordering::Relaxed)).filter(|index| *index != NONE)
    }

    /// Shortens the link, because the transactions in between have written nothing. The caller must have
    /// waited for their outcomes. Readers of the link wait for the transaction that it belongs to, and
    /// thereby for the same outcomes, so relaxed ordering suffices.
    pub(super) fn pass_over(&self, index: Option<Index>) {
        self.0.store(index.unwrap_or(NONE), Ordering::Relaxed);
    }
}

/// The plan of a transaction: the transactions that it waits for, and the accounts that it uses.
pub(super) struct Planned {
    /// Earlier transactions that may write to an account that it uses.
    before: SmallVec<[Index; 4]>,
    /// Whether it waits for all earlier transactions, since they decide which accounts it uses.
    pub(super) is_barrier: bool,
    /// The last barrier before it, which it waits for.
    pub(super) barrier: Option<Index>,
    /// The last earlier transaction with the same message.
    pub(super) same: Before,
    uses: SmallVec<[Use; 4]>,
}

/// The use of an account by a transaction.
#[derive(Debug)]
pub(super) struct Use {
    key: Pubkey,
    pub(super) is_writable: bool,
    /// The last earlier transaction that may write to the account.
    pub(super) writer: Before,
}

impl Planned {
    fn new(same: Option<Index>, barrier: Option<Index>) -> Self {
        Self {
            before: SmallVec::new(),
            is_barrier: false,
            barrier,
            same: Before::new(same),
            uses: SmallVec::new(),
        }
    }

    /// Returns the indexes of the transactions that this one, with index `index`, waits for.
    pub(super) fn waits_for(&self, index: usize) -> impl Iterator<Item = usize> {
        let barrier = if self.is_barrier { 0..index } else { 0..0 };
        let before = self.barrier.iter().chain(&self.before);
        barrier.chain(before.map(|before| *before as usize))
    }

    /// Returns the planned use of an account. An account that is both a lookup table and writable has two
    /// uses, of which the second one, which writes, is returned.
    pub(super) fn use_of(&self, key: &Pubkey) -> Option<&Use> {
        self.uses.iter().rev().find(|it| is_same(&it.key, key))
    }
}

/// What the planner knows about an account.
#[derive(Debug)]
struct KnownAccount {
    /// The last transaction so far that may write to it.
    writer: Option<Index>,
    /// Whether it was a program before the batch.
    program: Program,
}

/// Whether an account is a program of loader v3, and the address of its programdata account.
#[derive(Clone, Copy, Debug)]
enum Program {
    No,
    Yes(Option<Pubkey>),
}

impl Program {
    fn of(key: &Pubkey, accounts: &impl AccountStore) -> Self {
        accounts.with_account(key, |account| match account {
            Some(account) if Loader::of(account.owner()) == Some(Loader::V3) => {
                Self::Yes(program_data_address(account.data()))
            }
            _ => Self::No,
        })
    }
}

/// Plans the transactions of a batch, one after the other.
#[derive(Default, Debug)]
pub(super) struct Planner {
    accounts: KeyMap<KnownAccount>,
    seen: HashMap<MessageId, Index, FixedState>,
    barrier: Option<Index>,
    next: Index,
    /// The accounts of the transaction that is being planned.
    accesses: Vec<Access>,
}

/// The greatest capacity that stays allocated, in accounts.
const CAPACITY_KEPT: usize = 1 << 16;

/// An account that a transaction accesses.
#[derive(Clone, Copy, Debug)]
struct Access {
    key: Pubkey,
    is_writable: bool,
    /// Whether the message names it as a lookup table, whose content decides about further accounts.
    is_table: bool,
}

impl Planner {
    /// Begins a batch of `transactions` transactions.
    pub(super) fn begin(&mut self, transactions: usize) {
        // Most transactions write to a few accounts that no other one uses.
        self.accounts.reserve(transactions.saturating_mul(4));
        self.seen.reserve(transactions);
    }

    /// Ends the batch, and keeps allocations for the next one.
    pub(super) fn finish(&mut self) {
        let Self { mut accounts, mut seen, mut accesses, .. } = core::mem::take(self);
        if accounts.capacity() <= CAPACITY_KEPT {
            accounts.clear();
            seen.clear();
            accesses.clear();
            *self = Self { accounts, seen, accesses, ..Self::default() };
        }
    }

    /// Plans the next transaction.
    pub(super) fn plan<S: AccountStore>(
        &mut self,
        transaction: &Transaction,
        chain: &ChainState<'_, S>,
    ) -> Planned {
        let index = self.next;
        self.next = index.checked_add(1).expect("a batch fits into memory");
        // The message contains the blockhash, so equal ids mean the same transaction.
        let same = self.seen.insert(transaction.message_id(), index);
        let mut planned = Planned::new(same, self.barrier);
        planned.before.extend(same);
        let mut accesses = core::mem::take(&mut self.accesses);
        accesses.clear();
        collect_accesses(transaction, chain, &mut accesses);
        let named = accesses.len();
        let mut next = 0;
        while let Some(&access) = accesses.get(next) {
            let is_named = next < named;
            next = next.saturating_add(1);
            let programdata = self.plan_access(index, access, is_named, chain, &mut planned);
            if let Some(key) = programdata {
                accesses.push(Access { key, is_writable: false, is_table: false });
            }
        }
        self.accesses = accesses;
        planned.before.sort_unstable();
        planned.before.dedup();
        if planned.is_barrier {
            self.barrier = Some(index);
        }
        planned
    }

    /// Plans one access of transaction `index`. Returns the programdata account if the message names the
    /// account and it is a program.
    #[inline]
    fn plan_access<S: AccountStore>(
        &mut self,
        index: Index,
        access: Access,
        is_named: bool,
        chain: &ChainState<'_, S>,
        planned: &mut Planned,
    ) -> Option<Pubkey> {
        let Access { key, is_writable, is_table } = access;
        let account = self.accounts.entry(key).or_insert_with(|| KnownAccount {
            writer: None,
            program: Program::of(&key, chain.accounts),
        });
        let mut programdata = None;
        if let Program::Yes(address) = account.program
            && is_named
        {
            planned.is_barrier |= account.writer.is_some();
            programdata = address;
        }
        // No transaction can write to it.
        if is_reserved(&key) {
            return programdata;
        }
        // A barrier's accounts are not known in advance: it may write to any table.
        let may_be_written = account.writer.is_some() || is_table && self.barrier.is_some();
        planned.is_barrier |= is_table && may_be_written;
        let writer = account.writer;
        // This transaction has named the account as writable before.
        if writer == Some(index) {
            return programdata;
        }
        planned.before.extend(writer);
        if is_writable {
            account.writer = Some(index);
        }
        planned.uses.push(Use { key, is_writable, writer: Before::new(writer) });
        programdata
    }
}

/// Collects the accounts that a transaction accesses, with lookup tables as they are before the batch.
fn collect_accesses<S: AccountStore>(
    transaction: &Transaction,
    chain: &ChainState<'_, S>,
    accesses: &mut Vec<Access>,
) {
    let header = transaction.message().header();
    let static_keys = transaction.static_keys();
    let signers = transaction.signers();
    let writable_signers = signers.saturating_sub(usize::from(header.num_readonly_signed_accounts));
    let writable_others =
        static_keys.len().saturating_sub(usize::from(header.num_readonly_unsigned_accounts));
    accesses.extend(static_keys.iter().enumerate().map(|(index, key)| {
        let is_writable =
            if index < signers { index < writable_signers } else { index < writable_others };
        Access { key: *key, is_writable, is_table: false }
    }));
    let VersionedMessage::V0(message) = transaction.message() else { return };
    let lookups = &message.address_table_lookups;
    let tables = lookups.iter().map(|lookup| lookup.account_key);
    accesses.extend(tables.map(|key| Access { key, is_writable: false, is_table: true }));
    // A transaction whose lookups fail is dropped, and accesses nothing else.
    if let Ok((writable, readonly)) = lookup::resolve(lookups, chain.accounts, chain.environment) {
        let looked_up = |key, is_writable| Access { key, is_writable, is_table: false };
        let writable = writable.into_iter().map(|key| looked_up(key, true));
        let readonly = readonly.into_iter().map(|key| looked_up(key, false));
        accesses.extend(writable.chain(readonly));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn use_of_a_table_that_is_also_writable_is_the_write() {
        let key = Pubkey::new_from_array([1; 32]);
        let use_as = |is_writable| Use { key, is_writable, writer: Before::new(Some(3)) };
        let mut planned = Planned::new(None, None);
        planned.uses.extend([use_as(false), use_as(true)]);
        assert!(
            planned.use_of(&key).is_some_and(|it| it.is_writable && it.writer.get() == Some(3))
        );
        assert!(planned.use_of(&Pubkey::default()).is_none());
    }
}
