//! Public key recovery from ECDSA signatures over secp256k1.

use core::fmt;

use crate::ecdsa::{Signature, coordinates};

pub(crate) type Curve = ark_secp256k1::Config;

/// The error of [`recover`]. Its discriminant is the syscall's return value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecoverError {
    /// The recovery id is not in `0..=3`.
    InvalidRecoveryId = 2,
    /// The signature is not one of any key.
    InvalidSignature = 3,
}

impl fmt::Display for RecoverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidRecoveryId => "the recovery id is not valid",
            Self::InvalidSignature => "the signature is not valid",
        })
    }
}

impl core::error::Error for RecoverError {}

/// Recovers the public key that signed `hash`: its coordinates x and y, big-endian.
///
/// Both values of s are accepted, the high one too (agave: `solana-syscalls`,
/// `SyscallSecp256k1Recover`, which follows libsecp256k1).
///
/// # Errors
/// If the recovery id or the signature is invalid; the recovery id is checked first.
pub fn recover(
    hash: &[u8; 32],
    recovery_id: u64,
    signature: &[u8; 64],
) -> Result<[u8; 64], RecoverError> {
    let id = RecoveryId::parse(recovery_id).ok_or(RecoverError::InvalidRecoveryId)?;
    let signature = Signature::parse(signature).ok_or(RecoverError::InvalidSignature)?;
    recover_by(&signature, hash, id).ok_or(RecoverError::InvalidSignature)
}

/// The recovery id: what a signature omits of its point R.
#[derive(Clone, Copy)]
pub(crate) struct RecoveryId {
    is_odd: bool,
    is_reduced: bool,
}

impl RecoveryId {
    pub(crate) fn parse(id: u64) -> Option<Self> {
        (id < 4).then_some(Self { is_odd: id & 1 == 1, is_reduced: id & 2 == 2 })
    }
}

pub(crate) fn recover_by(
    signature: &Signature<Curve>,
    hash: &[u8; 32],
    id: RecoveryId,
) -> Option<[u8; 64]> {
    if signature.has_zero() {
        return None;
    }
    Some(coordinates(&signature.recover(hash, id.is_odd, id.is_reduced)?))
}
