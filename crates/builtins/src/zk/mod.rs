//! The ZK ElGamal proof program: verifies proofs about encrypted amounts, and stores the proven
//! statements in context state accounts, which other programs read.
//!
//! Proofs are verified if this crate's feature `zk` is on. Otherwise they are refused with a log
//! line; context state accounts can be closed either way.

#[cfg(feature = "zk")]
mod proof;

use selkie_layout::zk_elgamal::{ContextState, ProofInstruction};
use selkie_svm::{Feature, InstructionError, InvokeContext};
use solana_sdk_ids::{system_program, zk_elgamal_proof_program};

use crate::checks::{is_signer, refuse};

const CLOSE_COMPUTE_UNITS: u64 = 3300;

/// An instruction that verifies a proof.
struct Proof {
    compute_units: u64,
    #[cfg(feature = "zk")]
    verifier: proof::Verifier,
}

/// Declares the table of proofs: compute units, layout. The instruction of the first row has
/// discriminant 1; the discriminant is also the proof type stored in context state accounts.
macro_rules! proofs {
    ($($compute_units:literal, $layout:ident;)*) => {
        const PROOFS: &[Proof] = &[$(Proof {
            compute_units: $compute_units,
            #[cfg(feature = "zk")]
            verifier: proof::Verifier::new::<
                solana_zk_elgamal_proof_interface::proof_data::$layout,
                _,
            >(),
        }),*];
    };
}

proofs! {
    6000, ZeroCiphertextProofData;
    8000, CiphertextCiphertextEqualityProofData;
    6400, CiphertextCommitmentEqualityProofData;
    2600, PubkeyValidityProofData;
    6500, PercentageWithCapProofData;
    111_000, BatchedRangeProofU64Data;
    200_000, BatchedRangeProofU128Data;
    368_000, BatchedRangeProofU256Data;
    6400, GroupedCiphertext2HandlesValidityProofData;
    13_000, BatchedGroupedCiphertext2HandlesValidityProofData;
    8100, GroupedCiphertext3HandlesValidityProofData;
    16_400, BatchedGroupedCiphertext3HandlesValidityProofData;
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
    let Some(index) = usize::from(number).checked_sub(1) else {
        context.consume(CLOSE_COMPUTE_UNITS)?;
        context.log("CloseContextState");
        return close(context);
    };
    let proof = PROOFS.get(index).ok_or(InstructionError::InvalidInstructionData)?;
    let row = ProofInstruction::ROWS.get(usize::from(number));
    let row = row.ok_or(InstructionError::InvalidInstructionData)?;
    context.consume(proof.compute_units)?;
    context.log(&*row.name);
    verify(context, number, proof)
}

#[cfg(not(feature = "zk"))]
fn verify(context: &mut InvokeContext<'_>, _: u8, _: &Proof) -> Result<(), InstructionError> {
    let why = "this build verifies no proofs: its feature `zk` is off";
    refuse(context, why, InstructionError::InvalidInstructionData)
}

/// Verifies a proof. It is the rest of the instruction data, or, if the rest is exactly four bytes,
/// lies at that offset in the data of the first account. If two more accounts follow, the statement
/// is written to the first of them, a context state account whose authority is the second.
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
        Err(why) => {
            return refuse(context, why.to_string(), InstructionError::InvalidInstructionData);
        }
    };
    let [account, authority] = if is_in_account { [1, 2] } else { [0, 1] };
    if context.instruction_account(authority).is_err() {
        return Ok(());
    }
    let state = [context.key(authority)?.as_ref(), &[proof_type], &statement].concat();
    write_state(context, account, &state)
}

/// Writes a context state account, which must be uninitialized and exactly as long as its state.
#[cfg(feature = "zk")]
fn write_state(
    context: &mut InvokeContext<'_>,
    index: usize,
    state: &[u8],
) -> Result<(), InstructionError> {
    let mut account = context.borrow(index)?;
    if !zk_elgamal_proof_program::check_id(account.owner()) {
        return Err(InstructionError::InvalidAccountOwner);
    }
    let header = ContextState::at_start_of(account.data());
    let header = header.ok_or(InstructionError::InvalidAccountData)?;
    if header.proof_type != UNINITIALIZED {
        return Err(InstructionError::AccountAlreadyInitialized);
    }
    if account.data().len() != state.len() {
        return Err(InstructionError::InvalidAccountData);
    }
    crate::wire::store(&mut account, state)
}

/// The proof type of an uninitialized context state account.
const UNINITIALIZED: u8 = 0;

/// Closes the context state account 0, whose authority is account 2, and transfers its lamports to
/// account 1.
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
    let header = ContextState::at_start_of(account.data());
    let header = header.ok_or(InstructionError::InvalidAccountData)?;
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
