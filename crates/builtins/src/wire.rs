//! Account states as builtin programs write them.

use selkie_svm::{BorrowedAccount, InstructionError};

pub(crate) use selkie_layout::wire::{Malformed, Reader};

/// Writes a state to the front of an account's data; the bytes after it keep their value.
///
/// # Errors
/// If the data are not writable or too short.
pub(crate) fn store(
    account: &mut BorrowedAccount<'_>,
    state: &[u8],
) -> Result<(), InstructionError> {
    let target = account.data_mut()?.get_mut(..state.len());
    target.ok_or(InstructionError::AccountDataTooSmall)?.copy_from_slice(state);
    Ok(())
}
