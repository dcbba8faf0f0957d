//! Rules that cannot be switched off here, and the fixtures of a time when they were.
//!
//! The runtime has no row for a feature that mainnet has had for long. A fixture whose list of
//! features lacks such a one tells what would be without it, and that is not judged.

use selkie_svm::Pubkey;

use crate::{Verdict, features::FeatureIds};

/// A rule: the feature that brought it, what it says, and the syscall that it is about.
struct Rule {
    feature: Pubkey,
    what: &'static str,
    syscall: &'static str,
}

const RULES: &[Rule] = &[Rule {
    feature: Pubkey::from_str_const("poUdAqRXXsNmfqAZ6UqpjbeYgwBygbfQLEvWSqVhSnb"),
    what: "Poseidon's inputs have 32 bytes each (SIMD-0359)",
    syscall: "sol_poseidon",
}];

/// A failure that a rule explains is none: the vector is skipped for it.
pub(crate) fn explain(verdict: Verdict, ids: &FeatureIds, syscall: &str) -> Verdict {
    let Verdict::Failed(_) = verdict else { return verdict };
    let is_about = |rule: &&Rule| rule.syscall == syscall && !ids.has(&rule.feature);
    match RULES.iter().find(is_about) {
        Some(rule) => {
            Verdict::Skipped(format!("its features are from before this rule: {}", rule.what))
        }
        None => verdict,
    }
}
