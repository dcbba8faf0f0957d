//! The fifth phase, *settle*: what is written, and what is told.

use solana_account::ReadableAccount;

use crate::{
    pipeline::{load::Rollback, process::Processed},
    runtime::{transaction_accounts::TransactionAccount, workspace},
};

/// Decides what a transaction leaves behind: if it succeeded, all that it wrote to; if it failed,
/// the payer without the fee and the nonce advanced.
pub(crate) fn settle(
    rollback: Rollback,
    mut accounts: Vec<TransactionAccount>,
    processed: &mut Processed,
) {
    let changes = &mut processed.accounts;
    let is_kept = processed.result.is_ok();
    let mut is_payer = true;
    for (change, after) in changes.iter_mut().zip(accounts.drain(..)) {
        let is_there = after.account.lamports() > 0;
        let place = if !change.is_writable {
            change.lender(&after.account)
        } else {
            // What was never there and still is not need not be deleted.
            let is_written =
                (after.is_touched || is_payer) && (change.before.is_some() || is_there);
            (is_kept && is_written).then_some(&mut change.write)
        };
        if let Some(place) = place {
            *place = Some(after.account);
        }
        is_payer = false;
    }
    if !is_kept {
        rollback.write(changes);
    }
    workspace::keep_accounts(accounts);
}
