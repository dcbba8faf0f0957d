//! The fifth phase, *settle*: what is written, and what is told.

use solana_account::ReadableAccount;

use crate::{
    check::Checked,
    load::Rollback,
    process::{AccountChange, Processed},
    transaction_accounts::TransactionAccount,
    workspace,
};

/// Decides what a transaction leaves behind: if it succeeded, all that it wrote to; if it failed,
/// the payer without the fee and the nonce advanced.
pub(crate) fn settle(
    checked: &Checked<'_>,
    rollback: Rollback,
    mut accounts: Vec<TransactionAccount>,
    processed: &mut Processed,
) {
    let changes = &mut processed.accounts;
    // Those that loading did not get to are not known.
    for (place, key) in checked.keys.iter().enumerate().skip(changes.len()) {
        let is_writable = checked.writable.has(place);
        changes.push(AccountChange { key: *key, before: None, write: None, is_writable });
    }
    if processed.result.is_ok() {
        let mut is_payer = true;
        for (change, after) in changes.iter_mut().zip(accounts.drain(..)) {
            // What was never there and still is not need not be deleted.
            let is_nothing = change.before.is_none() && after.account.lamports() == 0;
            if change.is_writable && (after.is_touched || is_payer) && !is_nothing {
                change.write = Some(after.account);
            }
            is_payer = false;
        }
    } else {
        rollback.write(changes);
    }
    workspace::keep_accounts(accounts);
}
