//! The ZK ElGamal proof program, and the accounts in which it keeps what was proven (agave:
//! `solana-zk-elgamal-proof-interface`).

use solana_pubkey::Pubkey;
use solana_sdk_ids::zk_elgamal_proof_program;

use crate::{
    declare::{instructions, layout},
    role::{Role, r, w},
    wire::RestBytes,
};

/// The address of the program.
pub const ID: Pubkey = zk_elgamal_proof_program::ID;

/// The accounts of an instruction that verifies a proof. The account of the proof comes first if the data are
/// its offset there, and is left out if the data are the proof; the two accounts of the context state may be
/// left out.
const FIRST: Role = w("proof_or_context_state").optional();
const SECOND: Role = w("context_state_or_authority").optional();
const THIRD: Role = r("context_state_authority").optional();

instructions! {
    /// An instruction of the program. The number of one that verifies a proof is also the proof's type in
    /// accounts.
    for<'a> ProofInstruction<'a>, u8 {
        0 => CloseContextState [w("context_state"), w("destination"), s("authority")] {}
        1 => VerifyZeroCiphertext [FIRST, SECOND, THIRD] { proof: RestBytes<'a> }
        2 => VerifyCiphertextCiphertextEquality [FIRST, SECOND, THIRD] { proof: RestBytes<'a> }
        3 => VerifyCiphertextCommitmentEquality [FIRST, SECOND, THIRD] { proof: RestBytes<'a> }
        4 => VerifyPubkeyValidity [FIRST, SECOND, THIRD] { proof: RestBytes<'a> }
        5 => VerifyPercentageWithCap [FIRST, SECOND, THIRD] { proof: RestBytes<'a> }
        6 => VerifyBatchedRangeProofU64 [FIRST, SECOND, THIRD] { proof: RestBytes<'a> }
        7 => VerifyBatchedRangeProofU128 [FIRST, SECOND, THIRD] { proof: RestBytes<'a> }
        8 => VerifyBatchedRangeProofU256 [FIRST, SECOND, THIRD] { proof: RestBytes<'a> }
        9 => VerifyGroupedCiphertext2HandlesValidity [FIRST, SECOND, THIRD] { proof: RestBytes<'a> }
        10 => VerifyBatchedGroupedCiphertext2HandlesValidity [FIRST, SECOND, THIRD] { proof: RestBytes<'a> }
        11 => VerifyGroupedCiphertext3HandlesValidity [FIRST, SECOND, THIRD] { proof: RestBytes<'a> }
        12 => VerifyBatchedGroupedCiphertext3HandlesValidity [FIRST, SECOND, THIRD] { proof: RestBytes<'a> }
    }
}

layout! {
    /// What precedes the statement in an account of the context of a proof.
    ContextState, ContextStateAt, CONTEXT_STATE {
        /// The key that may close the account.
        authority: Pubkey,
        /// The number of the instruction that verified the proof; 0 for an account without one.
        proof_type: u8,
    }
}
