//! What builtin programs ask of an instruction before they do something.

pub(crate) use selkie_svm::sysvars::minimum_balance;
use selkie_svm::{InstructionError, InvokeContext, Pubkey, sysvars};
use solana_sdk_ids::sysvar;

/// Says why in the log, and fails.
pub(crate) fn refuse<T>(
    context: &mut InvokeContext<'_>,
    why: impl Into<String>,
    error: InstructionError,
) -> Result<T, InstructionError> {
    context.log(why);
    Err(error)
}

/// Whether the account at a place signed.
pub(crate) fn is_signer(
    context: &InvokeContext<'_>,
    place: usize,
) -> Result<bool, InstructionError> {
    context.instruction_account(place).map(|account| account.is_signer)
}

/// Fails as a second borrow of an account does, if two places name the same one.
pub(crate) fn check_distinct(
    context: &InvokeContext<'_>,
    one: usize,
    other: usize,
) -> Result<(), InstructionError> {
    let (one, other) = (context.instruction_account(one)?, context.instruction_account(other)?);
    if one.index == other.index { Err(InstructionError::AccountBorrowFailed) } else { Ok(()) }
}

fn check_key(
    context: &InvokeContext<'_>,
    place: usize,
    key: &Pubkey,
) -> Result<(), InstructionError> {
    if context.key(place)? == *key { Ok(()) } else { Err(InstructionError::InvalidArgument) }
}

/// The rent, if its account is named at a place. What is in that account does not matter.
pub(crate) fn rent_at(
    context: &InvokeContext<'_>,
    place: usize,
) -> Result<sysvars::Rent, InstructionError> {
    check_key(context, place, &sysvar::rent::ID)?;
    rent(context)
}

/// The clock, if its account is named at a place.
pub(crate) fn clock_at(
    context: &InvokeContext<'_>,
    place: usize,
) -> Result<sysvars::Clock, InstructionError> {
    check_key(context, place, &sysvar::clock::ID)?;
    clock(context)
}

/// Whether there are recent blockhashes, if their account is named at a place.
pub(crate) fn has_recent_blockhashes_at(
    context: &InvokeContext<'_>,
    place: usize,
) -> Result<bool, InstructionError> {
    check_key(context, place, &sysvar::recent_blockhashes::ID)?;
    let found = context.environment().sysvars.has_recent_blockhashes();
    found.ok_or(InstructionError::UnsupportedSysvar)
}

pub(crate) fn rent(context: &InvokeContext<'_>) -> Result<sysvars::Rent, InstructionError> {
    context.environment().sysvars.rent().ok_or(InstructionError::UnsupportedSysvar)
}

pub(crate) fn clock(context: &InvokeContext<'_>) -> Result<sysvars::Clock, InstructionError> {
    context.environment().sysvars.clock().ok_or(InstructionError::UnsupportedSysvar)
}
