//! The loaders: their instructions, and the accounts of loader v3 (agave: `solana-loader-v3-interface`).

use solana_pubkey::Pubkey;
use solana_sdk_ids::{bpf_loader, bpf_loader_upgradeable, system_program, sysvar};

use crate::{
    declare::instructions,
    wire::{Malformed, Reader, Wire as _},
};

/// The address of loader v2.
pub const V2: Pubkey = bpf_loader::ID;
/// The address of loader v3.
pub const V3: Pubkey = bpf_loader_upgradeable::ID;

instructions! {
    /// An instruction of loader v1 or v2.
    for<'a> OldLoaderInstruction<'a>, u32 {
        0 => Write [ws("account")] { offset: u32, bytes: &'a [u8] }
        1 => Finalize [ws("account")] at least 2 {}
    }
}

instructions! {
    /// An instruction of loader v3.
    for<'a> LoaderInstruction<'a>, u32 {
        0 => InitializeBuffer [w("account"), r("authority").optional()] {}
        1 => Write [w("account"), s("authority")] { offset: u32, bytes: &'a [u8] }
        2 => DeployWithMaxDataLen [
            ws("payer_account"),
            w("program_data_account"),
            w("program_account"),
            w("buffer_account"),
            at("rent_sysvar", sysvar::rent::ID),
            at("clock_sysvar", sysvar::clock::ID),
            at("system_program", system_program::ID),
            s("authority"),
        ] { max_data_len: u64 }
        3 => Upgrade [
            w("program_data_account"),
            w("program_account"),
            w("buffer_account"),
            w("spill_account"),
            at("rent_sysvar", sysvar::rent::ID),
            at("clock_sysvar", sysvar::clock::ID),
            s("authority"),
        ] {}
        4 => SetAuthority [w("account"), s("authority"), r("new_authority").or_null()] {}
        5 => Close [w("account"), w("recipient"), s("authority"), w("program_account").or_null()] {}
        6 => ExtendProgram [
            w("program_data_account"),
            w("program_account"),
            at("system_program", system_program::ID).or_null(),
            ws("payer_account").or_null(),
        ] { additional_bytes: u32 }
        7 => SetAuthorityChecked [w("account"), s("authority"), s("new_authority")] {}
    }
}

/// What the data of a program account begin with.
pub const PROGRAM_STATE: u32 = 2;

/// The length in bytes of a buffer account's header; the ELF file follows.
pub const BUFFER_HEADER_BYTES: usize = 37;
/// The data length in bytes of a program account.
pub const PROGRAM_BYTES: usize = 36;
/// The length in bytes of a programdata account's header, with or without an authority; the ELF
/// file follows.
pub const PROGRAM_DATA_HEADER_BYTES: usize = 45;
/// The data length in bytes of a closed account.
pub const UNINITIALIZED_BYTES: usize = 4;

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
    /// Decodes the data of an account of loader v3; `None` if they are not a valid state.
    #[must_use]
    pub fn of_data(data: &[u8]) -> Option<Self> {
        Self::read(data).ok()
    }

    /// Decodes the data of an account of loader v3.
    ///
    /// # Errors
    /// If they are not a valid state.
    pub fn read(data: &[u8]) -> Result<Self, Malformed> {
        let mut it = Reader::new(data);
        Ok(match it.u32()? {
            0 => Self::Uninitialized,
            1 => Self::Buffer { authority: it.option(Reader::pubkey)? },
            PROGRAM_STATE => Self::Program { program_data: it.pubkey()? },
            3 => Self::ProgramData { slot: it.u64()?, authority: it.option(Reader::pubkey)? },
            _ => return Err(Malformed),
        })
    }

    /// Returns the data of the state, without the file that may follow.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(PROGRAM_DATA_HEADER_BYTES);
        match self {
            Self::Uninitialized => 0_u32.write(&mut bytes),
            Self::Buffer { authority } => {
                1_u32.write(&mut bytes);
                authority.write(&mut bytes);
            }
            Self::Program { program_data } => {
                PROGRAM_STATE.write(&mut bytes);
                program_data.write(&mut bytes);
            }
            Self::ProgramData { slot, authority } => {
                3_u32.write(&mut bytes);
                slot.write(&mut bytes);
                authority.write(&mut bytes);
            }
        }
        bytes
    }
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
