//! What transactions of a batch wait for.
//!
//! Invariant: a transaction's plan depends on those before it alone, and on the accounts as they
//! were before the batch. Whom it waits for never changes; where it looks for what they have left may,
//! as [`Before`] says.

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

/// The place of a transaction in its batch: short, since it is kept many times over.
pub(super) type Index = u32;

/// A transaction before, or none. Where that one turns out to have left nothing, the one before it
/// takes its place, so that nobody goes that way twice.
#[derive(Debug)]
pub(super) struct Before(AtomicU32);

const NOBODY: Index = Index::MAX;

impl Before {
    fn new(index: Option<Index>) -> Self {
        Self(AtomicU32::new(index.unwrap_or(NOBODY)))
    }

    pub(super) fn get(&self) -> Option<Index> {
        Some(self.0.load(Ordering::Relaxed)).filter(|index| *index != NOBODY)
    }

    /// Notes that those between have left nothing. The caller must know that for good: their outcomes
    /// are there, and it has waited for them. Then whoever reads this has waited for them, too, since
    /// it waits for the transaction whose link this is: that is why nothing is ordered here.
    pub(super) fn pass_over(&self, index: Option<Index>) {
        self.0.store(index.unwrap_or(NOBODY), Ordering::Relaxed);
    }
}

/// What a transaction waits for, and what it touches.
pub(super) struct Planned {
    /// Transactions before that can write to what it touches.
    before: SmallVec<[Index; 4]>,
    /// Whether it waits for all before: what it touches depends on what they do.
    pub(super) is_barrier: bool,
    /// The last transaction that all others wait for.
    pub(super) barrier: Option<Index>,
    /// The last transaction before that is the same.
    pub(super) same: Before,
    uses: SmallVec<[Use; 4]>,
}

/// How a transaction touches an account.
#[derive(Debug)]
pub(super) struct Use {
    key: Pubkey,
    pub(super) is_writable: bool,
    /// The last transaction before that can write to it.
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

    pub(super) fn waits_for(&self, index: usize) -> impl Iterator<Item = usize> {
        let barrier = if self.is_barrier { 0..index } else { 0..0 };
        let before = self.barrier.iter().chain(&self.before);
        barrier.chain(before.map(|before| *before as usize))
    }

    /// How it touches an account; nothing if it was not known to. One that is there twice, as a
    /// table that is written to, is only read at first.
    pub(super) fn use_of(&self, key: &Pubkey) -> Option<&Use> {
        self.uses.iter().rev().find(|it| is_same(&it.key, key))
    }
}

/// Who has touched an account so far.
#[derive(Debug)]
struct User {
    /// The last that can write to it.
    writer: Option<Index>,
    /// What it was before the batch: a program whose code is in another account.
    program: Program,
}

/// Whether an account is a program of loader v3, and where its code is.
#[derive(Clone, Copy, Debug)]
enum Program {
    No,
    Yes(Option<Pubkey>),
}

impl Program {
    fn of(key: &Pubkey, accounts: &impl AccountStore) -> Self {
        accounts.with_account(key, |found| match found {
            Some(account) if Loader::of(account.owner()) == Some(Loader::V3) => {
                Self::Yes(program_data_address(account.data()))
            }
            _ => Self::No,
        })
    }
}

/// Plans transactions one after the other.
#[derive(Default, Debug)]
pub(super) struct Planner {
    users: KeyMap<User>,
    seen: HashMap<MessageId, Index, FixedState>,
    barrier: Option<Index>,
    next: Index,
    /// What the transaction touches that is being planned.
    touched: Vec<Touched>,
}

/// The greatest capacity that stays allocated, in accounts.
const CAPACITY_KEPT: usize = 1 << 16;

/// An account that a transaction touches.
#[derive(Clone, Copy, Debug)]
struct Touched {
    key: Pubkey,
    is_writable: bool,
    /// Whether it tells which others are touched, whatever it is.
    is_table: bool,
}

impl Planner {
    /// Begins a batch of so many transactions.
    pub(super) fn begin(&mut self, transactions: usize) {
        // Most transactions write to a few accounts that no other one touches.
        self.users.reserve(transactions.saturating_mul(4));
        self.seen.reserve(transactions);
    }

    /// Ends the batch, and keeps allocations for the next one.
    pub(super) fn finish(&mut self) {
        let Self { mut users, mut seen, mut touched, .. } = core::mem::take(self);
        if users.capacity() <= CAPACITY_KEPT {
            users.clear();
            seen.clear();
            touched.clear();
            *self = Self { users, seen, touched, ..Self::default() };
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
        // The message has the blockhash in it.
        let same = self.seen.insert(transaction.message_id(), index);
        let mut planned = Planned::new(same, self.barrier);
        planned.before.extend(same);
        let mut touched = core::mem::take(&mut self.touched);
        touched.clear();
        touch(transaction, chain, &mut touched);
        let named = touched.len();
        let mut next = 0;
        while let Some(&Touched { key, is_writable, is_table }) = touched.get(next) {
            let is_named = next < named;
            next = next.saturating_add(1);
            let user = self.users.entry(key).or_insert_with(|| User {
                writer: None,
                program: Program::of(&key, chain.accounts),
            });
            if let Program::Yes(code) = user.program
                && is_named
            {
                planned.is_barrier |= user.writer.is_some();
                if let Some(key) = code {
                    touched.push(Touched { key, is_writable: false, is_table: false });
                }
            }
            // Nobody writes to it.
            if is_reserved(&key) {
                continue;
            }
            // What barriers write to is not known before: it may be any table.
            let may_be_written = user.writer.is_some() || is_table && self.barrier.is_some();
            planned.is_barrier |= is_table && may_be_written;
            let writer = user.writer;
            // Named again, for another reason: that it writes is known.
            if writer == Some(index) {
                continue;
            }
            planned.before.extend(writer);
            if is_writable {
                user.writer = Some(index);
            }
            planned.uses.push(Use { key, is_writable, writer: Before::new(writer) });
        }
        self.touched = touched;
        planned.before.sort_unstable();
        planned.before.dedup();
        if planned.is_barrier {
            self.barrier = Some(index);
        }
        planned
    }
}

/// The accounts that a transaction touches, as things stand before the batch.
fn touch<S: AccountStore>(
    transaction: &Transaction,
    chain: &ChainState<'_, S>,
    to: &mut Vec<Touched>,
) {
    let header = transaction.message().header();
    let own = transaction.static_keys();
    let signers = transaction.signers();
    let writable_signers = signers.saturating_sub(usize::from(header.num_readonly_signed_accounts));
    let writable_others =
        own.len().saturating_sub(usize::from(header.num_readonly_unsigned_accounts));
    let own = own.iter().enumerate().map(|(place, key)| {
        let is_writable =
            if place < signers { place < writable_signers } else { place < writable_others };
        Touched { key: *key, is_writable, is_table: false }
    });
    to.extend(own);
    let VersionedMessage::V0(message) = transaction.message() else { return };
    let lookups = &message.address_table_lookups;
    let tables = lookups.iter().map(|lookup| lookup.account_key);
    to.extend(tables.map(|key| Touched { key, is_writable: false, is_table: true }));
    // What cannot be resolved is dropped, and touches nothing else.
    if let Ok((writable, readonly)) = lookup::resolve(lookups, chain.accounts, chain.environment) {
        let given = |key, is_writable| Touched { key, is_writable, is_table: false };
        let writable = writable.into_iter().map(|key| given(key, true));
        let readonly = readonly.into_iter().map(|key| given(key, false));
        to.extend(writable.chain(readonly));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_is_written_to_is_known_to_be() {
        let key = Pubkey::new_from_array([1; 32]);
        let used = |is_writable| Use { key, is_writable, writer: Before::new(Some(3)) };
        let mut planned = Planned::new(None, None);
        planned.uses.extend([used(false), used(true)]);
        assert!(
            planned.use_of(&key).is_some_and(|it| it.is_writable && it.writer.get() == Some(3))
        );
        assert!(planned.use_of(&Pubkey::default()).is_none());
    }
}
