//! Checks on accounts, signers and sysvars that the builtin programs share.

pub(crate) use selkie_svm::sysvars::minimum_balance;
use selkie_svm::{InstructionError, InvokeContext, Pubkey, sysvars};
use solana_sdk_ids::sysvar;

/// Logs `why` and returns `error`.
pub(crate) fn refuse<T>(
    context: &mut InvokeContext<'_>,
    why: impl Into<String>,
    error: InstructionError,
) -> Result<T, InstructionError> {
    context.log(why);
    Err(error)
}

/// Returns whether instruction account `index` is a signer.
pub(crate) fn is_signer(
    context: &InvokeContext<'_>,
    index: usize,
) -> Result<bool, InstructionError> {
    context.instruction_account(index).map(|account| account.is_signer)
}

/// Returns the error of a second borrow if both indices refer to the same account.
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
    index: usize,
    key: &Pubkey,
) -> Result<(), InstructionError> {
    if context.key(index)? == *key { Ok(()) } else { Err(InstructionError::InvalidArgument) }
}

/// Returns the rent sysvar, provided that instruction account `index` is its account. The data of
/// that account are not read.
pub(crate) fn rent_at(
    context: &InvokeContext<'_>,
    index: usize,
) -> Result<sysvars::Rent, InstructionError> {
    check_key(context, index, &sysvar::rent::ID)?;
    rent(context)
}

/// Returns the clock sysvar, provided that instruction account `index` is its account.
pub(crate) fn clock_at(
    context: &InvokeContext<'_>,
    index: usize,
) -> Result<sysvars::Clock, InstructionError> {
    check_key(context, index, &sysvar::clock::ID)?;
    clock(context)
}

/// Returns whether the recent blockhashes sysvar has entries, provided that instruction account
/// `index` is its account.
pub(crate) fn has_recent_blockhashes_at(
    context: &InvokeContext<'_>,
    index: usize,
) -> Result<bool, InstructionError> {
    check_key(context, index, &sysvar::recent_blockhashes::ID)?;
    let has_entries = context.environment().sysvars.has_recent_blockhashes();
    has_entries.ok_or(InstructionError::UnsupportedSysvar)
}

pub(crate) fn rent(context: &InvokeContext<'_>) -> Result<sysvars::Rent, InstructionError> {
    context.environment().sysvars.rent().ok_or(InstructionError::UnsupportedSysvar)
}

pub(crate) fn clock(context: &InvokeContext<'_>) -> Result<sysvars::Clock, InstructionError> {
    context.environment().sysvars.clock().ok_or(InstructionError::UnsupportedSysvar)
}
