//! Targets: the environments that programs are loaded against.
//!
//! Most features do not affect loading. Feature sets with the same effect on loading share a target, so
//! that programs stay loaded when such features are activated.

use std::{
    collections::BTreeSet,
    sync::{Arc, PoisonError, RwLock},
};

use selkie_elf::Syscalls;

use crate::{
    chain::features::{Feature, FeatureSet},
    programs::{
        bindings::{Bindings, CustomSyscalls, bind_syscalls},
        file::{Purpose, elf_environment},
    },
};

/// The most feature sets whose target is remembered. A cluster has few over time, tests may have many.
const FEATURE_SETS_MAX: usize = 64;

/// An environment that programs are loaded against.
#[derive(Debug)]
pub(super) struct Target {
    /// The order of creation.
    pub(super) number: usize,
    pub(super) environment: selkie_elf::Environment,
    /// The handlers of its syscalls.
    pub(super) bindings: Bindings,
    /// Whether accounts have regions of memory of their own (SIMD-0460), which decides how
    /// programs are compiled.
    pub(super) has_account_regions: bool,
}

impl Target {
    fn is_like(&self, other: &Self) -> bool {
        self.has_account_regions == other.has_account_regions
            && self.environment.versions == other.environment.versions
            && self.environment.syscalls.names().eq(other.environment.syscalls.names())
    }
}

/// All targets of a cache.
#[derive(Debug, Default)]
pub(super) struct Targets {
    /// The custom syscalls of programs.
    pub(super) syscalls: CustomSyscalls,
    known: RwLock<Known>,
}

#[derive(Debug, Default)]
struct Known {
    targets: Vec<Arc<Target>>,
    /// The target of each feature set.
    by_features: Vec<(FeatureSet, Arc<Target>)>,
}

impl Targets {
    pub(super) fn with_syscalls(syscalls: CustomSyscalls) -> Self {
        Self { syscalls, known: RwLock::default() }
    }

    /// Returns the target of a cluster with these features.
    pub(super) fn of(&self, features: FeatureSet) -> Arc<Target> {
        let find = |known: &Known| {
            let newest_first = known.by_features.iter().rev();
            let mut matching = newest_first.filter(|(known, _)| *known == features);
            matching.next().map(|(_, target)| Arc::clone(target))
        };
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(target) = find(&known) {
            return target;
        }
        drop(known);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(target) = find(&known) {
            return target;
        }
        let environment = self.environment(features);
        let new = Target {
            number: known.targets.len(),
            bindings: bind_syscalls(&environment.syscalls, &self.syscalls)
                .expect("every name is that of a row, or of a syscall that was added"),
            environment,
            has_account_regions: features.has(Feature::VirtualAddressSpaceAdjustments),
        };
        let like = known.targets.iter().find(|target| target.is_like(&new)).cloned();
        let target = like.unwrap_or_else(|| {
            let new = Arc::new(new);
            known.targets.push(Arc::clone(&new));
            new
        });
        if known.by_features.len() >= FEATURE_SETS_MAX {
            known.by_features.clear();
        }
        known.by_features.push((features, Arc::clone(&target)));
        target
    }

    fn environment(&self, features: FeatureSet) -> selkie_elf::Environment {
        let environment = elf_environment(features, Purpose::Execution);
        if self.syscalls.is_empty() {
            return environment;
        }
        let known: BTreeSet<&str> =
            environment.syscalls.names().chain(self.syscalls.names()).collect();
        let syscalls = Arc::new(Syscalls::new(known));
        selkie_elf::Environment { syscalls, ..environment }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_without_effect_on_loading_share_a_target() {
        let targets = Targets::default();
        let mainnet = FeatureSet::mainnet();
        let first = targets.of(mainnet);
        let same = targets.of(mainnet.without(Feature::RelaxMinBalanceCheck));
        assert!(Arc::ptr_eq(&first, &same));
        let regions = targets.of(mainnet.with(Feature::VirtualAddressSpaceAdjustments));
        assert!(!Arc::ptr_eq(&first, &regions));
        assert_eq!((first.number, regions.number), (0, 1));
        assert!(Arc::ptr_eq(&first, &targets.of(mainnet)));
    }

    #[test]
    fn feature_sets_with_different_syscalls_have_different_targets() {
        let targets = Targets::default();
        let (none, all) = (FeatureSet::none(), FeatureSet::all());
        assert!(!Arc::ptr_eq(&targets.of(none), &targets.of(all)));
    }
}
