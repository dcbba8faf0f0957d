//! Vote account data that the stakes of an epoch need.

use selkie_svm::Pubkey;

pub use super::state::VOTE_ACCOUNT_BYTES;
use super::state::VoteState;

/// The length in bytes of a compressed BLS public key.
pub const BLS_KEY_BYTES: usize = 48;

/// Returns the compressed BLS key in the data of a vote account; `None` if it has none or the data
/// are not those of a vote account. Only the newest version has a field for the key (SIMD-0185).
#[must_use]
pub fn bls_key(address: &Pubkey, data: &[u8]) -> Option<[u8; BLS_KEY_BYTES]> {
    if data.len() != VOTE_ACCOUNT_BYTES {
        return None;
    }
    let (_, state) = VoteState::read(address, data).ok()??;
    state.bls_key
}
