//! Loader v3's instructions and accounts as bytes.

use selkie_svm::{BorrowedAccount, InstructionError, InvokeContext, Pubkey};

use crate::wire::{Malformed, Reader};

/// What loader v3 can be asked for.
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

/// Where a program's file begins in a buffer.
pub const BUFFER_HEADER_BYTES: usize = 37;
/// The size of a program account.
pub const PROGRAM_BYTES: usize = 36;
/// Where a program's file begins in the account of its data, whether there is an authority or not.
pub const PROGRAM_DATA_HEADER_BYTES: usize = 45;
/// What is left of an account that was closed.
pub(super) const UNINITIALIZED_BYTES: usize = 4;

/// What an account of loader v3 is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Nothing yet, or no more.
    Uninitialized,
    /// A file in the making.
    Buffer {
        /// Who may write to it; nobody if there is none.
        authority: Option<Pubkey>,
    },
    /// What instructions name; its file is in another account.
    Program {
        /// That account's address.
        program_data: Pubkey,
    },
    /// A program's file.
    ProgramData {
        /// The slot that it was deployed in.
        slot: u64,
        /// Who may upgrade or close it; nobody if there is none.
        authority: Option<Pubkey>,
    },
}

impl State {
    /// The state of the account at a place.
    pub(super) fn at(
        context: &mut InvokeContext<'_>,
        place: usize,
    ) -> Result<Self, InstructionError> {
        Self::of(&context.borrow(place)?)
    }

    pub(super) fn of(account: &BorrowedAccount<'_>) -> Result<Self, InstructionError> {
        Self::read(account.data()).map_err(|_| InstructionError::InvalidAccountData)
    }

    /// What the data of an account of loader v3 say; `None` if they say nothing.
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
    fn states_are_read_as_they_were_written() {
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
