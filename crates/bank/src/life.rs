//! A bank's life, and what becomes of what it has written.
//!
//! Only who holds `working` says what follows, so that a bank that is at work finishes first.
//! Whoever reads accounts asks afterwards whether the bank still has a state of its own: if it does,
//! it had it all the while.

use std::sync::{PoisonError, RwLockWriteGuard, atomic::Ordering};

use crate::{
    ancestors::BankId,
    bank::{Bank, Working},
    error::BankError,
};

/// Where a bank is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Life {
    /// It changes.
    Open,
    /// It does not change any more.
    Frozen,
    /// The root came after it: what it has written is the root's.
    Rooted,
    /// It is on a fork that nobody goes on with.
    Dead,
}

impl Life {
    const ALL: [Self; 4] = [Self::Open, Self::Frozen, Self::Rooted, Self::Dead];
}

impl Bank {
    /// The bank at work: nobody else is, and it is open.
    pub(crate) fn open(&self) -> Result<RwLockWriteGuard<'_, Working>, BankError> {
        let working = self.write();
        self.check_has_state()?;
        if self.life() == Life::Open { Ok(working) } else { Err(BankError::Frozen(self.slot)) }
    }

    pub(crate) fn life(&self) -> Life {
        let life = self.life.load(Ordering::Acquire);
        Life::ALL.into_iter().find(|known| *known as u8 == life).unwrap_or(Life::Dead)
    }

    /// What follows in the bank's life, said by whoever holds `working`.
    pub(crate) fn set_life(&self, _working: &mut Working, life: Life) {
        self.life.store(life as u8, Ordering::Release);
    }

    pub(crate) fn check_has_state(&self) -> Result<(), BankError> {
        match self.life() {
            Life::Open | Life::Frozen => Ok(()),
            Life::Rooted => Err(BankError::Rooted(self.slot)),
            Life::Dead => Err(BankError::Dead(self.slot)),
        }
    }

    /// What follows in the bank's life, once nobody is at work on it.
    pub(crate) fn enter(&self, life: Life) {
        self.set_life(&mut self.write(), life);
    }

    /// Drops what the bank has written. It is dead, and so is all that descends from it.
    pub(crate) fn drop_state(&self) {
        let mut working = self.write();
        let Working { changed, processed, .. } = core::mem::take(&mut *working);
        let mut statuses = self.ledger.statuses.write().unwrap_or_else(PoisonError::into_inner);
        statuses.remove(&processed, self.id());
        drop(statuses);
        changed.iter().for_each(|key| self.ledger.accounts.remove(key, self.id()));
    }

    /// Makes what the bank has written the root's. It is the root, or before it, and no version of
    /// a dead bank is left.
    pub(crate) fn squash(&self, root: BankId) {
        let mut working = self.write();
        let changed = core::mem::take(&mut working.changed);
        let processed = core::mem::take(&mut working.processed);
        let mut statuses = self.ledger.statuses.write().unwrap_or_else(PoisonError::into_inner);
        statuses.root(&processed);
        drop(statuses);
        changed.iter().for_each(|key| self.ledger.accounts.squash(key, root));
    }
}
