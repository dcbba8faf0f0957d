//! Sysvars, and their accounts.

use selkie_builtins::sysvar_account;
use selkie_svm::{Environment, Sysvars};
use solana_account::ReadableAccount;
use solana_pubkey::Pubkey;

use crate::accounts::KeyedAccount;

/// Returns the accounts of sysvars.
pub fn sysvar_accounts(environment: &Environment) -> impl Iterator<Item = KeyedAccount> {
    let rent = environment.rent();
    environment
        .sysvars
        .iter()
        .map(move |(id, data)| (*id, sysvar_account(None, data.to_vec(), &rent)))
}

/// Sets sysvars from those among `accounts`, whatever their owners are. If an address
/// occurs repeatedly, the last account counts.
pub(crate) fn set_sysvars<'a, A: ReadableAccount + 'a>(
    sysvars: &mut Sysvars,
    accounts: impl IntoIterator<Item = (&'a Pubkey, &'a A)>,
) {
    for (key, account) in accounts {
        sysvars.remove(key);
        if account.lamports() > 0 {
            // Most accounts are no sysvars, and one that cannot be decoded counts as missing.
            let _ = sysvars.set(*key, account.data());
        }
    }
}
