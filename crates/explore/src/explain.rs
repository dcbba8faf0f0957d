//! What is known of an error that calls end with.

use crate::{
    call_error::{CallError, ErrorCount},
    runner::Runner,
    target::Target,
};

/// What is known of an error.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ErrorReport {
    /// The error with its name: `custom program error: 0x65 VaultError::Empty (debug information)`.
    pub error: String,
    /// The program that failed, if one did, with its name.
    pub program: Option<String>,
    /// The line at which the program decided on the error: `src/lib.rs:61:5 in vault::withdraw`.
    pub place: Option<String>,
    /// Likely causes, one sentence each.
    pub notes: Vec<String>,
}

impl Target {
    /// Runs a case that ends with an error once more, and returns what is known of that. Reads debug
    /// information and descriptions of programs.
    #[must_use]
    pub fn explain(&self, error: &ErrorCount) -> ErrorReport {
        let program = match &error.error {
            CallError::Program(id, _) => Some(*id),
            CallError::Transaction(_) => None,
        };
        let text = error.error.to_string();
        let mut runner = Runner::new(self);
        let receipt = runner.last_failure(&error.case);
        let program = program.map(|id| runner.show(&id));
        let Some(receipt) = receipt else {
            return ErrorReport { error: text, program, ..ErrorReport::default() };
        };
        let name = receipt.error_name().map_or_else(String::new, |name| format!(" {name}"));
        ErrorReport {
            error: format!("{text}{name}"),
            program,
            place: receipt.error_place().map(|it| it.place_line()),
            notes: receipt.explanations(),
        }
    }
}
