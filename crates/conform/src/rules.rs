//! Rules that cannot be switched off here, and the fixtures of a time when they were.
//!
//! The runtime has no row for a feature that mainnet has had for long. A fixture whose list of
//! features lacks such a one tells what would be without it, and that is not judged.

use selkie_svm::Pubkey;

use crate::{Verdict, features::FeatureIds};

/// A rule: the feature that brought it, what it says, and the syscalls that it is about, if it is
/// about syscalls.
struct Rule {
    feature: Pubkey,
    what: &'static str,
    syscalls: Option<&'static [&'static str]>,
}

const fn rule(
    feature: &str,
    what: &'static str,
    syscalls: Option<&'static [&'static str]>,
) -> Rule {
    Rule { feature: Pubkey::from_str_const(feature), what, syscalls }
}

const RULES: &[Rule] = &[];

/// A failure that rules explain is none: the vector is skipped for them.
pub(crate) fn explain(verdict: Verdict, ids: &FeatureIds, syscall: Option<&str>) -> Verdict {
    let Verdict::Failed(_) = verdict else { return verdict };
    let concerns = |rule: &&Rule| {
        let is_about = match (rule.syscalls, syscall) {
            (Some(names), Some(syscall)) => names.contains(&syscall),
            (Some(names), None) => names.is_empty(),
            (None, _) => true,
        };
        is_about && !ids.has(&rule.feature)
    };
    match RULES.iter().find(concerns) {
        Some(rule) => {
            Verdict::Skipped(format!("its features are from before this rule: {}", rule.what))
        }
        None => verdict,
    }
}
