//! The custom errors of the vote program.

use selkie_svm::InstructionError;

/// The custom errors of the vote program, with their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(super) enum VoteError {
    VoteTooOld = 0,
    SlotsMismatch = 1,
    SlotHashMismatch = 2,
    EmptySlots = 3,
    TimestampTooOld = 4,
    TooSoonToReauthorize = 5,
    LockoutConflict = 6,
    NewVoteStateLockoutMismatch = 7,
    SlotsNotOrdered = 8,
    ConfirmationsNotOrdered = 9,
    ZeroConfirmations = 10,
    ConfirmationTooLarge = 11,
    RootRollBack = 12,
    ConfirmationRollBack = 13,
    SlotSmallerThanRoot = 14,
    TooManyVotes = 15,
    VotesTooOldAllFiltered = 16,
    RootOnDifferentFork = 17,
    ActiveVoteAccountClose = 18,
    CommissionUpdateTooLate = 19,
}

impl From<VoteError> for InstructionError {
    fn from(error: VoteError) -> Self {
        Self::Custom(error as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_names_of_their_rows() {
        let all = [
            VoteError::VoteTooOld,
            VoteError::SlotsMismatch,
            VoteError::SlotHashMismatch,
            VoteError::EmptySlots,
            VoteError::TimestampTooOld,
            VoteError::TooSoonToReauthorize,
            VoteError::LockoutConflict,
            VoteError::NewVoteStateLockoutMismatch,
            VoteError::SlotsNotOrdered,
            VoteError::ConfirmationsNotOrdered,
            VoteError::ZeroConfirmations,
            VoteError::ConfirmationTooLarge,
            VoteError::RootRollBack,
            VoteError::ConfirmationRollBack,
            VoteError::SlotSmallerThanRoot,
            VoteError::TooManyVotes,
            VoteError::VotesTooOldAllFiltered,
            VoteError::RootOnDifferentFork,
            VoteError::ActiveVoteAccountClose,
            VoteError::CommissionUpdateTooLate,
        ];
        for error in all {
            let row = selkie_layout::errors::find(&selkie_layout::vote::ID, error as u32);
            assert_eq!(row.map(|it| it.name.into_owned()), Some(format!("{error:?}")));
        }
    }
}
