//! Rules that Selkie cannot deactivate, and the fixtures that predate them.
//!
//! The runtime does not model features that mainnet activated long ago. A fixture without such a
//! feature recorded the behaviour without the rule, which is not judged.

use selkie_svm::Pubkey;

use crate::{Verdict, features::FeatureIds};

/// A rule of a syscall, introduced by a feature.
struct Rule {
    feature: Pubkey,
    text: &'static str,
    syscall: &'static str,
}

const RULES: &[Rule] = &[Rule {
    feature: Pubkey::from_str_const("poUdAqRXXsNmfqAZ6UqpjbeYgwBygbfQLEvWSqVhSnb"),
    text: "Poseidon's inputs have 32 bytes each (SIMD-0359)",
    syscall: "sol_poseidon",
}];

/// Returns the verdict, or skips a failed vector whose features predate a rule of its syscall.
pub(crate) fn explain(verdict: Verdict, ids: &FeatureIds, syscall: &str) -> Verdict {
    let Verdict::Failed(_) = verdict else { return verdict };
    let is_about = |rule: &&Rule| rule.syscall == syscall && !ids.has(&rule.feature);
    match RULES.iter().find(is_about) {
        Some(rule) => Verdict::Skipped(format!("its features predate this rule: {}", rule.text)),
        None => verdict,
    }
}
