//! Signatures of Ethereum: ECDSA over secp256k1 of Keccak-256 hashes, with addresses for keys.

use sha3::{Digest, Keccak256};

use super::{Error, slice};
use crate::{
    ecdsa::Signature,
    secp256k1::{RecoveryId, recover_by},
};

/// Offsets have a byte for the instruction, with no value for the one that they are in.
const OFFSETS_BYTES: usize = 11;
const SIGNATURE_BYTES: usize = 64;
const ADDRESS_BYTES: usize = 20;

/// Verifies every signature.
///
/// # Errors
/// For each signature in turn: where it is, that it and the recovery id are in range, where the
/// address and the message are, and then whether it is of that address. A signature in no
/// instruction is an error of the size; a part that lies beyond its instruction is an invalid
/// signature.
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
    let signed = part(offsets[2], word(0), SIGNATURE_BYTES + 1);
    let signed = signed.map_err(|error| match error {
        Error::InvalidDataOffsets => Error::InvalidInstructionDataSize,
        error => error,
    })?;
    let (signature, id) = signed.split_first_chunk().expect("a signature was asked for");
    let signature = Signature::parse(signature).ok_or(Error::InvalidSignature)?;
    let id = RecoveryId::parse(id[0].into()).ok_or(Error::InvalidRecoveryId)?;
    let address = part(offsets[5], word(3), ADDRESS_BYTES)?;
    let message = part(offsets[10], word(6), word(8).into())?;

    let hash = Keccak256::digest(message).into();
    let key = recover_by(&signature, &hash, id).ok_or(Error::InvalidSignature)?;
    let is_of_address = Keccak256::digest(key).ends_with(address);
    if is_of_address { Ok(()) } else { Err(Error::InvalidSignature) }
}
