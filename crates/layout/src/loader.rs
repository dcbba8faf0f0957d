//! The loaders: their instructions, and the accounts of loader v3 (agave: `solana-loader-v3-interface`) and
//! of loader v4 (agave 2.3: `solana-loader-v4-interface`).

use solana_pubkey::Pubkey;
use solana_sdk_ids::{bpf_loader, bpf_loader_upgradeable, loader_v4, system_program, sysvar};

use crate::{
    account::At,
    declare::{field, instructions, layout},
    kind::Field,
    wire::{Malformed, Reader, Wire as _},
};

/// The address of loader v2.
pub const V2: Pubkey = bpf_loader::ID;
/// The address of loader v3.
pub const V3: Pubkey = bpf_loader_upgradeable::ID;
/// The address of loader v4.
pub const V4: Pubkey = loader_v4::ID;

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

instructions! {
    /// An instruction of loader v4 (SIMD-0167).
    for<'a> LoaderV4Instruction<'a>, u32 {
        0 => Write [w("program"), s("authority")] { offset: u32, bytes: &'a [u8] }
        1 => Copy [w("program"), s("authority"), r("source")] {
            destination_offset: u32, source_offset: u32, length: u32
        }
        2 => SetProgramLength [w("program"), s("authority"), w("recipient").optional()] { new_size: u32 }
        3 => Deploy [w("program"), s("authority")] {}
        4 => Retract [w("program"), s("authority")] {}
        5 => TransferAuthority [w("program"), s("authority"), s("new_authority")] {}
        6 => Finalize [w("program"), s("authority"), r("next_version")] {}
    }
}

layout! {
    /// What precedes the file in a program account of loader v4.
    ProgramV4, ProgramV4At, PROGRAM_V4 {
        /// The slot of the last deployment; 0 if there was none.
        slot: u64,
        /// The key that may change the program; of a finalized one, the address of its next version.
        authority: Pubkey,
        /// 0 for a program that is retracted, 1 for one that is deployed, 2 for one that is finalized.
        status: u64,
    }
}

/// What the data of a buffer begin with.
pub const BUFFER_STATE: u32 = 1;
/// What the data of a program account begin with.
pub const PROGRAM_STATE: u32 = 2;
/// What the data of a programdata account begin with.
pub const PROGRAM_DATA_STATE: u32 = 3;

/// The fields of a buffer, before its file.
pub const BUFFER_FIELDS: &[Field] =
    &[field!(state: u32 as Hidden), field!(authority: Option<Pubkey>)];
/// The fields of a program account.
pub const PROGRAM_FIELDS: &[Field] = &[field!(state: u32 as Hidden), field!(program_data: Pubkey)];
/// The fields of a programdata account, before its file.
pub const PROGRAM_DATA_FIELDS: &[Field] =
    &[field!(state: u32 as Hidden), field!(slot: u64), field!(authority: Option<Pubkey>)];

/// Where a programdata account has the slot of its last deployment, upgrade or extension.
pub const DEPLOYMENT_SLOT: At<u64> = At::new(At::<u32>::BYTES);

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
            BUFFER_STATE => Self::Buffer { authority: it.option(Reader::pubkey)? },
            PROGRAM_STATE => Self::Program { program_data: it.pubkey()? },
            PROGRAM_DATA_STATE => {
                Self::ProgramData { slot: it.u64()?, authority: it.option(Reader::pubkey)? }
            }
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
                BUFFER_STATE.write(&mut bytes);
                authority.write(&mut bytes);
            }
            Self::Program { program_data } => {
                PROGRAM_STATE.write(&mut bytes);
                program_data.write(&mut bytes);
            }
            Self::ProgramData { slot, authority } => {
                PROGRAM_DATA_STATE.write(&mut bytes);
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
            if let State::ProgramData { slot, .. } = state {
                assert_eq!(DEPLOYMENT_SLOT.get(&bytes), Some(slot));
            }
        }
        assert_eq!(State::read(&[4, 0, 0, 0]), Err(Malformed));
    }
}
