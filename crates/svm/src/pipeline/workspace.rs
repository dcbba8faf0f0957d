//! Memory that is reused from one transaction to the next.

use std::sync::{Mutex, PoisonError};

use crate::{
    pipeline::outcome::{AccountChange, Processed},
    programs::transaction_programs::TransactionPrograms,
    runtime::{context::Scratch, transaction_accounts::TransactionAccount},
};

/// Memory that is reused from one transaction to the next: stacks, heaps, inputs, log lines.
///
/// A workspace changes how fast transactions are processed, and nothing else. Use one per thread.
/// It is cheap to create, and grows to some hundred kilobytes when programs run.
#[derive(Default, Debug)]
pub struct Workspace {
    pub(super) accounts: Vec<TransactionAccount>,
    pub(super) changes: Vec<AccountChange>,
    pub(super) programs: TransactionPrograms,
    result: Option<Box<Processed>>,
    pub(super) scratch: Scratch,
}

impl Workspace {
    /// Takes a result that is no longer needed, for its allocations.
    pub fn recycle(&mut self, mut processed: Box<Processed>) {
        self.scratch.logs.recycle(core::mem::take(&mut processed.logs));
        processed.clear();
        core::mem::swap(&mut self.changes, &mut processed.accounts);
        self.result = Some(processed);
    }

    /// Returns the result of an empty transaction, to be filled in.
    #[inline]
    pub(super) fn take_result(&mut self) -> Box<Processed> {
        self.result.take().unwrap_or_default()
    }

    /// Takes back the vector that held a transaction's accounts.
    #[inline]
    pub(super) fn recycle_accounts(&mut self, mut accounts: Vec<TransactionAccount>) {
        // A vector without an allocation must not replace one that has it.
        if accounts.capacity() > 0 {
            accounts.clear();
            self.accounts = accounts;
        }
    }
}

/// A pool of workspaces, for an owner that processes transactions behind a shared reference: of
/// [`Workspace`]s, or of [`BatchWorkspace`](crate::BatchWorkspace)s.
#[derive(Default, Debug)]
pub struct WorkspacePool<W = Workspace>(Mutex<Vec<Box<W>>>);

impl<W: Default> WorkspacePool<W> {
    /// Calls `work` with a workspace of the pool, or with a new one if all are in use.
    pub fn with<R>(&self, work: impl FnOnce(&mut W) -> R) -> R {
        let free = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut workspace = free.unwrap_or_default();
        let result = work(&mut workspace);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(workspace);
        result
    }
}

/// A clone starts with an empty pool of its own.
impl<W: Default> Clone for WorkspacePool<W> {
    fn clone(&self) -> Self {
        Self::default()
    }
}
