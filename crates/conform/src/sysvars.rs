//! The sysvars that an instruction finds: those among its accounts, and what vectors were made with
//! where there are none.

use selkie_svm::{
    Pubkey, Sysvars,
    sysvars::{Clock, EpochSchedule, LastRestartSlot, Rent},
};

/// The sysvars among these accounts, given as address, balance and data; defaults for others.
pub(crate) fn sysvars<'a>(accounts: impl Iterator<Item = (&'a Pubkey, u64, &'a [u8])>) -> Sysvars {
    let mut sysvars = defaults();
    for (address, lamports, data) in accounts {
        if lamports > 0 {
            // Most accounts are no sysvar, which is all that setting them can fail for.
            let _ = sysvars.set(*address, data);
        }
    }
    sysvars
}

fn defaults() -> Sysvars {
    let mut sysvars = Sysvars::empty();
    sysvars.set_clock(&Clock { slot: 10, ..Clock::default() });
    sysvars.set_epoch_schedule(&EpochSchedule::default());
    sysvars.set_last_restart_slot(&LastRestartSlot { last_restart_slot: 5000 });
    #[allow(deprecated, reason = "fixtures are older than the fields' loss of meaning")]
    sysvars.set_rent(&Rent {
        lamports_per_byte: 3480,
        exemption_threshold: 2.0_f64.to_le_bytes(),
        burn_percent: 50,
    });
    sysvars
}
