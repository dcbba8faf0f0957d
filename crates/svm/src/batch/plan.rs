//! What transactions of a batch wait for.
//!
//! Invariant: a transaction's plan depends on those before it alone, and on the accounts as they
//! were before the batch.

use std::{collections::HashMap, sync::Mutex};

use foldhash::fast::FixedState;
use smallvec::SmallVec;
use solana_account::{AccountSharedData, ReadableAccount};
use solana_message::VersionedMessage;
use solana_pubkey::Pubkey;

use crate::{
    account::{AccountStore, Loader, is_same},
    check::is_reserved,
    key_map::{KeyMap, KeyState},
    lookup,
    message_id::MessageId,
    process::Bank,
    program_cache::program_data_address,
    transaction::Transaction,
};

/// Where what is written to an account is kept: with the first transaction that can write to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) transaction: u32,
    pub(super) slot: u32,
}

/// What a transaction waits for, and where what it touches is.
#[derive(Default)]
pub(super) struct Planned {
    /// Transactions before that touch the same accounts.
    before: SmallVec<[usize; 4]>,
    /// Whether it waits for all before: what it touches depends on what they do.
    is_barrier: bool,
    /// The last transaction that all others wait for.
    pub(super) barrier: Option<usize>,
    /// The transaction before that is the same.
    pub(super) same: Option<usize>,
    /// The accounts that it touches, and the places of those that it or one before can write to.
    keys: SmallVec<[(Pubkey, Option<Place>); 5]>,
    /// What is written to accounts that no transaction before can write to.
    pub(super) written: Vec<Mutex<Option<AccountSharedData>>>,
}

impl Planned {
    pub(super) fn waits_for(&self, index: usize) -> impl Iterator<Item = usize> {
        let barrier = if self.is_barrier { 0..index } else { 0..0 };
        barrier.chain(self.barrier).chain(self.before.iter().copied())
    }

    /// The place of an account; nothing if it was not known to be touched. One that is there twice,
    /// as a table that is written to, had no place yet at first.
    pub(super) fn place(&self, key: &Pubkey) -> Option<Option<Place>> {
        self.keys.iter().rev().find(|(known, _)| is_same(known, key)).map(|(_, place)| *place)
    }
}

/// An account, and who has touched it so far.
struct Users {
    /// The last that can write to it.
    writer: Option<usize>,
    /// Those that can read it since.
    readers: SmallVec<[usize; 2]>,
    place: Option<Place>,
    /// What it was before the batch: a program whose code is in another account.
    program: Program,
}

/// Whether an account is a program of loader v3, and where its code is.
#[derive(Clone, Copy)]
enum Program {
    No,
    Yes(Option<Pubkey>),
}

impl Program {
    fn of(key: &Pubkey, accounts: &impl AccountStore) -> Self {
        match accounts.account(key) {
            Some(account) if Loader::of(account.owner()) == Some(Loader::V3) => {
                Self::Yes(program_data_address(account.data()))
            }
            _ => Self::No,
        }
    }
}

/// Plans transactions one after the other.
pub(super) struct Planner {
    users: KeyMap<Users>,
    seen: HashMap<MessageId, usize, FixedState>,
    barrier: Option<usize>,
    next: usize,
    /// What the transaction touches that is being planned.
    touched: Vec<Touched>,
}

/// An account that a transaction touches.
#[derive(Clone, Copy)]
struct Touched {
    key: Pubkey,
    is_writable: bool,
    /// Whether it tells which others are touched, whatever it is.
    is_table: bool,
}

impl Planner {
    /// A planner for so many transactions.
    pub(super) fn new(transactions: usize) -> Self {
        // Most transactions write to a few accounts that no other one touches.
        let room = transactions.saturating_mul(4);
        Self {
            users: KeyMap::with_capacity_and_hasher(room, KeyState::default()),
            seen: HashMap::with_capacity_and_hasher(transactions, FixedState::default()),
            barrier: None,
            next: 0,
            touched: Vec::new(),
        }
    }

    /// Plans the next transaction.
    pub(super) fn plan<S: AccountStore>(
        &mut self,
        transaction: &Transaction,
        bank: &Bank<'_, S>,
    ) -> Planned {
        let index = self.next;
        self.next = index.saturating_add(1);
        // The message has the blockhash in it.
        let same = self.seen.insert(transaction.message_id(), index);
        let mut planned = Planned { barrier: self.barrier, same, ..Planned::default() };
        let mut touched = core::mem::take(&mut self.touched);
        touched.clear();
        touch(transaction, bank, &mut touched);
        let named = touched.len();
        let mut next = 0;
        while let Some(&Touched { key, is_writable, is_table }) = touched.get(next) {
            let is_named = next < named;
            next = next.saturating_add(1);
            let users = self.users.entry(key).or_insert_with(|| Users {
                writer: None,
                readers: SmallVec::new(),
                place: None,
                program: Program::of(&key, bank.accounts),
            });
            // What barriers write to is not known before: it may be any table.
            let may_be_written = users.writer.is_some() || is_table && self.barrier.is_some();
            if let Program::Yes(code) = users.program
                && is_named
            {
                planned.is_barrier |= users.writer.is_some();
                if let Some(key) = code {
                    touched.push(Touched { key, is_writable: false, is_table: false });
                }
            }
            planned.is_barrier |= is_table && may_be_written;
            planned.before.extend(users.writer);
            if is_writable {
                planned.before.extend(users.readers.drain(..));
                users.writer = Some(index);
                if users.place.is_none() {
                    users.place = Some(Place {
                        transaction: short(index),
                        slot: short(planned.written.len()),
                    });
                    planned.written.push(Mutex::new(None));
                }
            } else {
                users.readers.push(index);
            }
            planned.keys.push((key, users.place));
        }
        self.touched = touched;
        // An account may be there twice, for more than one reason.
        planned.before.retain(|before| *before != index);
        planned.before.sort_unstable();
        planned.before.dedup();
        if planned.is_barrier {
            self.barrier = Some(index);
        }
        planned
    }
}

/// Counts of transactions and accounts are short: they are kept many times over.
fn short(count: usize) -> u32 {
    u32::try_from(count).expect("a batch fits into memory")
}

/// The accounts that a transaction touches, as things stand before the batch: those of the protocol
/// left out, which nobody writes to.
fn touch<S: AccountStore>(transaction: &Transaction, bank: &Bank<'_, S>, to: &mut Vec<Touched>) {
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
    to.extend(own.filter(|it| !is_reserved(&it.key)));
    let VersionedMessage::V0(message) = transaction.message() else { return };
    let lookups = &message.address_table_lookups;
    let tables = lookups.iter().map(|lookup| lookup.account_key);
    to.extend(tables.map(|key| Touched { key, is_writable: false, is_table: true }));
    // What cannot be resolved is dropped, and touches nothing else.
    if let Ok((writable, readonly)) = lookup::resolve(lookups, bank.accounts, bank.environment) {
        let given = |key, is_writable| Touched { key, is_writable, is_table: false };
        let writable = writable.into_iter().map(|key| given(key, true));
        let readonly = readonly.into_iter().map(|key| given(key, false));
        to.extend(writable.chain(readonly).filter(|it| !is_reserved(&it.key)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_is_written_to_has_its_place() {
        let (key, place) = (Pubkey::new_from_array([1; 32]), Place { transaction: 3, slot: 0 });
        let planned = Planned {
            keys: [(key, None), (key, Some(place))].into_iter().collect(),
            ..Planned::default()
        };
        let found = planned.place(&key).flatten().map(|place| place.transaction);
        assert_eq!(found, Some(3));
        assert!(planned.place(&Pubkey::default()).is_none());
    }
}
