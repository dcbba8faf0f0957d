//! Signatures of passkeys: ECDSA over secp256r1 of SHA-256 hashes (SIMD-0075).

use ark_ff::PrimeField;
use ark_secp256r1::{Config as Curve, Fr};
use sha2::{Digest, Sha256};

use super::{Datas, Error, Offsets};
use crate::ecdsa::{Signature, unpack_key};

/// The most signatures of an instruction.
const SIGNATURES_MAX: u8 = 8;

/// Verifies every signature, of which there must be one at least.
///
/// # Errors
/// For each signature in turn: where the signature, the key and the message are, that r and s are
/// in range, the key, and then the signature itself. Of the two values that s can have only the
/// smaller one is accepted.
pub fn verify(data: &[u8], all: &[&[u8]]) -> Result<(), Error> {
    let &[count @ 1..=SIGNATURES_MAX, _, ..] = data else {
        return Err(Error::InvalidInstructionDataSize);
    };
    let datas = Datas { this: data, all };
    for offsets in Offsets::read(data, count)? {
        let signature = datas.array(offsets.signature)?;
        let key = datas.array(offsets.public_key)?;
        let message = datas.slice(offsets.message, offsets.message_len.into())?;
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
