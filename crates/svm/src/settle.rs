//! The fifth phase, *settle*: what is written, and what is told.

use solana_account::ReadableAccount;
use solana_transaction_error::TransactionError;

use crate::{
    execute::{Executed, Inner, OwnUnits},
    load::Loaded,
    process::{AccountChange, Processed},
    workspace,
};

/// Decides what a transaction leaves behind: if it succeeded, all that it wrote to; if it failed,
/// the payer without the fee and the nonce advanced.
pub(crate) fn settle(
    loaded: Loaded<'_>,
    executed: Result<Executed, TransactionError>,
) -> Processed {
    let Loaded { checked, rollback, mut changes, loaded_bytes, .. } = loaded;
    let fee = checked.budget.fee;
    // Those that loading did not get to are not known.
    for (place, key) in checked.keys.iter().enumerate().skip(changes.len()) {
        let is_writable = checked.writable.has(place);
        changes.push(AccountChange { key: *key, before: None, write: None, is_writable });
    }
    let is_executed = executed.is_ok();
    let mut executed = executed.unwrap_or_else(Executed::fees_only);
    if executed.result.is_ok() {
        for (place, (change, after)) in
            changes.iter_mut().zip(executed.accounts.drain(..)).enumerate()
        {
            // What was never there and still is not need not be deleted.
            let is_nothing = change.before.is_none() && after.account.lamports() == 0;
            if change.is_writable && (after.is_touched || place == 0) && !is_nothing {
                change.write = Some(after.account);
            }
        }
    } else {
        if let Some(change) = changes.first_mut() {
            change.write = Some(rollback.payer);
        }
        if let Some((key, account)) = rollback.nonce
            && let Some(change) = changes.iter_mut().find(|change| change.key == key)
        {
            change.write = Some(account);
        }
    }
    workspace::keep_accounts(executed.accounts);
    Processed {
        result: executed.result,
        is_executed,
        fee,
        units: executed.units,
        units_max: checked.budget.compute.units,
        instruction_units: executed.instruction_units,
        loaded_bytes,
        logs: executed.logs,
        inner: executed.inner,
        return_data: executed.return_data,
        accounts: changes,
        notes: executed.notes,
    }
}

impl Executed {
    /// What is told of a transaction that was not executed.
    fn fees_only(why: TransactionError) -> Self {
        Self {
            result: Err(why),
            accounts: Vec::new(),
            units: 0,
            instruction_units: OwnUnits::new(),
            logs: Vec::new(),
            inner: Inner::new(),
            return_data: None,
            notes: Vec::new(),
        }
    }
}
