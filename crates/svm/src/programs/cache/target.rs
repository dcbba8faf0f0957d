//! What programs are loaded against.
//!
//! Most features change nothing for programs as they are loaded. Feature sets that do not differ in
//! what does are one target, so that programs outlive their activation.

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

/// A cluster has few in its life, but who tests may have many.
const FEATURE_SETS_MAX: usize = 64;

/// What programs are loaded against.
#[derive(Debug)]
pub(super) struct Target {
    /// Later targets have higher numbers.
    pub(super) number: usize,
    pub(super) environment: selkie_elf::Environment,
    /// What its syscalls are.
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

/// The targets that there have been.
#[derive(Debug, Default)]
pub(super) struct Targets {
    /// Syscalls that programs have besides those of clusters.
    pub(super) syscalls: CustomSyscalls,
    known: RwLock<Known>,
}

#[derive(Debug, Default)]
struct Known {
    targets: Vec<Arc<Target>>,
    /// Which one each feature set is.
    by_features: Vec<(FeatureSet, Arc<Target>)>,
}

impl Targets {
    pub(super) fn with_syscalls(syscalls: CustomSyscalls) -> Self {
        Self { syscalls, known: RwLock::default() }
    }

    /// The target of a cluster with these features.
    pub(super) fn of(&self, features: FeatureSet) -> Arc<Target> {
        let find = |known: &Known| {
            let newest_first = known.by_features.iter().rev();
            let mut found = newest_first.filter(|(known, _)| *known == features);
            found.next().map(|(_, target)| Arc::clone(target))
        };
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = find(&known) {
            return found;
        }
        drop(known);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = find(&known) {
            return found;
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
    fn features_that_programs_do_not_see_change_nothing() {
        let targets = Targets::default();
        let mainnet = FeatureSet::mainnet();
        let first = targets.of(mainnet);
        let blind = targets.of(mainnet.without(Feature::RelaxMinBalanceCheck));
        assert!(Arc::ptr_eq(&first, &blind));
        let regions = targets.of(mainnet.with(Feature::VirtualAddressSpaceAdjustments));
        assert!(!Arc::ptr_eq(&first, &regions));
        assert_eq!((first.number, regions.number), (0, 1));
        assert!(Arc::ptr_eq(&first, &targets.of(mainnet)));
    }

    #[test]
    fn syscalls_that_come_with_a_feature_are_something_else() {
        let targets = Targets::default();
        let (none, all) = (FeatureSet::none(), FeatureSet::all());
        assert!(!Arc::ptr_eq(&targets.of(none), &targets.of(all)));
    }
}
