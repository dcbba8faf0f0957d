//! The types of agave's crates, converted.

use std::sync::Arc;

#[cfg(feature = "agave-4-types")]
use {
    agave_4_compute_budget as solana_compute_budget, agave_4_feature_set as agave_feature_set,
    agave_4_svm_callback as solana_svm_callback,
};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_come_back_as_agaves() {
        let mut set = LiteSVM::mainnet_feature_set();
        let blake3 = agave_feature_set::blake3_syscall_enabled::id();
        assert!(!set.is_active(&blake3));
        set.activate(&blake3, 7);
        let svm = LiteSVM::new().with_feature_set(set.clone());
        assert!(svm.svm().features().has(selkie::Feature::Blake3));
        assert_eq!(svm.get_feature_set().active(), set.active());
    }
}
