//! The life cycle of a bank: changes of its phase, and the removal of its state.
//!
//! The phase changes only while `working` is locked, so that an operation in progress finishes
//! first. Readers of accounts check afterwards whether the bank still has its own state: then it
//! had it throughout the read.

use std::sync::{PoisonError, RwLockWriteGuard, atomic::Ordering};

use crate::{
    ancestors::BankId,
    bank::{Bank, Working},
    error::BankError,
    phase::Phase,
};

impl Bank {
    /// Locks the bank for changes, if it is open.
    pub(crate) fn open(&self) -> Result<RwLockWriteGuard<'_, Working>, BankError> {
        let working = self.write();
        self.check_has_state()?;
        if self.phase() == Phase::Open { Ok(working) } else { Err(BankError::Frozen(self.slot())) }
    }

    pub(crate) fn phase(&self) -> Phase {
        Phase::from_u8(self.phase.load(Ordering::Acquire))
    }

    /// Sets the phase. The caller proves by `working` that it holds the lock.
    pub(crate) fn set_phase(&self, _working: &mut Working, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Release);
    }

    pub(crate) fn check_has_state(&self) -> Result<(), BankError> {
        match self.phase() {
            Phase::Open | Phase::Frozen => Ok(()),
            Phase::Rooted => Err(BankError::Rooted(self.slot())),
            Phase::Dead => Err(BankError::Dead(self.slot())),
        }
    }

    /// Sets the phase once no operation is in progress.
    pub(crate) fn enter_phase(&self, phase: Phase) {
        self.set_phase(&mut self.write(), phase);
    }

    /// Removes the state of a dead bank. Its descendants must be dead, too.
    pub(crate) fn drop_state(&self) {
        let mut working = self.write();
        let Working { changed, processed, .. } = core::mem::take(&mut *working);
        let mut statuses = self.shared.statuses.write().unwrap_or_else(PoisonError::into_inner);
        statuses.remove(&processed, self.id());
        drop(statuses);
        changed.iter().for_each(|key| self.shared.accounts.remove(key, self.id()));
    }

    /// Moves the state of a bank, the root or one before it, to the root. Versions of dead banks
    /// must have been removed.
    pub(crate) fn squash(&self, root: BankId) {
        let mut working = self.write();
        let changed = core::mem::take(&mut working.changed);
        let processed = core::mem::take(&mut working.processed);
        let mut statuses = self.shared.statuses.write().unwrap_or_else(PoisonError::into_inner);
        statuses.root(&processed, self.counts);
        drop(statuses);
        changed.iter().for_each(|key| self.shared.accounts.squash(key, root));
    }
}
