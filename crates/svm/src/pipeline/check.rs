//! The second step, *check*: addresses, account locks, compute budget, age.
//!
//! A transaction that fails here is dropped: it pays no fee and writes nothing (agave: `bank.rs`,
//! `check_transactions.rs`, `account_locks.rs`).

use std::borrow::Cow;

use solana_account::AccountSharedData;
use solana_message::{VersionedMessage, v0::MessageAddressTableLookup};
use solana_pubkey::Pubkey;
use solana_sdk_ids as ids;
use solana_transaction_error::TransactionError;

use crate::{
    chain::{
        account::{AccountStore, is_same},
        blockhash_queue::BlockhashQueue,
        budget::{Requests, TransactionBudget},
        cost::{ACCOUNT_LOCKS_MAX, ACCOUNT_LOCKS_MAX_RAISED},
        features::{Feature, FeatureSet, Ungated},
        nonce::{Nonce, durable_nonce},
        transaction::{Transaction, has_duplicate},
    },
    pipeline::lookup,
    runtime::context::environment::Environment,
};

/// A transaction that has passed all checks before its fee is charged.
#[derive(Clone, Debug)]
pub struct Checked<'t> {
    /// The transaction.
    pub transaction: &'t Transaction,
    /// All of its addresses: the static ones, then those from address lookup tables.
    pub keys: Cow<'t, [Pubkey]>,
    /// The indexes of the writable accounts.
    pub writable: AccountSet,
    /// How many address lookup tables it uses.
    pub tables: usize,
    /// The compute budget and the fee.
    pub budget: TransactionBudget,
    /// The nonce account, if the transaction uses a durable nonce.
    pub nonce: Option<Box<NonceAccount>>,
}

/// The account of a durable nonce, as it was before the transaction.
#[derive(Clone, Debug)]
pub struct NonceAccount {
    /// Its index among the transaction's accounts.
    pub index: usize,
    /// The account.
    pub account: AccountSharedData,
    /// The nonce that the account holds, which the transaction uses.
    pub nonce: Nonce,
}

/// A set of account indexes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct AccountSet([u64; 2]);

const _: () = assert!(ACCOUNT_LOCKS_MAX_RAISED <= 128, "every account index has a bit");

impl AccountSet {
    /// Returns whether the set contains `index`.
    #[inline]
    #[must_use]
    pub fn contains(self, index: usize) -> bool {
        self.0.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    #[inline]
    fn insert(&mut self, index: usize) {
        if let Some(word) = self.0.get_mut(index / 64) {
            *word |= 1 << (index % 64);
        }
    }
}

/// Returns the addresses that lookups resolve to: the writable ones and the read-only ones.
///
/// # Errors
/// An `AddressLookupTable…` error for the first table that is missing, not a table, or too short.
pub fn resolve_lookups(
    lookups: &[MessageAddressTableLookup],
    accounts: &impl AccountStore,
    environment: &Environment,
) -> Result<(Vec<Pubkey>, Vec<Pubkey>), TransactionError> {
    lookup::resolve(lookups, accounts, environment)
}

/// Checks a transaction: compute budget, addresses, account locks, age. Signatures are verified before,
/// by [`verify_signatures`].
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
    let mut budget = TransactionBudget::of(transaction, &requests, features, price)?;
    if let Some(limit) = environment.compute_unit_limit {
        budget.compute.compute_unit_limit = limit;
    }
    let blockhash = transaction.blockhash();
    let nonce = if blockhash_queue.is_recent(blockhash) {
        None
    } else {
        Some(Box::new(find_nonce(transaction, &keys, writable, accounts, environment)?))
    };
    if blockhash_queue.has_processed(blockhash, transaction.message_id()) {
        return Err(TransactionError::AlreadyProcessed);
    }
    Ok(Checked { transaction, keys, writable, tables, budget, nonce })
}

/// Returns all addresses, how many lookup tables there are, and how many of the addresses from
/// tables are writable.
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

/// Returns how many accounts a transaction may have.
#[must_use]
pub fn account_locks_max(features: FeatureSet) -> usize {
    match features.has(Feature::IncreaseAccountLocks) {
        true => ACCOUNT_LOCKS_MAX_RAISED,
        false => ACCOUNT_LOCKS_MAX,
    }
}

fn check_locks(keys: &[Pubkey], environment: &Environment) -> Result<(), TransactionError> {
    let has_too_many = keys.len() > account_locks_max(environment.features);
    if has_too_many && !environment.rules().has(Ungated::DuplicatesBeforeLocks) {
        return Err(TransactionError::TooManyAccountLocks);
    }
    match has_duplicate(keys) {
        true => Err(TransactionError::AccountLoadedTwice),
        false if has_too_many => Err(TransactionError::TooManyAccountLocks),
        false => Ok(()),
    }
}

/// Returns the writable accounts: those that the message requests, except reserved addresses, and
/// except invoked programs unless the upgradeable loader is among the accounts.
fn writable(transaction: &Transaction, keys: &[Pubkey], writable_loaded: usize) -> AccountSet {
    let header = transaction.message().header();
    let static_keys = transaction.static_keys().len();
    let signers = transaction.signers();
    let readonly_signers = usize::from(header.num_readonly_signed_accounts);
    let readonly_others = usize::from(header.num_readonly_unsigned_accounts);
    let has_loader = || keys.iter().any(|key| is_same(key, &ids::bpf_loader_upgradeable::ID));
    let is_requested = |index: usize| {
        if index < signers {
            index < signers.saturating_sub(readonly_signers)
        } else if index < static_keys {
            index < static_keys.saturating_sub(readonly_others)
        } else {
            index < static_keys.saturating_add(writable_loaded)
        }
    };
    let mut invoked = AccountSet::default();
    let instructions = transaction.instructions().iter();
    instructions.for_each(|it| invoked.insert(it.program_id_index.into()));
    let mut writable = AccountSet::default();
    for (index, key) in keys.iter().enumerate() {
        if is_requested(index) && !is_reserved(key) && (!invoked.contains(index) || has_loader()) {
            writable.insert(index);
        }
    }
    writable
}

/// Returns whether an address is reserved: builtin programs and sysvars, which are never writable
/// (agave: `reserved_account_keys.rs`).
#[must_use]
pub fn is_reserved(key: &Pubkey) -> bool {
    // The first byte rules out most addresses.
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

/// Returns the nonce account of a transaction whose blockhash is not in the queue.
fn find_nonce(
    transaction: &Transaction,
    keys: &[Pubkey],
    writable: AccountSet,
    accounts: &impl AccountStore,
    environment: &Environment,
) -> Result<NonceAccount, TransactionError> {
    let find = || {
        if *transaction.blockhash() == durable_nonce(&environment.blockhash) {
            return None;
        }
        let index = usize::from(transaction.nonce_index()?);
        let key = keys.get(index).filter(|_| writable.contains(index))?;
        let account = accounts.account(key)?;
        let nonce = Nonce::of_account(&account, transaction.blockhash())?;
        Some(NonceAccount { index, account, nonce })
    };
    find().ok_or(TransactionError::BlockhashNotFound)
}

/// Verifies the signatures that came with a transaction. Those of keypairs that sign it here are valid.
///
/// # Errors
/// [`TransactionError::SignatureFailure`] if a signature is invalid.
pub fn verify_signatures(transaction: &Transaction) -> Result<(), TransactionError> {
    let Some(given) = transaction.signed().given() else { return Ok(()) };
    let message = transaction.message_bytes();
    let signed = given.iter().zip(transaction.static_keys());
    let mut is_right = signed.map(|(signature, key)| {
        selkie_crypto::ed25519::verify(key.as_array(), signature.as_array(), message)
    });
    if is_right.all(|it| it) { Ok(()) } else { Err(TransactionError::SignatureFailure) }
}
