//! The sysvars that an instruction finds: those among its accounts, and what vectors were made with
//! where there are none.

use selkie_svm::{
    Account, Environment, Pubkey, Sysvars,
    sysvars::{Clock, EpochSchedule, LastRestartSlot, Rent},
};
use solana_hash::Hash;

const RECENT_BLOCKHASHES: Pubkey =
    Pubkey::from_str_const("SysvarRecentB1ockHashes11111111111111111111");

/// The sysvars among these accounts, and defaults for those that have no account.
///
/// As in agave's harness (`sysvar_cache_from_accounts`), owners do not matter, and a sysvar whose
/// account has no lamports or cannot be read is missing: the default does not take its place. Of
/// several accounts of an address the last counts, since Mollusk's fixtures tell sysvars apart from
/// accounts, and theirs come after.
pub(crate) fn sysvars(accounts: &[(Pubkey, Account)]) -> Sysvars {
    let mut sysvars = defaults();
    for (address, account) in accounts {
        sysvars.remove(address);
        if account.lamports > 0 {
            // Most accounts are no sysvars, and some cannot be read.
            let _ = sysvars.set(*address, &account.data);
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

/// Sets what a bank writes by itself: the sysvar of recent blockhashes, newest first, and, where
/// there are none, slot hashes of the first slot.
pub(crate) fn set_recent_blockhashes(sysvars: &mut Sysvars, blockhashes: &[[u8; 32]], price: u64) {
    const SLOT_HASHES: Pubkey =
        Pubkey::from_str_const("SysvarS1otHashes111111111111111111111111111");
    const ENTRIES_MAX: usize = 150;
    let newest: Vec<_> = blockhashes.iter().rev().take(ENTRIES_MAX).collect();
    let mut data = (newest.len().max(1) as u64).to_le_bytes().to_vec();
    for hash in if newest.is_empty() { vec![&[0; 32]] } else { newest } {
        data.extend(hash);
        data.extend(price.to_le_bytes());
    }
    let set = sysvars.set(RECENT_BLOCKHASHES, &data);
    debug_assert!(set.is_ok(), "the data are laid out as the sysvar is");
    if sysvars.get(&SLOT_HASHES).is_none() {
        let data = [&1_u64.to_le_bytes()[..], &[0; 40]].concat();
        let set = sysvars.set(SLOT_HASHES, &data);
        debug_assert!(set.is_ok(), "the data are laid out as the sysvar is");
    }
}

/// Takes the last blockhash and its price from the sysvar of recent blockhashes, of whose entries
/// agave's harness takes the last one; zeros if there are none.
pub(crate) fn set_blockhash(environment: &mut Environment, accounts: &[(Pubkey, Account)]) {
    let account = accounts.iter().find(|(key, it)| *key == RECENT_BLOCKHASHES && it.lamports > 0);
    let entry = account.and_then(|(_, account)| {
        let (count, entries) = account.data.split_first_chunk()?;
        let count = usize::try_from(u64::from_le_bytes(*count)).ok()?;
        let (entries, _) = entries.as_chunks::<40>();
        entries.get(..count)?.last()
    });
    if let Some((hash, price)) = entry.and_then(|entry| entry.split_first_chunk::<32>()) {
        environment.blockhash = Hash::new_from_array(*hash);
        let price = price.first_chunk().copied().map(u64::from_le_bytes);
        environment.lamports_per_signature = price.unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EPOCH_SCHEDULE: Pubkey =
        Pubkey::from_str_const("SysvarEpochSchedu1e111111111111111111111111");

    /// An epoch schedule with this byte for `warmup`.
    fn schedule(lamports: u64, warmup: u8) -> (Pubkey, Account) {
        let mut data = vec![0; 33];
        data[16] = warmup;
        (EPOCH_SCHEDULE, Account { lamports, data, ..Account::default() })
    }

    #[test]
    fn sysvars_whose_accounts_cannot_be_read_are_missing() {
        let schedule_of = |accounts: &[_]| sysvars(accounts).epoch_schedule();
        assert_eq!(schedule_of(&[]), Some(EpochSchedule::default()));
        assert_eq!(schedule_of(&[schedule(1, 1)]).map(|it| it.warmup), Some(true));
        assert_eq!(schedule_of(&[schedule(1, 2)]), None);
        assert_eq!(schedule_of(&[schedule(0, 1)]), None);
    }
}
