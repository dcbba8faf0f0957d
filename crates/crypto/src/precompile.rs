//! Precompiles: programs whose instruction is a list of signatures to verify.
//!
//! An instruction's data begin with the number of signatures, then offsets say for each where its
//! parts are: in which instruction of the transaction, and where in its data. The order of the
//! checks decides the error, and each precompile has its own (agave: `agave-precompiles`).
//!
//! `data` are those of the precompile's own instruction, `all` those of every instruction of the
//! transaction.

pub mod ed25519;
pub mod secp256k1;
pub mod secp256r1;

use core::fmt;

/// Why a precompile fails; its number is that of the instruction's custom error.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PrecompileError {
    /// The key is not one.
    InvalidPublicKey = 0,
    /// The recovery id is not 0 to 3.
    InvalidRecoveryId = 1,
    /// The signature is not one of this message by the holder of this key.
    InvalidSignature = 2,
    /// An offset points to nothing.
    InvalidDataOffsets = 3,
    /// The data are shorter than they say.
    InvalidInstructionDataSize = 4,
}

use PrecompileError as Error;

impl PrecompileError {
    /// The number of the instruction's custom error.
    #[must_use]
    pub fn number(self) -> u32 {
        self as u32
    }
}

impl fmt::Display for PrecompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidPublicKey => "the public key is not valid",
            Self::InvalidRecoveryId => "the recovery id is not valid",
            Self::InvalidSignature => "the signature is not valid",
            Self::InvalidDataOffsets => "an offset is not valid",
            Self::InvalidInstructionDataSize => "the instruction has an incorrect size",
        })
    }
}

impl core::error::Error for PrecompileError {}

/// How many signatures each of the precompiles' instructions says that it has: what a transaction
/// pays for, whether or not it is so.
#[must_use]
pub fn signature_count(data: &[u8]) -> u64 {
    data.first().copied().map_or(0, u64::from)
}

/// Where a part of a signature is.
#[derive(Clone, Copy)]
struct Place {
    offset: u16,
    instruction: u16,
}

/// The instruction that the offsets themselves are in.
const THIS_INSTRUCTION: u16 = u16::MAX;

/// The offsets of ed25519 and secp256r1.
struct Offsets {
    signature: Place,
    public_key: Place,
    message: Place,
    message_len: u16,
}

const OFFSETS_BYTES: usize = 14;
/// The number of signatures, and a byte that nobody looks at.
const OFFSETS_START: usize = 2;

impl Offsets {
    /// Those of `count` signatures, if the data have as many.
    fn read(data: &[u8], count: u8) -> Result<impl Iterator<Item = Self>, Error> {
        let (offsets, _) = data.get(OFFSETS_START..).unwrap_or_default().as_chunks();
        let offsets = offsets.get(..usize::from(count)).ok_or(Error::InvalidInstructionDataSize)?;
        Ok(offsets.iter().map(Self::parse))
    }

    fn parse(bytes: &[u8; OFFSETS_BYTES]) -> Self {
        let (words, _) = bytes.as_chunks::<2>();
        let word = |at: usize| u16::from_le_bytes(words[at]);
        let place = |offset, instruction| Place { offset, instruction };
        Self {
            signature: place(word(0), word(1)),
            public_key: place(word(2), word(3)),
            message: place(word(4), word(6)),
            message_len: word(5),
        }
    }
}

/// The instructions that offsets point into.
#[derive(Clone, Copy)]
struct Datas<'a> {
    this: &'a [u8],
    all: &'a [&'a [u8]],
}

impl<'a> Datas<'a> {
    fn slice(self, place: Place, len: usize) -> Result<&'a [u8], Error> {
        let data = match place.instruction {
            THIS_INSTRUCTION => Some(self.this),
            index => self.all.get(usize::from(index)).copied(),
        };
        data.and_then(|data| slice(data, place.offset, len)).ok_or(Error::InvalidDataOffsets)
    }

    fn array<const N: usize>(self, place: Place) -> Result<&'a [u8; N], Error> {
        Ok(self.slice(place, N)?.try_into().expect("the slice has as many bytes as were asked for"))
    }
}

fn slice(data: &[u8], offset: u16, len: usize) -> Option<&[u8]> {
    data.get(usize::from(offset)..)?.get(..len)
}
