//! Vote accounts, as the stakes of an epoch need them.

use selkie_svm::Pubkey;

pub use super::state::VOTE_ACCOUNT_BYTES;
use super::state::VoteState;

/// The size of a compressed BLS public key.
pub const BLS_KEY_BYTES: usize = 48;

/// This function returns the BLS key of a vote account with this data, or nothing if the account
/// has none or is no vote account. Only the newest version of vote accounts has room for a key
/// (SIMD-0185).
#[must_use]
pub fn bls_key(address: &Pubkey, data: &[u8]) -> Option<[u8; BLS_KEY_BYTES]> {
    if data.len() != VOTE_ACCOUNT_BYTES {
        return None;
    }
    let (_, state) = VoteState::read(address, data).ok()??;
    state.bls_key
}
