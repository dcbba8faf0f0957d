//! Decoding and verification of proofs, by the same crate as in agave 4.3.

use bytemuck::Pod;
use solana_zk_elgamal_proof_interface::proof_data::ZkProofData;
use solana_zk_sdk::zk_elgamal_proof_program::VerifyZkProof;

/// The verifier of one type of proof.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verifier {
    /// The length in bytes of statement and proof together.
    pub(super) len: usize,
    /// Verifies the proof and returns the bytes of the statement, or the log line of the failure.
    pub(super) statement: fn(&[u8]) -> Result<Vec<u8>, String>,
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

fn statement<T, U>(bytes: &[u8]) -> Result<Vec<u8>, String>
where
    T: Pod + ZkProofData<U> + VerifyZkProof,
    U: Pod,
{
    let proof: &T = bytemuck::try_from_bytes(bytes).map_err(|_| "invalid proof data".to_owned())?;
    proof.verify_proof().map_err(|error| format!("proof verification failed: {error:?}"))?;
    Ok(bytemuck::bytes_of(proof.context_data()).to_vec())
}
