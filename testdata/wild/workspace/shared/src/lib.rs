//! What both programs know.
use borsh::{BorshDeserialize, BorshSerialize};
use solana_program_error::ProgramError;

/// A bid, as one program passes it to the other.
#[derive(BorshDeserialize, BorshSerialize, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bid {
    pub bidder: [u8; 32],
    pub amount: u64,
}

pub fn read<T: BorshDeserialize>(data: &[u8]) -> Result<T, ProgramError> {
    T::try_from_slice(data).map_err(|_| ProgramError::InvalidInstructionData)
}
