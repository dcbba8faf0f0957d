//! Accounts and features in protobuf fixtures: from and to files.

use selkie_fixture::Account as State;
use selkie_svm::{Feature, FeatureSet};
use solana_account::{Account, AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;

use crate::fixture_state::hex;

/// The number that files know a feature by.
pub(crate) fn number(feature: Feature) -> u64 {
    let address = feature.address();
    address.as_ref().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The features of these numbers. Others are not known to the runtime.
pub(crate) fn features(numbers: &[u64]) -> FeatureSet {
    let is_on = |feature: &Feature| numbers.contains(&number(*feature));
    Feature::ALL.iter().copied().filter(is_on).collect()
}

/// An account, as files have it.
pub(crate) fn state(address: Pubkey, account: &AccountSharedData) -> State {
    State {
        address,
        lamports: account.lamports(),
        data: account.data().to_vec(),
        owner: *account.owner(),
        executable: account.executable(),
        rent_epoch: account.rent_epoch(),
    }
}

/// An account, as the runtime has it. Rent epochs are all the same today.
pub(crate) fn account(state: &State) -> (Pubkey, Account) {
    let account = Account {
        lamports: state.lamports,
        data: state.data.clone(),
        owner: state.owner,
        executable: state.executable,
        rent_epoch: u64::MAX,
    };
    (state.address, account)
}

/// All of an account that runtimes agree on.
pub(crate) fn show(state: &State) -> String {
    let State { lamports, owner, executable, data, .. } = state;
    format!("{lamports} {owner} {executable} {}", hex(data))
}
