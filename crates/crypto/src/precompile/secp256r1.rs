//! The secp256r1 precompile: ECDSA signatures of SHA-256 hashes, as passkeys make them (SIMD-0075).

use ark_ff::PrimeField;
use ark_secp256r1::{Config as Curve, Fr};
use sha2::{Digest, Sha256};

use super::{Error, InstructionData, Offsets};
use crate::ecdsa::{Signature, unpack_key};

/// The maximum number of signatures per instruction.
const SIGNATURES_MAX: u8 = 8;

/// Verifies all signatures, at least one. Of the two valid values of s, only the lower is accepted.
///
/// # Errors
/// The first failed check. The checks of each signature in turn are: locations of signature, key
/// and message, ranges of r and s, validity of the key, the signature itself.
pub fn verify(data: &[u8], all: &[&[u8]]) -> Result<(), Error> {
    let &[count @ 1..=SIGNATURES_MAX, _, ..] = data else {
        return Err(Error::InvalidInstructionDataSize);
    };
    let instructions = InstructionData { this: data, all };
    for offsets in Offsets::read(data, count)? {
        let signature = instructions.array(offsets.signature)?;
        let key = instructions.array(offsets.public_key)?;
        let message = instructions.slice(offsets.message, offsets.message_len.into())?;
        let signature = Signature::<Curve>::parse(signature).filter(is_in_range);
        let signature = signature.ok_or(Error::InvalidSignature)?;
        let key = unpack_key(key).ok_or(Error::InvalidPublicKey)?;
        if !signature.verify(&Sha256::digest(message).into(), &key) {
            return Err(Error::InvalidSignature);
        }
    }
    Ok(())
}

fn is_in_range(signature: &Signature<Curve>) -> bool {
    !signature.has_zero() && signature.s.into_bigint() <= Fr::MODULUS_MINUS_ONE_DIV_TWO
}
