//! Findings: cases that fail, as replays and as tests.

use core::fmt::Write as _;

use selkie::Replay;

use crate::{
    call_sequence::CallSequence,
    runner::Runner,
    target::{Defect, DefectKind, Target},
};

/// A case that fails, as short as it was made.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Its name, which is the same for the same case: `finding_` and eight hexadecimal digits.
    pub name: String,
    /// The kind of failure.
    pub kind: DefectKind,
    /// What failed: see [`Defect::what`].
    pub what: String,
    /// The line in the user's own code, if it is known.
    pub place: Option<String>,
    /// How many calls of the search failed in this way. Those that made the case short are not counted.
    pub count: u64,
    /// The details.
    pub detail: String,
    /// The case.
    pub case: CallSequence,
    /// Its text.
    pub text: String,
    /// Its transactions, each with the state before it. The last one is the one that failed, or after
    /// which an invariant did not hold.
    pub transactions: Vec<Replay>,
}

/// Runs a case once, and returns why it fails, if it does: for the tests that findings become.
///
/// # Panics
/// If the case calls actions that the target does not have.
#[must_use]
pub fn reproduce(target: &Target, case: &CallSequence) -> Option<Defect> {
    Runner::new(target).explaining().run(case).0.failure
}

impl Finding {
    pub(crate) fn record(
        runner: &mut Runner<'_>,
        actions: &[&str],
        case: CallSequence,
        failure: Defect,
    ) -> Self {
        let (ran, transactions) = runner.record(&case);
        let Defect { kind, what, place, detail } = ran.failure.unwrap_or(failure);
        let (name, text) = (case.name(actions), case.to_text(actions));
        let name = format!("finding_{name:.8}");
        Self { name, kind, what, place, count: 1, detail, case, text, transactions }
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

    /// Returns the source of a test that fails as long as the finding does. `target` is the Rust
    /// expression that makes the target.
    #[must_use]
    pub fn test_source(&self, target: &str) -> String {
        let Self { name, what, text, .. } = self;
        format!(
            "/// Found by `selkie-explore`: {what}.\n\
             #[test]\n\
             fn {name}() {{\n    \
                 let target = {target};\n    \
                 let text = r#\"{text}\"#;\n    \
                 let case = selkie_explore::CallSequence::parse(text, &target.action_names()).unwrap();\n    \
                 assert_eq!(selkie_explore::reproduce(&target, &case), None);\n\
             }}\n"
        )
    }
}
