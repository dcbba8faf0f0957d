//! The sysvars of a fixture: those among its accounts, and the defaults of agave's harness.

use selkie_svm::{
    Account, Environment, Pubkey, Sysvars,
    sysvars::{Clock, EpochSchedule, LastRestartSlot, Rent},
};
use solana_hash::Hash;

const RECENT_BLOCKHASHES: Pubkey =
    Pubkey::from_str_const("SysvarRecentB1ockHashes11111111111111111111");

/// Returns the sysvars among these accounts, and defaults for those without an account.
///
/// As in agave's harness (`sysvar_cache_from_accounts`), owners do not matter, and a sysvar whose
/// account has no lamports or does not decode is missing: the default does not replace it. Of
/// several accounts with the same address the last counts, since Mollusk's fixtures have sysvars
/// apart from accounts, and those are appended.
pub(crate) fn sysvars(accounts: &[(Pubkey, Account)]) -> Sysvars {
    let mut sysvars = defaults();
    for (address, account) in accounts {
        sysvars.remove(address);
        if account.lamports > 0 {
            // Fails for accounts that are not sysvars, or do not decode.
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
    #[allow(deprecated, reason = "the fixtures predate the deprecation of these fields")]
    sysvars.set_rent(&Rent {
        lamports_per_byte: 3480,
        exemption_threshold: 2.0_f64.to_le_bytes(),
        burn_percent: 50,
    });
    sysvars
}

/// Sets the sysvars that a bank writes itself: recent blockhashes, newest first, and, if there are
/// none, slot hashes with an entry for slot 0.
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
    debug_assert!(set.is_ok(), "the data are encoded as the sysvar");
    if sysvars.get(&SLOT_HASHES).is_none() {
        let data = [&1_u64.to_le_bytes()[..], &[0; 40]].concat();
        let set = sysvars.set(SLOT_HASHES, &data);
        debug_assert!(set.is_ok(), "the data are encoded as the sysvar");
    }
}

/// Sets the environment's blockhash and its fee per signature to those of the last entry of the recent
/// blockhashes sysvar, as agave's harness does. Without entries both stay unchanged.
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

    /// Returns an epoch schedule account with this byte for `warmup`.
    fn schedule(lamports: u64, warmup: u8) -> (Pubkey, Account) {
        let mut data = vec![0; 33];
        data[16] = warmup;
        (EPOCH_SCHEDULE, Account { lamports, data, ..Account::default() })
    }

    #[test]
    fn a_sysvar_whose_account_does_not_decode_has_no_default() {
        let schedule_of = |accounts: &[_]| sysvars(accounts).epoch_schedule();
        assert_eq!(schedule_of(&[]), Some(EpochSchedule::default()));
        assert_eq!(schedule_of(&[schedule(1, 1)]).map(|it| it.warmup), Some(true));
        assert_eq!(schedule_of(&[schedule(1, 2)]), None);
        assert_eq!(schedule_of(&[schedule(0, 1)]), None);
    }
}
