//! Sysvars: what programs read by syscall, and the accounts that mirror it.

use selkie_bank::sysvars::{read_stake_history, stake_history};
use selkie_builtins::sysvar_account;
use selkie_svm::sysvars::SysvarError;
use solana_clock::Clock;
use solana_epoch_schedule::EpochSchedule;
use solana_pubkey::Pubkey;
use solana_rent::Rent;
use solana_sdk_ids::sysvar;
use solana_stake_history::StakeHistory;

use crate::svm::Svm;

impl Svm {
    /// Sets the clock sysvar; [`Svm::warp_to_slot`] advances the chain. If the epoch is later than
    /// before, the stake history gets entries for the epochs that have passed, which the stake program
    /// needs; [`Svm::set_sysvar`] sets the clock and nothing else.
    ///
    /// Programs that were added directly can be invoked at every clock. Those that a transaction
    /// deployed can be invoked from the slot after their deployment on, also after the clock was set
    /// back.
    pub fn set_clock(&mut self, clock: &Clock) {
        let before = self.epoch();
        self.journal.environment_mut().sysvars.set_clock(clock);
        self.show_sysvar(sysvar::clock::ID);
        if before < clock.epoch {
            self.complete_stake_history(clock.epoch);
        }
    }

    /// Returns the rent parameters.
    #[must_use]
    pub fn rent(&self) -> Rent {
        self.environment().rent()
    }

    /// Sets the rent parameters.
    pub fn set_rent(&mut self, rent: &Rent) {
        self.journal.environment_mut().sysvars.set_rent(rent);
        self.show_sysvar(sysvar::rent::ID);
    }

    /// Returns the epoch schedule.
    #[must_use]
    pub fn epoch_schedule(&self) -> EpochSchedule {
        self.environment().sysvars.epoch_schedule().unwrap_or_default()
    }

    /// Sets the epoch schedule.
    pub fn set_epoch_schedule(&mut self, schedule: &EpochSchedule) {
        self.journal.environment_mut().sysvars.set_epoch_schedule(schedule);
        self.show_sysvar(sysvar::epoch_schedule::ID);
    }

    /// Returns the stake history: effective, activating and deactivating stake of each past epoch,
    /// newest first. [`Svm::warp_to_slot`] explains how entries are computed.
    #[must_use]
    pub fn stake_history(&self) -> StakeHistory {
        read_stake_history(self.sysvar(&sysvar::stake_history::ID).unwrap_or_default())
    }

    /// Sets the stake history, which later epochs continue. The stake program fails if an epoch
    /// between two others is missing.
    pub fn set_stake_history(&mut self, history: &StakeHistory) {
        self.put_sysvar(sysvar::stake_history::ID, &stake_history(history));
    }

    /// Returns the data of a sysvar.
    #[must_use]
    pub fn sysvar(&self, id: &Pubkey) -> Option<&[u8]> {
        self.environment().sysvars.get(id)
    }

    /// Sets a sysvar to the data of its account, for syscalls and for reads of the account.
    ///
    /// # Errors
    /// If there is no such sysvar, or if `data` are not valid for it.
    pub fn set_sysvar(&mut self, id: Pubkey, data: &[u8]) -> Result<(), SysvarError> {
        self.journal.environment_mut().sysvars.set(id, data)?;
        self.show_sysvar(id);
        Ok(())
    }

    /// Sets a sysvar to data that are known to be valid.
    pub(crate) fn put_sysvar(&mut self, id: Pubkey, data: &[u8]) {
        self.set_sysvar(id, data).expect("the data were made for this sysvar");
    }

    /// Updates the account of a sysvar.
    fn show_sysvar(&mut self, id: Pubkey) {
        let environment = self.environment();
        let data = environment.sysvars.get(&id).map(<[u8]>::to_vec);
        let before = self.journal.state().accounts.get(&id);
        let account = data.map(|data| sysvar_account(before, data, &environment.rent()));
        self.journal.set_account(id, account);
    }
}
