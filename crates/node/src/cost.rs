//! The cost of a transaction in a block's limits (agave: `cost-model/src/cost_model.rs`,
//! `block_cost_limits.rs`).

use selkie_svm::Processed;
use solana_message::VersionedMessage;
use solana_pubkey::Pubkey;
use solana_sdk_ids::{ed25519_program, secp256k1_program, secp256r1_program};

/// The cost of a signature, and of each kind that a precompile verifies.
const SIGNATURE: u64 = 720;
const PRECOMPILE_SIGNATURES: [(Pubkey, u64); 3] =
    [(secp256k1_program::ID, 6690), (ed25519_program::ID, 2400), (secp256r1_program::ID, 4800)];
/// The cost of a lock on a writable account.
const WRITE_LOCK: u64 = 300;
/// How many bytes of instruction data cost one compute unit.
const DATA_BYTES_PER_UNIT: u64 = 4;
/// The size of a page of loaded account data, in bytes, and its cost.
const PAGE_BYTES: u64 = 32 * 1024;
const PAGE: u64 = 8;

/// Returns the cost of a processed message, in compute units.
pub(crate) fn of(message: &VersionedMessage, processed: &Processed) -> u64 {
    let locks = processed.accounts.iter().filter(|account| account.is_writable).count();
    sum(message, processed.compute_units, processed.loaded_bytes, locks)
}

/// Returns the cost of a message that uses so many compute units, loads so many bytes, and writes to so many
/// accounts.
pub(crate) fn sum(message: &VersionedMessage, units: u64, loaded: u32, locks: usize) -> u64 {
    let instructions = message.instructions();
    let keys = message.static_account_keys();
    let verified = instructions.iter().map(|instruction| {
        let program = keys.get(usize::from(instruction.program_id_index));
        let cost = PRECOMPILE_SIGNATURES.iter().find(|(id, _)| Some(id) == program);
        let count = instruction.data.first().copied().map_or(0, u64::from);
        cost.map_or(0, |(_, cost)| cost.saturating_mul(count))
    });
    let signatures = u64::from(message.header().num_required_signatures).saturating_mul(SIGNATURE);
    let data: u64 = instructions.iter().map(|instruction| instruction.data.len() as u64).sum();
    let pages = u64::from(loaded).div_ceil(PAGE_BYTES);
    let parts = [
        signatures,
        verified.sum(),
        (locks as u64).saturating_mul(WRITE_LOCK),
        data / DATA_BYTES_PER_UNIT,
        units,
        pages.saturating_mul(PAGE),
    ];
    parts.into_iter().fold(0, u64::saturating_add)
}
