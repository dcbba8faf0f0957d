//! The runtime environment of vectors: builtin programs, and programs in accounts.

use std::sync::Arc;

use selkie_case::Case;
use selkie_svm::{
    Environment, FeatureSet, ProgramEntry, Release, Sysvars, program_cache::ProgramCache,
};

/// Returns an environment with these features and sysvars, of the release that made the vectors.
pub(crate) fn environment(features: FeatureSet, sysvars: Sysvars) -> Environment {
    Environment { release: Release::V4_2, sysvars, ..selkie_builtins::environment(features) }
}

/// Loads the programs among a case's accounts into its environment, for calls without a transaction.
pub(crate) fn load_programs(case: &mut Case) {
    let (slot, features) = (case.environment.slot(), case.environment.features);
    let cache = ProgramCache::new();
    let programs: Vec<_> = case
        .accounts
        .iter()
        .filter_map(|(key, account)| match cache.get(key, account, case, slot, features)? {
            ProgramEntry::Loaded(program) => Some((*key, program)),
            _ => None,
        })
        .collect();
    let environment = Arc::make_mut(&mut case.environment);
    programs.into_iter().for_each(|(key, program)| environment.programs.insert(key, program));
}
