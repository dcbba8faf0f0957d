//! The fifth step, *settle*: which accounts are written.

use solana_account::ReadableAccount;

use crate::pipeline::{execute::Executed, outcome::Processed, workspace::Workspace};

/// Decides what a transaction writes: every account it touched if it succeeded; the payer without
/// the fee, and the nonce advanced, if it failed.
#[inline(always)]
pub(crate) fn settle(executed: Executed, workspace: &mut Workspace) -> Box<Processed> {
    let Executed { mut processed, mut accounts, rollback } = executed;
    let succeeded = processed.result.is_ok();
    let changes = &mut processed.accounts;
    let mut is_payer = true;
    for (change, after) in changes.iter_mut().zip(accounts.drain(..)) {
        let exists = after.account.lamports() > 0;
        let slot = if !change.is_writable {
            change.return_slot(&after.account)
        } else {
            // An account that existed neither before nor after is not written.
            let is_written = (after.is_touched || is_payer) && (change.before.is_some() || exists);
            (succeeded && is_written).then_some(&mut change.write)
        };
        if let Some(slot) = slot {
            *slot = Some(after.account);
        }
        is_payer = false;
    }
    if !succeeded {
        rollback.write(changes);
    }
    workspace.recycle_accounts(accounts);
    processed
}
