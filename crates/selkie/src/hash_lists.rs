//! The data of the sysvars that list hashes: slot hashes and recent blockhashes.

use selkie_bank::sysvars::{recent_blockhashes, slot_hashes_after};
use selkie_svm::BlockhashQueue;
use sha2::{Digest, Sha256};
use solana_hash::Hash;

/// How many slots the slot hashes sysvar lists.
const SLOTS_LISTED: u64 = 512;

/// Returns the bank hash of a slot, as the slot hashes sysvar lists it; it is not the blockhash.
fn slot_hash(slot: u64) -> Hash {
    let hasher = Sha256::new().chain_update("selkie slot").chain_update(slot.to_le_bytes());
    Hash::new_from_array(hasher.finalize().into())
}

/// Returns the data of the slot hashes sysvar in `slot`, given those in slot `from`, assuming that
/// no slot in between was skipped.
pub(crate) fn slot_hash_list(before: &[u8], from: u64, slot: u64) -> Vec<u8> {
    let first = from.max(slot.saturating_sub(SLOTS_LISTED));
    slot_hashes_after(before, (first..slot).rev().map(|slot| (slot, slot_hash(slot))))
}

/// Returns the data of the recent blockhashes sysvar.
pub(crate) fn blockhash_list(
    blockhash_queue: &BlockhashQueue,
    lamports_per_signature: u64,
) -> Vec<u8> {
    recent_blockhashes(blockhash_queue.blockhashes().rev(), lamports_per_signature)
}
