//! The check that no account falls below its minimum balance.

use solana_account::Account;
use solana_pubkey::Pubkey;
use solana_transaction_error::TransactionError;

use crate::{Mollusk, result::fail};

/// Where an account stands towards its minimum balance.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Absent,
    Below,
    Exempt,
}

/// Checks the accounts after successful instructions, as a transaction's are.
#[track_caller]
pub(crate) fn check(
    mollusk: &Mollusk,
    before: &[(Pubkey, Account)],
    after: &[(Pubkey, Account)],
    is_ok: bool,
) -> Result<(), TransactionError> {
    let is_checked = is_ok && mollusk.config.rent_exempt_checks;
    let pairs = before.iter().zip(after).filter(|_| is_checked);
    for (index, ((key, before), (_, after))) in pairs.enumerate() {
        if is_allowed(mollusk, before, after) {
            continue;
        }
        let account_index = u8::try_from(index).unwrap_or(u8::MAX);
        let minimum = mollusk.sysvars.rent.minimum_balance(after.data.len());
        fail(
            &mollusk.config,
            &format!(
                "rent\n  account {key} is left in a rent state the runtime rejects: {} lamports, but \
                 {} bytes of data need {minimum}\n\
             help: `config.rent_exempt_checks = false` switches this check off",
                after.lamports,
                after.data.len(),
            ),
        );
        return Err(TransactionError::InsufficientFundsForRent { account_index });
    }
    Ok(())
}

/// Returns whether an account may go from one state to the other: agave's rules, with those of
/// SIMD-0392 if they are active.
fn is_allowed(mollusk: &Mollusk, before: &Account, after: &Account) -> bool {
    let minimum = |account: &Account| mollusk.sysvars.rent.minimum_balance(account.data.len());
    let state = |account: &Account, minimum: u64| match account.lamports {
        0 => State::Absent,
        lamports if lamports >= minimum => State::Exempt,
        _ => State::Below,
    };
    let is_relaxed = mollusk.feature_set.relax_post_exec_min_balance_check;
    let was = state(before, minimum(before));
    let is_same = before.owner == after.owner && after.data.len() <= before.data.len();
    // An account that existed before needs no more than it had.
    let enough = if is_relaxed && was != State::Absent && is_same {
        minimum(after).min(before.lamports)
    } else {
        minimum(after)
    };
    match state(after, enough) {
        State::Absent | State::Exempt => true,
        State::Below => {
            !is_relaxed
                && was == State::Below
                && before.data.len() == after.data.len()
                && after.lamports <= before.lamports
        }
    }
}
