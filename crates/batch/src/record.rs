//! Records items: a transaction, and what it needs of a chain's state.

use std::collections::BTreeSet;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie_svm::{
    AccountStore, Environment, Feature, Pubkey, ReadableAccount, check,
    program_cache::program_data_address,
};
use solana_account::AccountSharedData;
use solana_hash::Hash;
use solana_message::VersionedMessage;

use crate::{
    base::Base,
    environment::EnvironmentFile,
    item::{ItemAccount, ItemData},
};

/// The length in bytes above which account data are contents of their own.
const INLINE_BYTES_MAX: usize = 512;

/// An account of a chain, by its address.
pub type RecordedAccount = (Pubkey, AccountSharedData);

/// Returns the file of an environment. `blockhashes` are the recent ones, oldest first.
#[must_use]
pub fn environment_file(
    environment: &Environment,
    blockhashes: impl IntoIterator<Item = Hash>,
) -> EnvironmentFile {
    let is_active = |feature: &&Feature| environment.features.has(**feature);
    let features = Feature::ALL.iter().filter(is_active).map(|it| it.address().to_string());
    let sysvars = environment.sysvars.iter();
    let stakes = environment.epoch_stake.vote_accounts.iter();
    EnvironmentFile {
        features: Some(features.collect()),
        sysvars: sysvars.map(|(id, data)| (id.to_string(), BASE64_STANDARD.encode(data))).collect(),
        blockhashes: blockhashes.into_iter().map(|it| it.to_string()).collect(),
        lamports_per_signature: environment.lamports_per_signature,
        total_stake: environment.epoch_stake.total,
        vote_stakes: stakes.map(|(id, stake)| (id.to_string(), *stake)).collect(),
        accounts: Vec::new(),
    }
}

/// Returns the accounts that a transaction needs: its own, its lookup tables, and the files of
/// programs. Builtin programs and sysvars are left out, since they belong to the environment.
#[must_use]
pub fn accounts(
    message: &VersionedMessage,
    store: &impl AccountStore,
    environment: &Environment,
) -> Vec<RecordedAccount> {
    let mut keys: BTreeSet<Pubkey> = message.static_account_keys().iter().copied().collect();
    let lookups = message.address_table_lookups().unwrap_or_default();
    keys.extend(lookups.iter().map(|it| it.account_key));
    // If a table is missing or too short, the transaction is dropped for that.
    if let Ok((writable, readonly)) = check::resolve_lookups(lookups, store, environment) {
        keys.extend(writable.into_iter().chain(readonly));
    }
    let files = keys
        .iter()
        .filter_map(|key| store.with_account(key, |account| program_data_address(account?.data())));
    keys.extend(files.collect::<Vec<_>>());
    let is_own = |key: &Pubkey| {
        !environment.builtins.iter().any(|(id, _)| id == key)
            && !environment.precompiles.iter().any(|(id, _)| id == key)
            && environment.sysvars.get(key).is_none()
    };
    let present = |key: Pubkey| Some((key, store.account(&key)?));
    keys.into_iter().filter(is_own).filter_map(present).collect()
}

/// Returns an account as one of an item. Long data become a content of `base`.
pub fn item_account<'a>((key, account): &'a RecordedAccount, base: &mut Base) -> ItemAccount<'a> {
    let data = account.data();
    let data = if data.len() > INLINE_BYTES_MAX {
        ItemData::Ref(base.add(data.to_vec()))
    } else {
        ItemData::Inline(data)
    };
    ItemAccount {
        pubkey: *key,
        lamports: account.lamports(),
        owner: *account.owner(),
        executable: account.executable(),
        data,
    }
}
