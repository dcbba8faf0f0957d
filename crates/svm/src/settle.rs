//! The fifth phase, *settle*: what is written, and what is told.

use solana_account::ReadableAccount;

use crate::{
    load::Rollback, process::Processed, transaction_accounts::TransactionAccount, workspace,
};

/// Decides what a transaction leaves behind: if it succeeded, all that it wrote to; if it failed,
/// the payer without the fee and the nonce advanced.
pub(crate) fn settle(
    rollback: Rollback,
    mut accounts: Vec<TransactionAccount>,
    processed: &mut Processed,
) {
    let changes = &mut processed.accounts;
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
