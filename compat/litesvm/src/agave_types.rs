//! The types of agave's crates, converted.

use std::sync::Arc;

use selkie_convert::Address;
use solana_svm_callback::InvokeContextCallback;

use crate::{
    LiteSVM,
    features::{FeatureSet, of_mainnet},
    types::ComputeBudget,
};

impl LiteSVM {
    /// Returns mainnet's features.
    #[must_use]
    pub fn mainnet_feature_set() -> agave_feature_set::FeatureSet {
        let mut features = agave_feature_set::FeatureSet::default();
        for (id, slot) in of_mainnet() {
            features.activate(&id, slot);
        }
        features
    }

    /// Returns which features are active. Up to LiteSVM 0.17.
    #[must_use]
    pub fn get_feature_set(&self) -> Arc<agave_feature_set::FeatureSet> {
        let mut features = agave_feature_set::FeatureSet::default();
        for (id, slot) in self.features.active() {
            features.activate(id, *slot);
        }
        Arc::new(features)
    }
}

impl From<agave_feature_set::FeatureSet> for FeatureSet {
    fn from(features: agave_feature_set::FeatureSet) -> Self {
        of_active(features.active().iter())
    }
}

/// The type of LiteSVM up to 0.6.
#[cfg(feature = "sdk-2")]
#[allow(deprecated, reason = "tests of that time use it")]
impl From<solana_feature_set::FeatureSet> for FeatureSet {
    fn from(features: solana_feature_set::FeatureSet) -> Self {
        of_active(features.active.iter())
    }
}

/// Returns a set in which these features are active, each since its slot.
fn of_active<'a>(active: impl Iterator<Item = (&'a Address, &'a u64)>) -> FeatureSet {
    let mut set = FeatureSet::default();
    // In any order: each one is set once.
    active.for_each(|(id, slot)| set.activate(id, *slot));
    set
}

/// Takes the limits; the costs are mainnet's.
impl From<solana_compute_budget::compute_budget::ComputeBudget> for ComputeBudget {
    fn from(budget: solana_compute_budget::compute_budget::ComputeBudget) -> Self {
        Self { compute_unit_limit: budget.compute_unit_limit, heap_size: budget.heap_size }
    }
}

impl InvokeContextCallback for LiteSVM {
    fn get_epoch_stake(&self) -> u64 {
        self.epoch_total_stake()
    }

    fn get_epoch_stake_for_vote_account(&self, vote_address: &Address) -> u64 {
        self.epoch_stake(vote_address)
    }
}
