//! Findings: cases that fail, as replays and as tests.

use core::fmt::Write as _;

use selkie::fixture;

use crate::{
    case::Case,
    fixture::{Failure, Fixture},
    runner::Runner,
};

/// A case that fails, as short as it was made.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The name of the case: the same for the same case.
    pub name: String,
    /// What failed.
    pub what: String,
    /// The details.
    pub detail: String,
    /// The case.
    pub case: Case,
    /// Its text.
    pub text: String,
    /// Its transactions, each with the state before it. The last one is the one that failed, or after
    /// which an invariant did not hold.
    pub transactions: Vec<fixture::Fixture>,
}

/// Runs a case once, and returns why it fails, if it does: for the tests that findings become.
///
/// # Panics
/// If the case calls actions that the fixture does not have.
#[must_use]
pub fn reproduce(fixture: &Fixture, case: &Case) -> Option<Failure> {
    Runner::new(fixture).run(case).0.failure
}

impl Finding {
    pub(crate) fn record(
        runner: &mut Runner<'_>,
        actions: &[&str],
        case: Case,
        failure: Failure,
    ) -> Self {
        let (ran, transactions) = runner.record(&case);
        let Failure { what, detail } = ran.failure.unwrap_or(failure);
        let (name, text) = (case.name(actions), case.to_text(actions));
        Self { name, what, detail, case, text, transactions }
    }

    /// Returns the text of a replay file with the transactions, for `selkie trace`, `selkie debug` and
    /// the other commands that read one.
    #[must_use]
    pub fn replay(&self) -> String {
        let mut text = "{\"selkie_replay\":1}\n".to_owned();
        for transaction in &self.transactions {
            writeln!(text, "{transaction}").expect("strings take any text");
        }
        text
    }

    /// Returns the source of a test that fails as long as the finding does. `fixture` is the Rust
    /// expression that makes the fixture.
    #[must_use]
    pub fn test_source(&self, fixture: &str) -> String {
        let Self { name, what, text, .. } = self;
        format!(
            "/// Found by `selkie-explore`: {what}.\n\
             #[test]\n\
             fn finding_{name}() {{\n    \
                 let fixture = {fixture};\n    \
                 let text = r#\"{text}\"#;\n    \
                 let case = selkie_explore::Case::parse(text, &fixture.action_names()).unwrap();\n    \
                 assert_eq!(selkie_explore::reproduce(&fixture, &case), None);\n\
             }}\n"
        )
    }
}
