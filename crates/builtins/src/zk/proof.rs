//! Proofs as bytes, verified by the crate that agave 4.3 verifies them with.

use bytemuck::Pod;
use solana_zk_elgamal_proof_interface::proof_data::ZkProofData;
use solana_zk_sdk::zk_elgamal_proof_program::VerifyZkProof;

/// How proofs of one kind are verified.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verifier {
    /// The bytes of statement and proof.
    pub(super) len: usize,
    /// Verifies the proof and returns the bytes of the statement; otherwise the line of the log.
    pub(super) statement: fn(&[u8]) -> Result<Vec<u8>, String>,
}

impl Verifier {
    /// The verifier of proofs that are laid out as `T`, with a statement that is laid out as `U`.
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
