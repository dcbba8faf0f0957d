//! The ZK ElGamal proof program: verifies proofs about encrypted amounts, and keeps what they
//! proved in accounts that other programs read (context state accounts).
//!
//! Proofs are verified with the feature `zk` of this crate. Without it they are refused, and a line
//! of the log says so; context state accounts can be closed either way.

#[cfg(feature = "zk")]
mod proof;

use selkie_svm::{Feature, InstructionError, InvokeContext};
use solana_sdk_ids::{system_program, zk_elgamal_proof_program};

use crate::{
    checks::{is_signer, refuse},
    wire::{Malformed, Reader},
};

const CLOSE_COMPUTE_UNITS: u64 = 3300;

/// An instruction that verifies a proof.
struct Proof {
    /// The name of the instruction in the log.
    name: &'static str,
    /// Its compute units.
    units: u64,
    #[cfg(feature = "zk")]
    verifier: proof::Verifier,
}

/// The table of proofs: name, compute units, layout. The first row's instruction is number 1; the
/// number is also the type that context state accounts have.
macro_rules! proofs {
    ($($name:literal, $units:literal, $layout:ident;)*) => {
        const PROOFS: &[Proof] = &[$(Proof {
            name: $name,
            units: $units,
            #[cfg(feature = "zk")]
            verifier: proof::Verifier::new::<
                solana_zk_elgamal_proof_interface::proof_data::$layout,
                _,
            >(),
        }),*];
    };
}

proofs! {
    "VerifyZeroCiphertext", 6000, ZeroCiphertextProofData;
    "VerifyCiphertextCiphertextEquality", 8000, CiphertextCiphertextEqualityProofData;
    "VerifyCiphertextCommitmentEquality", 6400, CiphertextCommitmentEqualityProofData;
    "VerifyPubkeyValidity", 2600, PubkeyValidityProofData;
    "VerifyPercentageWithCap", 6500, PercentageWithCapProofData;
    "VerifyBatchedRangeProofU64", 111_000, BatchedRangeProofU64Data;
    "VerifyBatchedRangeProofU128", 200_000, BatchedRangeProofU128Data;
    "VerifyBatchedRangeProofU256", 368_000, BatchedRangeProofU256Data;
    "VerifyGroupedCiphertext2HandlesValidity", 6400, GroupedCiphertext2HandlesValidityProofData;
    "VerifyBatchedGroupedCiphertext2HandlesValidity", 13_000,
        BatchedGroupedCiphertext2HandlesValidityProofData;
    "VerifyGroupedCiphertext3HandlesValidity", 8100, GroupedCiphertext3HandlesValidityProofData;
    "VerifyBatchedGroupedCiphertext3HandlesValidity", 16_400,
        BatchedGroupedCiphertext3HandlesValidityProofData;
}

pub(crate) fn process(context: &mut InvokeContext<'_>) -> Result<(), InstructionError> {
    if context.has(Feature::DisableZkElgamalProofProgram)
        && !context.has(Feature::ReenableZkElgamalProofProgram)
    {
        let why = "zk-elgamal-proof program is temporarily disabled";
        return refuse(context, why, InstructionError::InvalidInstructionData);
    }
    let number = context.instruction().data.first().copied();
    let number = number.ok_or(InstructionError::InvalidInstructionData)?;
    let Some(place) = usize::from(number).checked_sub(1) else {
        context.consume(CLOSE_COMPUTE_UNITS)?;
        context.log("CloseContextState");
        return close(context);
    };
    let proof = PROOFS.get(place).ok_or(InstructionError::InvalidInstructionData)?;
    context.consume(proof.units)?;
    context.log(proof.name);
    verify(context, number, proof)
}

#[cfg(not(feature = "zk"))]
fn verify(context: &mut InvokeContext<'_>, _: u8, _: &Proof) -> Result<(), InstructionError> {
    let why = "this build verifies no proofs: its feature `zk` is off";
    refuse(context, why, InstructionError::InvalidInstructionData)
}

/// Verifies a proof. It is the rest of the instruction, or, where the rest is an offset of four
/// bytes, in the data of the first account. If two more accounts are named, the statement is
/// written to the first of them, which the second may close.
#[cfg(feature = "zk")]
fn verify(
    context: &mut InvokeContext<'_>,
    proof_type: u8,
    proof: &Proof,
) -> Result<(), InstructionError> {
    let verifier = proof.verifier;
    let data = context.instruction().data.clone();
    let data = data.get(1..).unwrap_or_default();
    let (statement, is_in_account) = if let Ok(offset) = <[u8; 4]>::try_from(data) {
        let start = usize::try_from(u32::from_le_bytes(offset)).unwrap_or(usize::MAX);
        let account = context.borrow(0)?;
        let proof = account.data().get(start..).and_then(|data| data.get(..verifier.len));
        ((verifier.statement)(proof.ok_or(InstructionError::InvalidAccountData)?), true)
    } else {
        ((verifier.statement)(data), false)
    };
    let statement = match statement {
        Ok(statement) => statement,
        Err(why) => return refuse(context, why, InstructionError::InvalidInstructionData),
    };
    let [account, authority] = if is_in_account { [1, 2] } else { [0, 1] };
    if context.instruction_account(authority).is_err() {
        return Ok(());
    }
    let state = [context.key(authority)?.as_ref(), &[proof_type], &statement].concat();
    write_state(context, account, &state)
}

/// Writes a context state account that is as long as its state and that nothing was written to.
#[cfg(feature = "zk")]
fn write_state(
    context: &mut InvokeContext<'_>,
    place: usize,
    state: &[u8],
) -> Result<(), InstructionError> {
    let mut account = context.borrow(place)?;
    if !zk_elgamal_proof_program::check_id(account.owner()) {
        return Err(InstructionError::InvalidAccountOwner);
    }
    let header = Header::read(account.data()).map_err(|_| InstructionError::InvalidAccountData)?;
    if header.proof_type != UNINITIALIZED {
        return Err(InstructionError::AccountAlreadyInitialized);
    }
    if account.data().len() != state.len() {
        return Err(InstructionError::InvalidAccountData);
    }
    crate::wire::store(&mut account, state)
}

/// The type of a context state account that nothing was written to.
const UNINITIALIZED: u8 = 0;

/// What every context state account begins with; the statement follows.
struct Header {
    /// Who may close the account.
    authority: selkie_svm::Pubkey,
    proof_type: u8,
}

impl Header {
    fn read(data: &[u8]) -> Result<Self, Malformed> {
        let mut it = Reader::new(data);
        Ok(Self { authority: it.pubkey()?, proof_type: it.u8()? })
    }
}

/// Closes a context state account: account 0, whose lamports account 1 gets and whose authority is
/// account 2.
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
    let header = Header::read(account.data()).map_err(|_| InstructionError::InvalidAccountData)?;
    if header.proof_type == UNINITIALIZED {
        return Err(InstructionError::UninitializedAccount);
    }
    if authority != header.authority {
        return Err(InstructionError::InvalidAccountOwner);
    }
    let lamports = account.lamports();
    context.borrow(1)?.add_lamports(lamports)?;
    let mut account = context.borrow(0)?;
    account.set_lamports(0)?;
    account.set_data_len(0)?;
    account.set_owner(system_program::ID)
}
