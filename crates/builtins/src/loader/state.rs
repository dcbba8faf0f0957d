//! States of loader v3's accounts.

pub use selkie_layout::loader::{
    BUFFER_HEADER_BYTES, PROGRAM_BYTES, PROGRAM_DATA_HEADER_BYTES, State,
};
use selkie_svm::{BorrowedAccount, InstructionError, InvokeContext};

/// Returns the state of instruction account `index`.
pub(super) fn at(context: &mut InvokeContext<'_>, index: usize) -> Result<State, InstructionError> {
    of(&context.borrow(index)?)
}

/// Returns the state of an account.
pub(super) fn of(account: &BorrowedAccount<'_>) -> Result<State, InstructionError> {
    State::read(account.data()).map_err(|_| InstructionError::InvalidAccountData)
}
