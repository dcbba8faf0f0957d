//! Sysvars: what programs ask the runtime for, and the accounts that show the same.

use selkie_bank::sysvars::{read_stake_history, stake_history};
use selkie_svm::sysvars::SysvarError;
use solana_clock::Clock;
use solana_epoch_schedule::EpochSchedule;
use solana_pubkey::Pubkey;
use solana_rent::Rent;
use solana_sdk_ids::sysvar;
use solana_stake_history::StakeHistory;

use crate::{genesis::sysvar_account, svm::Svm};

impl Svm {
    /// Sets the clock that programs see, and nothing else: for time to pass, use
    /// [`Svm::warp_to_slot`].
    pub fn set_clock(&mut self, clock: &Clock) {
        self.journal.environment_mut().sysvars.set_clock(clock);
        self.show_sysvar(sysvar::clock::ID);
    }

    /// The rent.
    #[must_use]
    pub fn rent(&self) -> Rent {
        self.environment().rent()
    }

    /// Sets the rent.
    pub fn set_rent(&mut self, rent: &Rent) {
        self.journal.environment_mut().sysvars.set_rent(rent);
        self.show_sysvar(sysvar::rent::ID);
    }

    /// The epoch schedule.
    #[must_use]
    pub fn epoch_schedule(&self) -> EpochSchedule {
        self.environment().sysvars.epoch_schedule().unwrap_or_default()
    }

    /// Sets the epoch schedule.
    pub fn set_epoch_schedule(&mut self, schedule: &EpochSchedule) {
        self.journal.environment_mut().sysvars.set_epoch_schedule(schedule);
        self.show_sysvar(sysvar::epoch_schedule::ID);
    }

    /// The stake history: how much stake was effective, activating and deactivating in each epoch
    /// that has ended, newest first. [`Svm::warp_to_slot`] says how it is made.
    #[must_use]
    pub fn stake_history(&self) -> StakeHistory {
        read_stake_history(self.sysvar(&sysvar::stake_history::ID).unwrap_or_default())
    }

    /// Sets the stake history, which goes on from there. The stake program fails if an epoch between
    /// two others is missing.
    pub fn set_stake_history(&mut self, history: &StakeHistory) {
        self.put_sysvar(sysvar::stake_history::ID, &stake_history(history));
    }

    /// The data of a sysvar.
    #[must_use]
    pub fn sysvar(&self, id: &Pubkey) -> Option<&[u8]> {
        self.environment().sysvars.get(id)
    }

    /// Sets a sysvar to the data of its account: what the runtime knows, and the account.
    ///
    /// # Errors
    /// If there is no such sysvar, or if these are no data of it.
    pub fn set_sysvar(&mut self, id: Pubkey, data: &[u8]) -> Result<(), SysvarError> {
        self.journal.environment_mut().sysvars.set(id, data)?;
        self.show_sysvar(id);
        Ok(())
    }

    /// Sets a sysvar to data that were made for it.
    pub(crate) fn put_sysvar(&mut self, id: Pubkey, data: &[u8]) {
        self.set_sysvar(id, data).expect("the data were made for this sysvar");
    }

    /// Makes the account of a sysvar show what the runtime knows.
    fn show_sysvar(&mut self, id: Pubkey) {
        let environment = self.environment();
        let data = environment.sysvars.get(&id);
        let account = data.map(|data| sysvar_account(data, environment));
        self.journal.set_account(id, account);
    }
}
