//! The rules of a cluster, by the rows of [`selkie_protocol::features`] and [`selkie_protocol::rules`].

use solana_account::ReadableAccount;
use solana_pubkey::Pubkey;
use solana_sdk_ids::feature;

pub use selkie_protocol::{
    feature_names::agave_feature,
    features::{Feature, FeatureSet},
    rules::{Release, Rules, Ungated, UnknownRules},
};

/// Returns the features that a cluster's feature accounts activate: those whose account has a slot
/// of activation. Accounts of other owners are ignored.
#[must_use]
pub fn from_accounts<'a, A: ReadableAccount + 'a>(
    accounts: impl IntoIterator<Item = (&'a Pubkey, &'a A)>,
) -> FeatureSet {
    let is_active =
        |account: &A| *account.owner() == feature::ID && account.data().first() == Some(&1);
    let active = accounts.into_iter().filter(|(_, account)| is_active(account));
    FeatureSet::from_addresses(active.map(|(address, _)| address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_account_with_an_activation_slot_activates_its_feature() {
        let (on, off) = (Feature::Blake3, Feature::Sha512);
        let account = |data: &[u8]| solana_account::Account {
            data: data.to_vec(),
            owner: feature::ID,
            ..Default::default()
        };
        let (active, pending) = (account(&[1, 7, 0, 0, 0, 0, 0, 0, 0]), account(&[0; 9]));
        let accounts = [(&on.address(), &active), (&off.address(), &pending)];
        assert_eq!(from_accounts(accounts), FeatureSet::none().with(on));
    }
}
