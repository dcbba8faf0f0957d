//! Decoding and verification of proofs, by the same crate as in agave 4.3.

use core::fmt;

use bytemuck::Pod;
use solana_zk_elgamal_proof_interface::proof_data::ZkProofData;
use solana_zk_sdk::zk_elgamal_proof_program::{VerifyZkProof, errors::ProofVerificationError};

/// Why a proof is refused; the text is agave's line of the log.
#[derive(Debug)]
pub(super) enum ProofError {
    /// The bytes are none of the layout.
    Data,
    /// The proof does not hold.
    Proof(ProofVerificationError),
}

impl fmt::Display for ProofError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data => f.write_str("invalid proof data"),
            Self::Proof(error) => write!(f, "proof verification failed: {error:?}"),
        }
    }
}

/// The verifier of one type of proof.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verifier {
    /// The length in bytes of statement and proof together.
    pub(super) len: usize,
    /// Verifies the proof and returns the bytes of the statement.
    pub(super) statement: fn(&[u8]) -> Result<Vec<u8>, ProofError>,
}

impl Verifier {
    /// Returns the verifier of proofs with layout `T`, whose statement has layout `U`.
    pub(super) const fn new<T, U>() -> Self
    where
        T: Pod + ZkProofData<U> + VerifyZkProof,
        U: Pod,
    {
        Self { len: size_of::<T>(), statement: statement::<T, U> }
    }
}

fn statement<T, U>(bytes: &[u8]) -> Result<Vec<u8>, ProofError>
where
    T: Pod + ZkProofData<U> + VerifyZkProof,
    U: Pod,
{
    let proof: &T = bytemuck::try_from_bytes(bytes).map_err(|_| ProofError::Data)?;
    proof.verify_proof().map_err(ProofError::Proof)?;
    Ok(bytemuck::bytes_of(proof.context_data()).to_vec())
}
