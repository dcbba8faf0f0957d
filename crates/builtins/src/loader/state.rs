//! Encoding of loader v3's instructions and account states.

use selkie_svm::{BorrowedAccount, InstructionError, InvokeContext, Pubkey};

use crate::wire::{Malformed, Reader};

/// An instruction of loader v3.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum LoaderInstruction<'a> {
    InitializeBuffer,
    Write { offset: u32, bytes: &'a [u8] },
    DeployWithMaxDataLen { max_data_len: usize },
    Upgrade,
    SetAuthority,
    Close,
    ExtendProgram { additional_bytes: u32 },
    SetAuthorityChecked,
}

impl<'a> LoaderInstruction<'a> {
    pub(super) fn read(data: &'a [u8]) -> Result<Self, Malformed> {
        let mut it = Reader::instruction(data);
        Ok(match it.u32()? {
            0 => Self::InitializeBuffer,
            1 => Self::Write { offset: it.u32()?, bytes: it.counted()? },
            2 => Self::DeployWithMaxDataLen {
                max_data_len: usize::try_from(it.u64()?).map_err(|_| Malformed)?,
            },
            3 => Self::Upgrade,
            4 => Self::SetAuthority,
            5 => Self::Close,
            6 => Self::ExtendProgram { additional_bytes: it.u32()? },
            7 => Self::SetAuthorityChecked,
            _ => return Err(Malformed),
        })
    }
}

/// The length in bytes of a buffer account's header; the ELF file follows.
pub const BUFFER_HEADER_BYTES: usize = 37;
/// The data length in bytes of a program account.
pub const PROGRAM_BYTES: usize = 36;
/// The length in bytes of a programdata account's header, with or without an authority; the ELF
/// file follows.
pub const PROGRAM_DATA_HEADER_BYTES: usize = 45;
/// The data length in bytes of a closed account.
pub(super) const UNINITIALIZED_BYTES: usize = 4;

/// The state of an account of loader v3 (`UpgradeableLoaderState`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// An account that is not initialized yet, or closed.
    Uninitialized,
    /// A buffer: the file of a future deployment or upgrade.
    Buffer {
        /// The key that may write to the buffer; `None` makes it immutable.
        authority: Option<Pubkey>,
    },
    /// A program account: the address that instructions invoke.
    Program {
        /// The address of the programdata account, which holds the file.
        program_data: Pubkey,
    },
    /// A programdata account: the file of a deployed program.
    ProgramData {
        /// The slot of the last deployment, upgrade or extension.
        slot: u64,
        /// The key that may upgrade or close the program; `None` makes it immutable.
        authority: Option<Pubkey>,
    },
}

impl State {
    /// Returns the state of instruction account `index`.
    pub(super) fn at(
        context: &mut InvokeContext<'_>,
        index: usize,
    ) -> Result<Self, InstructionError> {
        Self::of(&context.borrow(index)?)
    }

    pub(super) fn of(account: &BorrowedAccount<'_>) -> Result<Self, InstructionError> {
        Self::read(account.data()).map_err(|_| InstructionError::InvalidAccountData)
    }

    /// Decodes the data of an account of loader v3; `None` if they are not a valid state.
    #[must_use]
    pub fn of_data(data: &[u8]) -> Option<Self> {
        Self::read(data).ok()
    }

    fn read(data: &[u8]) -> Result<Self, Malformed> {
        let mut it = Reader::new(data);
        Ok(match it.u32()? {
            0 => Self::Uninitialized,
            1 => Self::Buffer { authority: it.option(Reader::pubkey)? },
            2 => Self::Program { program_data: it.pubkey()? },
            3 => Self::ProgramData { slot: it.u64()?, authority: it.option(Reader::pubkey)? },
            _ => return Err(Malformed),
        })
    }

    pub(super) fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(PROGRAM_DATA_HEADER_BYTES);
        let tag: u32 = match self {
            Self::Uninitialized => 0,
            Self::Buffer { .. } => 1,
            Self::Program { .. } => 2,
            Self::ProgramData { .. } => 3,
        };
        bytes.extend(tag.to_le_bytes());
        match self {
            Self::Uninitialized => {}
            Self::Program { program_data } => bytes.extend(program_data.to_bytes()),
            Self::Buffer { authority } => write_option(&mut bytes, authority),
            Self::ProgramData { slot, authority } => {
                bytes.extend(slot.to_le_bytes());
                write_option(&mut bytes, authority);
            }
        }
        bytes
    }
}

fn write_option(bytes: &mut Vec<u8>, key: &Option<Pubkey>) {
    bytes.push(key.is_some().into());
    bytes.extend(key.iter().flat_map(|key| key.to_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_round_trip_and_truncated_ones_are_malformed() {
        let key = Pubkey::new_from_array([7; 32]);
        for (state, len) in [
            (State::Uninitialized, UNINITIALIZED_BYTES),
            (State::Buffer { authority: None }, 5),
            (State::Buffer { authority: Some(key) }, BUFFER_HEADER_BYTES),
            (State::Program { program_data: key }, PROGRAM_BYTES),
            (State::ProgramData { slot: 9, authority: Some(key) }, PROGRAM_DATA_HEADER_BYTES),
            (State::ProgramData { slot: 9, authority: None }, 13),
        ] {
            let bytes = state.write();
            assert_eq!((State::read(&bytes), bytes.len()), (Ok(state), len));
            assert_eq!(State::read(&bytes[..len - 1]), Err(Malformed));
        }
        assert_eq!(State::read(&[4, 0, 0, 0]), Err(Malformed));
    }
}
