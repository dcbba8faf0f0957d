//! Features, and which of them mainnet has activated.

mod table;

use std::collections::{BTreeMap, BTreeSet};

use selkie::Feature;
use selkie_convert::{Address, to_address};

use crate::features::table::INACTIVE_FEATURES;
pub use crate::features::table::MAINNET_ACTIVE_FEATURES;

/// The slot of a new [`LiteSVM`](crate::LiteSVM): the last one in which mainnet activated a feature.
pub const MAINNET_DEFAULT_SLOT: u64 = {
    let (mut last, mut index) = (0, 0);
    while index < MAINNET_ACTIVE_FEATURES.len() {
        let slot = MAINNET_ACTIVE_FEATURES[index].1;
        last = if slot > last { slot } else { last };
        index += 1;
    }
    last
};

/// Returns the features that mainnet has activated, with the slot since which a new chain has them: as on
/// mainnet, or slot 0 as with LiteSVM up to 0.13.
pub(crate) fn of_mainnet() -> impl Iterator<Item = (Address, u64)> {
    let since = |slot| if cfg!(feature = "sdk-3") { 0 } else { slot };
    MAINNET_ACTIVE_FEATURES.iter().map(move |(id, slot)| (*id, since(*slot)))
}

/// Which features are active, and since which slot.
///
/// ```
/// use selkie_litesvm::{LiteSVM, features::FeatureSet};
/// use solana_address::address;
///
/// let blake3 = address!("HTW2pSyErTj4BV6KBM9NZ9VBUJVxt7sacNWcf76wtzb3");
/// let mut features = LiteSVM::mainnet_feature_set();
/// assert!(!features.is_active(&blake3));
/// features.activate(&blake3, 0);
/// let svm = LiteSVM::new().with_feature_set(features);
/// assert!(svm.svm().features().has(selkie::Feature::Blake3));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FeatureSet {
    active: BTreeMap<Address, u64>,
    inactive: BTreeSet<Address>,
}

impl Default for FeatureSet {
    /// Returns a set in which no feature is active.
    fn default() -> Self {
        let known = MAINNET_ACTIVE_FEATURES.iter().map(|(id, _)| id).chain(INACTIVE_FEATURES);
        Self { active: BTreeMap::new(), inactive: known.copied().collect() }
    }
}

impl FeatureSet {
    /// Returns a set in which mainnet's features are active.
    pub(crate) fn mainnet() -> Self {
        Self {
            active: of_mainnet().collect(),
            inactive: INACTIVE_FEATURES.iter().copied().collect(),
        }
    }

    /// Returns a set in which all known features are active since slot 0.
    #[must_use]
    pub fn all_enabled() -> Self {
        let inactive = Self::default().inactive;
        Self { active: inactive.into_iter().map(|id| (id, 0)).collect(), inactive: BTreeSet::new() }
    }

    /// Returns whether a feature is active.
    #[must_use]
    pub fn is_active(&self, feature: &Address) -> bool {
        self.active.contains_key(feature)
    }

    /// Returns the slot since which a feature is active.
    #[must_use]
    pub fn activated_slot(&self, feature: &Address) -> Option<u64> {
        self.active.get(feature).copied()
    }

    /// Returns the active features with their slots.
    #[must_use]
    pub fn active(&self) -> &BTreeMap<Address, u64> {
        &self.active
    }

    /// Returns the known features that are not active.
    #[must_use]
    pub fn inactive(&self) -> &BTreeSet<Address> {
        &self.inactive
    }

    /// Activates a feature.
    pub fn activate(&mut self, feature: &Address, slot: u64) {
        self.inactive.remove(feature);
        self.active.insert(*feature, slot);
    }

    /// Deactivates a feature.
    pub fn deactivate(&mut self, feature: &Address) {
        self.active.remove(feature);
        self.inactive.insert(*feature);
    }

    /// Returns the features that the runtime knows.
    pub(crate) fn runtime(&self) -> selkie::FeatureSet {
        let known = self.active.keys().filter_map(|id| Feature::from_address(&to_address(id)));
        known.fold(selkie::FeatureSet::none(), selkie::FeatureSet::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mainnets_features_are_those_of_selkie() {
        assert_eq!(FeatureSet::mainnet().runtime(), selkie::FeatureSet::mainnet());
        assert_eq!(FeatureSet::default().runtime(), selkie::FeatureSet::none());
        assert_eq!(MAINNET_DEFAULT_SLOT, 454_464_000);
    }
}
