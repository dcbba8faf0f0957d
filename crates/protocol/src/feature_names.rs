//! The names of features in agave, which its tools and those around it take.

use solana_pubkey::Pubkey;

/// A line for each module of `agave-feature-set` 4.5 whose feature has a row here, or is active on mainnet
/// for good: name and address.
const NAMES: &str = include_str!("feature_names.tsv");

/// Returns the address of the feature that agave has a name for: `deprecate_rent_exemption_threshold`, or
/// with dashes. Not every one is a [`Feature`](crate::features::Feature): nothing asks for those that are active for
/// good.
#[must_use]
pub fn agave_feature(name: &str) -> Option<Pubkey> {
    let name = name.replace('-', "_").to_lowercase();
    let mut rows = NAMES.lines().filter_map(|line| line.split_once('\t'));
    let (_, address) = rows.find(|(it, _)| *it == name)?;
    address.parse().ok()
}
