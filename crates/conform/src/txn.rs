//! Transactions of fixtures, recorded in December 2024.
//!
//! Rules have changed since. A fixture whose differences a later rule explains is skipped, with a
//! reason that names the rule. Other differences are failures.

use selkie::{Inspector, fixture::TransactionFixture};

use crate::{Difference, Verdict};

/// Observes nothing.
struct Nothing;

impl Inspector for Nothing {}

/// Processes the transaction and compares its result, the fee, compute units, the return data and
/// accounts.
pub(crate) fn judge(fixture: selkie_fixture::TransactionFixture) -> Verdict {
    let fixture = TransactionFixture::from(fixture);
    let differences = fixture.differences(&fixture.prepare().run(&mut Nothing));
    if let Some(rule) = fixture.later_rule(&differences) {
        return Verdict::Skipped(format!("recorded before this rule: {rule}"));
    }
    if differences.is_empty() {
        return Verdict::Passed;
    }
    let difference = |it: selkie::fixture::Difference| Difference {
        field: it.field,
        expected: it.expected,
        got: it.found,
    };
    Verdict::Failed(differences.into_iter().map(difference).collect())
}
