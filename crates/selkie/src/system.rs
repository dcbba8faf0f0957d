//! Instructions of the system program.
//!
//! Included so that tests need no further crate for them.

use selkie_layout::system::SystemInstruction;
pub use selkie_layout::system::{ID, create_account, transfer};
use solana_instruction::Instruction;
use solana_pubkey::Pubkey;

/// Size of a nonce account, in bytes.
pub const NONCE_BYTES: usize = selkie_svm::nonce::NONCE_BYTES;

/// Changes the owner of an account. The account signs.
#[must_use]
pub fn assign(account: &Pubkey, owner: &Pubkey) -> Instruction {
    SystemInstruction::Assign { owner: *owner }.instruction(&ID, &[*account])
}

/// Allocates `space` bytes of data in an account. The account signs.
#[must_use]
pub fn allocate(account: &Pubkey, space: u64) -> Instruction {
    SystemInstruction::Allocate { space }.instruction(&ID, &[*account])
}

/// Creates a nonce account. Both accounts sign; `authority` may advance the nonce.
#[must_use]
pub fn create_nonce_account(
    from: &Pubkey,
    nonce: &Pubkey,
    authority: &Pubkey,
    lamports: u64,
) -> Vec<Instruction> {
    let initialize = SystemInstruction::InitializeNonce { nonce_authority: *authority };
    vec![
        create_account(from, nonce, lamports, NONCE_BYTES as u64, &ID),
        initialize.instruction(&ID, &[*nonce]),
    ]
}

/// Advances a nonce: the first instruction of a transaction with a durable nonce.
#[must_use]
pub fn advance_nonce_account(nonce: &Pubkey, authority: &Pubkey) -> Instruction {
    SystemInstruction::AdvanceNonce {}.instruction(&ID, &[*nonce, *authority])
}
