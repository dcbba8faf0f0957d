//! Errors that calls end with, and how often each.

use core::fmt;
use std::sync::Arc;

use selkie::{InstructionError, Pubkey, Receipt, TransactionError};

use crate::call_sequence::CallSequence;

/// The different errors that are counted of an action.
const ERRORS_MAX: usize = 16;

/// An error that a call ended with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CallError {
    /// A program failed: the innermost one, and its error.
    Program(Pubkey, InstructionError),
    /// The transaction failed before a program did.
    Transaction(TransactionError),
}

/// How often calls of an action ended with an error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ErrorCount {
    /// The error.
    pub error: CallError,
    /// The number of calls.
    pub count: u64,
    /// A case whose last call ends with it.
    pub case: Arc<CallSequence>,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(_, error) => error.fmt(f),
            Self::Transaction(error) => error.fmt(f),
        }
    }
}

impl CallError {
    /// Returns the error of a transaction that failed.
    pub(crate) fn of(receipt: &Receipt) -> Option<Self> {
        let error = receipt.result.as_ref().err()?;
        Some(match &receipt.failed_instruction {
            Some(failed) => Self::Program(failed.program_id, failed.error.clone()),
            None => Self::Transaction(error.clone()),
        })
    }
}

/// The errors of each action.
#[derive(Clone, Default, Debug)]
pub(crate) struct ErrorCounts(Vec<Vec<ErrorCount>>);

impl ErrorCounts {
    pub(crate) fn new(actions: usize) -> Self {
        Self(vec![Vec::new(); actions])
    }

    /// Counts the error of a case's call.
    pub(crate) fn add(&mut self, case: &CallSequence, index: usize, error: CallError) {
        let action = case.calls.get(index).map_or(0, |call| call.action);
        self.add_to(action, error, 1, || {
            let calls = case.calls.iter().take(index.saturating_add(1)).cloned();
            Arc::new(CallSequence { calls: calls.collect() })
        });
    }

    fn add_to(
        &mut self,
        action: usize,
        error: CallError,
        more: u64,
        case: impl FnOnce() -> Arc<CallSequence>,
    ) {
        let Some(errors) = self.0.get_mut(action) else { return };
        if let Some(known) = errors.iter_mut().find(|it| it.error == error) {
            known.count = known.count.saturating_add(more);
        } else if errors.len() < ERRORS_MAX {
            errors.push(ErrorCount { error, count: more, case: case() });
        }
    }

    /// Moves all counts to `other`.
    pub(crate) fn move_to(&mut self, other: &mut Self) {
        for (action, errors) in self.0.iter_mut().enumerate() {
            for ErrorCount { error, count, case } in errors.drain(..) {
                other.add_to(action, error, count, || case);
            }
        }
    }

    /// Returns the errors of an action, the most frequent one first.
    pub(crate) fn of_action(&self, action: usize) -> Vec<ErrorCount> {
        let mut errors = self.0.get(action).cloned().unwrap_or_default();
        errors.sort_by_key(|it| core::cmp::Reverse(it.count));
        errors
    }
}
