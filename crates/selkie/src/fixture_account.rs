//! Accounts and features of protobuf fixtures, converted to and from the runtime's types.

use selkie_fixture::Account as State;
use selkie_svm::{Feature, FeatureSet};
use solana_account::{Account, AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;

use crate::fixture_state::hex;

/// Returns a feature's number in fixtures: the first eight bytes of its address.
pub(crate) fn number(feature: Feature) -> u64 {
    let address = feature.address();
    address.as_ref().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Returns the features with these numbers, ignoring unknown ones.
pub(crate) fn features(numbers: &[u64]) -> FeatureSet {
    let is_on = |feature: &Feature| numbers.contains(&number(*feature));
    Feature::ALL.iter().copied().filter(is_on).collect()
}

/// Converts an account to the fixture's type.
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

/// Converts an account to the runtime's type. The rent epoch is always `u64::MAX`, as on mainnet.
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

/// Renders the fields of an account that all runtimes agree on.
pub(crate) fn show(state: &State) -> String {
    let State { lamports, owner, executable, data, .. } = state;
    format!("{lamports} {owner} {executable} {}", hex(data))
}
