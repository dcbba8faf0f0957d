//! Precompiles: programs whose instructions are lists of signatures to verify.
//!
//! Instruction data begin with the number of signatures. Offsets follow, which locate the parts of
//! each signature: the index of an instruction in the transaction, and an offset in its data. The
//! order of the checks decides the error, and differs between precompiles (agave:
//! `agave-precompiles`).
//!
//! Parameters of the `verify` functions: `data` is the data of the precompile's instruction, `all`
//! the data of every instruction of the transaction.

pub mod ed25519;
pub mod secp256k1;
pub mod secp256r1;

use core::fmt;

/// The error of a precompile. Its discriminant is the number of the instruction's custom error.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PrecompileError {
    /// The public key does not decode to a point.
    InvalidPublicKey = 0,
    /// The recovery id is not in `0..=3`.
    InvalidRecoveryId = 1,
    /// The signature does not verify.
    InvalidSignature = 2,
    /// An offset is out of bounds.
    InvalidDataOffsets = 3,
    /// The instruction data are too short for the number of signatures.
    InvalidInstructionDataSize = 4,
}

use PrecompileError as Error;

impl PrecompileError {
    /// Returns the number of the instruction's custom error.
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

/// Returns the number of signatures that a precompile's instruction data state in their first byte.
/// Transactions pay for that number, whether or not it is correct.
#[must_use]
pub fn signature_count(data: &[u8]) -> u64 {
    data.first().copied().map_or(0, u64::from)
}

/// The location of a part of a signature.
#[derive(Clone, Copy)]
struct Location {
    offset: u16,
    instruction: u16,
}

/// The instruction index that means the instruction of the offsets themselves.
const THIS_INSTRUCTION: u16 = u16::MAX;

/// The offsets of a signature in the ed25519 and secp256r1 precompiles.
struct Offsets {
    signature: Location,
    public_key: Location,
    message: Location,
    message_len: u16,
}

const OFFSETS_BYTES: usize = 14;
/// The number of signatures and an unused byte come before the offsets.
const OFFSETS_START: usize = 2;

impl Offsets {
    /// Returns the offsets of `count` signatures, which the data must contain.
    fn read(data: &[u8], count: u8) -> Result<impl Iterator<Item = Self>, Error> {
        let (offsets, _) = data.get(OFFSETS_START..).unwrap_or_default().as_chunks();
        let offsets = offsets.get(..usize::from(count)).ok_or(Error::InvalidInstructionDataSize)?;
        Ok(offsets.iter().map(Self::parse))
    }

    fn parse(bytes: &[u8; OFFSETS_BYTES]) -> Self {
        let (words, _) = bytes.as_chunks::<2>();
        let word = |at: usize| u16::from_le_bytes(words[at]);
        let location = |offset, instruction| Location { offset, instruction };
        Self {
            signature: location(word(0), word(1)),
            public_key: location(word(2), word(3)),
            message: location(word(4), word(6)),
            message_len: word(5),
        }
    }
}

/// The instruction data that offsets refer to.
#[derive(Clone, Copy)]
struct InstructionData<'a> {
    this: &'a [u8],
    all: &'a [&'a [u8]],
}

impl<'a> InstructionData<'a> {
    fn slice(self, location: Location, len: usize) -> Result<&'a [u8], Error> {
        let data = match location.instruction {
            THIS_INSTRUCTION => Some(self.this),
            index => self.all.get(usize::from(index)).copied(),
        };
        data.and_then(|data| slice(data, location.offset, len)).ok_or(Error::InvalidDataOffsets)
    }

    fn array<const N: usize>(self, location: Location) -> Result<&'a [u8; N], Error> {
        Ok(self.slice(location, N)?.try_into().expect("`slice` returns exactly N bytes"))
    }
}

fn slice(data: &[u8], offset: u16, len: usize) -> Option<&[u8]> {
    data.get(usize::from(offset)..)?.get(..len)
}
