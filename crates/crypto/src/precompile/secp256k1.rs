//! The secp256k1 precompile: ECDSA signatures of Keccak-256 hashes by Ethereum addresses.

use sha3::{Digest, Keccak256};

use super::{Error, slice};
use crate::{
    ecdsa::Signature,
    secp256k1::{RecoveryId, recover_by},
};

/// Unlike in the other precompiles, an instruction index takes one byte, and no value of it means
/// the instruction of the offsets themselves.
const OFFSETS_BYTES: usize = 11;
const SIGNATURE_BYTES: usize = 64;
const ADDRESS_BYTES: usize = 20;

/// Verifies all signatures.
///
/// # Errors
/// The first failed check. The checks of each signature in turn are: its location, the ranges of
/// signature and recovery id, the locations of address and message, the recovered address. If the
/// instruction of the signature does not exist, the error is `InvalidInstructionDataSize`; a part
/// beyond the end of its instruction is `InvalidSignature`.
pub fn verify(data: &[u8], all: &[&[u8]]) -> Result<(), Error> {
    let (&count, rest) = data.split_first().ok_or(Error::InvalidInstructionDataSize)?;
    if count == 0 && !rest.is_empty() {
        return Err(Error::InvalidInstructionDataSize);
    }
    let (offsets, _) = rest.as_chunks();
    let offsets = offsets.get(..usize::from(count)).ok_or(Error::InvalidInstructionDataSize)?;
    offsets.iter().try_for_each(|offsets| verify_one(offsets, all))
}

fn verify_one(offsets: &[u8; OFFSETS_BYTES], all: &[&[u8]]) -> Result<(), Error> {
    let word = |at: usize| u16::from_le_bytes([offsets[at], offsets[at + 1]]);
    let part = |instruction: u8, offset, len| {
        let data = all.get(usize::from(instruction)).ok_or(Error::InvalidDataOffsets)?;
        slice(data, offset, len).ok_or(Error::InvalidSignature)
    };

    // The recovery id is the byte after the signature.
    let with_id = part(offsets[2], word(0), SIGNATURE_BYTES + 1);
    let with_id = with_id.map_err(|error| match error {
        Error::InvalidDataOffsets => Error::InvalidInstructionDataSize,
        error => error,
    })?;
    let (signature, id) = with_id.split_first_chunk().expect("`part` returns exactly 65 bytes");
    let signature = Signature::parse(signature).ok_or(Error::InvalidSignature)?;
    let id = RecoveryId::parse(id[0].into()).ok_or(Error::InvalidRecoveryId)?;
    let address = part(offsets[5], word(3), ADDRESS_BYTES)?;
    let message = part(offsets[10], word(6), word(8).into())?;

    let hash = Keccak256::digest(message).into();
    let key = recover_by(&signature, &hash, id).ok_or(Error::InvalidSignature)?;
    let is_of_address = Keccak256::digest(key).ends_with(address);
    if is_of_address { Ok(()) } else { Err(Error::InvalidSignature) }
}
