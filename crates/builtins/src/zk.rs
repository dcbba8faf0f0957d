//! The ZK ElGamal proof program: accounts that say that a proof was verified.
//!
//! Proofs are not verified here, so that none succeeds: what is checked before is checked, and
//! then a line of the log says so. Accounts of proofs that a cluster has verified can be closed.

use selkie_svm::{Feature, InstructionError, InvokeContext};
use solana_sdk_ids::{system_program, zk_elgamal_proof_program};

use crate::{
    checks::{is_signer, refuse},
    wire::Reader,
};

/// An instruction that verifies a proof: its name in the log, what it costs, and how many bytes
/// proof and statement have.
struct Proof(&'static str, u64, usize);

const CLOSE_UNITS: u64 = 3300;

/// Each at its number, from 1.
const PROOFS: [Proof; 12] = [
    Proof("VerifyZeroCiphertext", 6000, 192),
    Proof("VerifyCiphertextCiphertextEquality", 8000, 416),
    Proof("VerifyCiphertextCommitmentEquality", 6400, 320),
    Proof("VerifyPubkeyValidity", 2600, 96),
    Proof("VerifyPercentageWithCap", 6500, 360),
    Proof("VerifyBatchedRangeProofU64", 111_000, 936),
    Proof("VerifyBatchedRangeProofU128", 200_000, 1000),
    Proof("VerifyBatchedRangeProofU256", 368_000, 1064),
    Proof("VerifyGroupedCiphertext2HandlesValidity", 6400, 320),
    Proof("VerifyBatchedGroupedCiphertext2HandlesValidity", 13_000, 416),
    Proof("VerifyGroupedCiphertext3HandlesValidity", 8100, 416),
    Proof("VerifyBatchedGroupedCiphertext3HandlesValidity", 16_400, 544),
];

pub(crate) fn process(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
    if context.has(Feature::DisableZkElgamalProofProgram)
        && !context.has(Feature::ReenableZkElgamalProofProgram)
    {
        let why = "zk-elgamal-proof program is temporarily disabled";
        return refuse(context, why, InstructionError::InvalidInstructionData);
    }
    let tag = context.instruction().data.first().copied();
    let tag = tag.map(usize::from).ok_or(InstructionError::InvalidInstructionData)?;
    let Some(number) = tag.checked_sub(1) else {
        context.consume(CLOSE_UNITS)?;
        context.log("CloseContextState");
        return close(context);
    };
    let Proof(name, units, len) =
        PROOFS.get(number).ok_or(InstructionError::InvalidInstructionData)?;
    context.consume(*units)?;
    context.log(*name);
    verify(context, *len)
}

/// A proof is in the instruction, or at an offset of account 0 that the instruction tells.
fn verify(context: &mut InvokeContext<'_>, len: usize) -> Result<(), InstructionError> {
    let data = context.instruction().data.clone();
    let proof = data.get(1..).unwrap_or_default();
    if let Ok(offset) = <[u8; 4]>::try_from(proof) {
        let start = usize::try_from(u32::from_le_bytes(offset)).unwrap_or(usize::MAX);
        let account = context.borrow(0)?;
        let proof = account.data().get(start..).and_then(|data| data.get(..len));
        proof.ok_or(InstructionError::InvalidAccountData)?;
    } else if proof.len() != len {
        return refuse(context, "invalid proof data", InstructionError::InvalidInstructionData);
    }
    let why = "verifying proofs is not supported";
    refuse(context, why, InstructionError::InvalidInstructionData)
}

/// Account 0 says that a proof was verified: who may close it, which proof, what it proved.
fn close(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
    if !is_signer(context, 2)? {
        return Err(InstructionError::MissingRequiredSignature);
    }
    let authority = context.key(2)?;
    if context.key(0)? == context.key(1)? {
        return Err(InstructionError::InvalidInstructionData);
    }
    let account = context.borrow(0)?;
    if !zk_elgamal_proof_program::check_id(account.owner()) {
        return Err(InstructionError::InvalidAccountOwner);
    }
    let mut header = Reader::new(account.data());
    let expected = header.pubkey().and_then(|key| Ok((key, header.u8()?)));
    let (expected, proof) = expected.map_err(|_| InstructionError::InvalidAccountData)?;
    if proof == 0 {
        return Err(InstructionError::UninitializedAccount);
    }
    if authority != expected {
        return Err(InstructionError::InvalidAccountOwner);
    }
    let lamports = account.lamports();
    context.borrow(1)?.add_lamports(lamports)?;
    let mut account = context.borrow(0)?;
    account.set_lamports(0)?;
    account.set_data_len(0)?;
    account.set_owner(system_program::ID)
}
