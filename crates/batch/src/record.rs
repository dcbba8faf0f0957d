//! Records items: a transaction, and what it needs of a chain's state.

use std::sync::Arc;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie_case::{Case, KeyedAccount};
use selkie_svm::{Environment, Feature, Pubkey, ReadableAccount};
use solana_hash::Hash;

use crate::{
    base::Base,
    environment::EnvironmentFile,
    item::{ItemAccount, ItemData},
};

/// The length in bytes above which account data are contents of their own.
const INLINE_BYTES_MAX: usize = 512;

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
        release: Some(environment.release.to_string()),
        sysvars: sysvars.map(|(id, data)| (id.to_string(), BASE64_STANDARD.encode(data))).collect(),
        blockhashes: blockhashes.into_iter().map(|it| it.to_string()).collect(),
        lamports_per_signature: environment.lamports_per_signature,
        total_stake: environment.epoch_stake.total,
        vote_stakes: stakes.map(|(id, stake)| (id.to_string(), *stake)).collect(),
        accounts: Vec::new(),
    }
}

/// Returns the accounts that a case's transaction needs: its own, its lookup tables, and the files of
/// programs. Builtin programs and sysvars are left out, since they belong to the environment.
#[must_use]
pub fn accounts(case: &Case) -> Vec<KeyedAccount> {
    let Some(transaction) = case.input.transaction() else { return Vec::new() };
    let environment = &*case.environment;
    let needed = Case::of(transaction.clone(), case, Arc::clone(&case.environment), true);
    let is_own = |key: &Pubkey| {
        !environment.builtins.iter().any(|(id, _)| id == key)
            && !environment.precompiles.iter().any(|(id, _)| id == key)
            && environment.sysvars.get(key).is_none()
    };
    let own = needed.accounts.iter().filter(|(key, _)| is_own(key));
    own.map(|(key, account)| (*key, account.clone())).collect()
}

/// Returns an account as one of an item. Long data become a content of `base`.
pub fn item_account<'a>((key, account): &'a KeyedAccount, base: &mut Base) -> ItemAccount<'a> {
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
