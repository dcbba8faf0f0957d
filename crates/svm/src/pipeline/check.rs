//! The second phase, *check*: addresses resolved, locks, budget, age.
//!
//! What fails here is dropped: it pays nothing and leaves no trace (agave: `bank.rs`,
//! `check_transactions.rs`, `account_locks.rs`).

use std::borrow::Cow;

use solana_account::AccountSharedData;
use solana_message::VersionedMessage;
use solana_pubkey::Pubkey;
use solana_sdk_ids as ids;
use solana_transaction_error::TransactionError;

use crate::{
    chain::{
        account::{AccountStore, is_same},
        blockhash_queue::BlockhashQueue,
        budget::{Requests, TransactionBudget},
        cost::{ACCOUNT_LOCKS_MAX, ACCOUNT_LOCKS_MAX_RAISED},
        features::Feature,
        nonce::{Nonce, durable_nonce},
        transaction::{Transaction, has_duplicate},
    },
    pipeline::lookup,
    runtime::context::environment::Environment,
};

/// A transaction that may be run.
#[derive(Clone, Debug)]
pub struct Checked<'t> {
    /// The transaction.
    pub transaction: &'t Transaction,
    /// All of its addresses: its own, then those that tables give.
    pub keys: Cow<'t, [Pubkey]>,
    /// Which of them may be written to.
    pub writable: Places,
    /// How many tables it uses.
    pub tables: usize,
    /// What it may use.
    pub budget: TransactionBudget,
    /// The place of its durable nonce's account, if it lives by one.
    pub nonce: Option<usize>,
}

/// Some of a transaction's addresses, by their places.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Places(u128);

const _: () = assert!(ACCOUNT_LOCKS_MAX_RAISED <= 128, "every place has a bit");

impl Places {
    /// Whether a place is among them.
    #[inline]
    #[must_use]
    pub fn has(self, place: usize) -> bool {
        place < 128 && self.0 >> place & 1 == 1
    }

    #[inline]
    fn add(&mut self, place: usize) {
        if place < 128 {
            self.0 |= 1 << place;
        }
    }
}

/// Checks a transaction. Signatures are verified before, by [`verify_signatures`].
///
/// # Errors
/// The first check that fails, in mainnet's order.
pub fn check<'t>(
    transaction: &'t Transaction,
    accounts: &impl AccountStore,
    environment: &Environment,
    blockhash_queue: &BlockhashQueue,
) -> Result<Checked<'t>, TransactionError> {
    let mut requests = Requests::default();
    requests.read(transaction)?;
    let (keys, tables, writable_loaded) = resolve(transaction, accounts, environment)?;
    check_locks(&keys, environment)?;
    let writable = writable(transaction, &keys, writable_loaded);
    let features = environment.features;
    let price = environment.lamports_per_signature;
    let budget = TransactionBudget::of(transaction, &requests, features, price)?;
    let mut known = blockhash_queue.blockhash_known(transaction.blockhash());
    let mut nonce = None;
    if known.is_none() {
        nonce = Some(find_nonce(transaction, &keys, writable, accounts, environment)?);
        known = blockhash_queue.nonce_known(transaction.blockhash());
    }
    if known.is_some_and(|known| known.has_processed(transaction.message_id())) {
        return Err(TransactionError::AlreadyProcessed);
    }
    Ok(Checked { transaction, keys, writable, tables, budget, nonce })
}

/// All addresses, how many tables gave some, and how many of those may be written to.
fn resolve<'t>(
    transaction: &'t Transaction,
    accounts: &impl AccountStore,
    environment: &Environment,
) -> Result<(Cow<'t, [Pubkey]>, usize, usize), TransactionError> {
    let keys = transaction.static_keys();
    let VersionedMessage::V0(message) = transaction.message() else {
        return Ok((Cow::Borrowed(keys), 0, 0));
    };
    let lookups = &message.address_table_lookups;
    if lookups.is_empty() {
        return Ok((Cow::Borrowed(keys), 0, 0));
    }
    let (writable, readonly) = lookup::resolve(lookups, accounts, environment)?;
    let all = [keys, &writable, &readonly].concat();
    Ok((Cow::Owned(all), lookups.len(), writable.len()))
}

fn check_locks(keys: &[Pubkey], environment: &Environment) -> Result<(), TransactionError> {
    let raised = environment.features.has(Feature::IncreaseAccountLocks);
    let max = if raised { ACCOUNT_LOCKS_MAX_RAISED } else { ACCOUNT_LOCKS_MAX };
    if keys.len() > max {
        return Err(TransactionError::TooManyAccountLocks);
    }
    if has_duplicate(keys) { Err(TransactionError::AccountLoadedTwice) } else { Ok(()) }
}

/// Which addresses may be written to: as the message says, but for those that the protocol keeps,
/// and programs that are called, unless the loader that may change them is there.
fn writable(transaction: &Transaction, keys: &[Pubkey], writable_loaded: usize) -> Places {
    let header = transaction.message().header();
    let own = transaction.static_keys().len();
    let signers = transaction.signers();
    let readonly_signers = usize::from(header.num_readonly_signed_accounts);
    let readonly_others = usize::from(header.num_readonly_unsigned_accounts);
    let has_loader = || keys.iter().any(|key| is_same(key, &ids::bpf_loader_upgradeable::ID));
    let is_asked_for = |place: usize| {
        if place < signers {
            place < signers.saturating_sub(readonly_signers)
        } else if place < own {
            place < own.saturating_sub(readonly_others)
        } else {
            place < own.saturating_add(writable_loaded)
        }
    };
    let mut programs = Places::default();
    let called = transaction.instructions().iter().map(|it| it.program_id_index);
    called.for_each(|index| programs.add(index.into()));
    let mut writable = Places::default();
    for (place, key) in keys.iter().enumerate() {
        if is_asked_for(place) && !is_reserved(key) && (!programs.has(place) || has_loader()) {
            writable.add(place);
        }
    }
    writable
}

/// Whether an address is the protocol's own: nothing can be written there.
#[must_use]
pub fn is_reserved(key: &Pubkey) -> bool {
    // Most addresses have a first byte that no reserved one has.
    let first = key.as_ref().first().copied().unwrap_or_default();
    RESERVED_FIRST_BYTES[usize::from(first)] && RESERVED.iter().any(|it| is_same(it, key))
}

const RESERVED_FIRST_BYTES: [bool; 256] = {
    let mut firsts = [false; 256];
    let mut index = 0;
    while index < RESERVED.len() {
        firsts[RESERVED[index].as_array()[0] as usize] = true;
        index += 1;
    }
    firsts
};

#[allow(deprecated, reason = "what is deprecated stays reserved")]
const RESERVED: [Pubkey; 31] = [
    ids::address_lookup_table::ID,
    ids::bpf_loader::ID,
    ids::bpf_loader_deprecated::ID,
    ids::bpf_loader_upgradeable::ID,
    ids::compute_budget::ID,
    ids::config::ID,
    ids::ed25519_program::ID,
    ids::feature::ID,
    ids::loader_v4::ID,
    ids::secp256k1_program::ID,
    ids::secp256r1_program::ID,
    ids::stake::config::ID,
    ids::stake::ID,
    ids::system_program::ID,
    ids::vote::ID,
    ids::zk_elgamal_proof_program::ID,
    ids::zk_token_proof_program::ID,
    ids::sysvar::clock::ID,
    ids::sysvar::epoch_rewards::ID,
    ids::sysvar::epoch_schedule::ID,
    ids::sysvar::fees::ID,
    ids::sysvar::instructions::ID,
    ids::sysvar::last_restart_slot::ID,
    ids::sysvar::recent_blockhashes::ID,
    ids::sysvar::rent::ID,
    ids::sysvar::rewards::ID,
    ids::sysvar::slot_hashes::ID,
    ids::sysvar::slot_history::ID,
    ids::sysvar::stake_history::ID,
    ids::native_loader::ID,
    ids::sysvar::ID,
];

/// The place of the durable nonce that a transaction lives by, whose blockhash is not recent.
fn find_nonce(
    transaction: &Transaction,
    keys: &[Pubkey],
    writable: Places,
    accounts: &impl AccountStore,
    environment: &Environment,
) -> Result<usize, TransactionError> {
    let find = || {
        if *transaction.blockhash() == durable_nonce(&environment.blockhash) {
            return None;
        }
        let index = usize::from(transaction.nonce_index()?);
        let account = accounts.account(keys.get(index).filter(|_| writable.has(index))?)?;
        nonce_of(&account, transaction)?;
        Some(index)
    };
    find().ok_or(TransactionError::BlockhashNotFound)
}

/// The nonce of an account, if the transaction lives by it.
pub(crate) fn nonce_of(account: &AccountSharedData, transaction: &Transaction) -> Option<Nonce> {
    Nonce::of_account(account, transaction.blockhash())
}

/// Verifies the signatures of a transaction.
///
/// # Errors
/// [`TransactionError::SignatureFailure`] if one is wrong.
pub fn verify_signatures(transaction: &Transaction) -> Result<(), TransactionError> {
    let message = transaction.message_bytes();
    let signed = transaction.signatures().iter().zip(transaction.static_keys());
    let mut is_right = signed.map(|(signature, key)| {
        selkie_crypto::ed25519::verify(key.as_array(), signature.as_array(), message)
    });
    if is_right.all(|it| it) { Ok(()) } else { Err(TransactionError::SignatureFailure) }
}
