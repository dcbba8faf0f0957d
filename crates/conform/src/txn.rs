//! Transactions of fixtures, recorded in December 2024.
//!
//! Rules have changed since. A fixture whose differences a later rule explains is skipped, with a
//! reason that names the rule. Other differences are failures.

use selkie_case::firedancer::{self, later_rule, transaction_case, transaction_differences};
use selkie_fixture::TransactionFixture;

use crate::{Context, Difference, Verdict};

/// Processes the transaction and compares its result, the fee, compute units, the return data and
/// accounts.
pub(crate) fn judge(fixture: &TransactionFixture, context: &Context) -> Verdict {
    let ended = context.ruled(transaction_case(&fixture.input)).run_once();
    let differences = transaction_differences(fixture, ended.as_deref());
    if let Some(rule) = later_rule(fixture, &differences) {
        return Verdict::Skipped(format!("recorded before this rule: {rule}"));
    }
    if differences.is_empty() {
        return Verdict::Passed;
    }
    let difference = |it: firedancer::Difference| Difference {
        field: it.field,
        expected: it.expected,
        got: it.found,
    };
    Verdict::Failed(differences.into_iter().map(difference).collect())
}
