//! A cache of which addresses lie on the curve.

use selkie_crypto::curve25519::{self, Group};

/// How many addresses are cached.
const ENTRIES: usize = 256;

/// Remembers whether addresses lie on the Ed25519 curve. The check is slow, and a program that finds
/// a program derived address derives it again to sign for it, in this transaction and in the next.
#[derive(Clone, Default, Debug)]
pub(crate) struct OnCurveCache {
    /// Empty, or [`ENTRIES`] long. Unused entries hold some address with its own answer.
    entries: Vec<([u8; 32], bool)>,
}

impl OnCurveCache {
    /// Returns whether `address` lies on the curve, so that a private key for it may exist.
    pub(crate) fn is_on_curve(&mut self, address: &[u8; 32]) -> bool {
        let index = usize::from(address[0]) % ENTRIES;
        if let Some((cached, answer)) = self.entries.get(index)
            && cached == address
        {
            return *answer;
        }
        let answer = is_on_curve(address);
        if self.entries.is_empty() {
            self.entries.resize(ENTRIES, (*address, answer));
        }
        if let Some(entry) = self.entries.get_mut(index) {
            *entry = (*address, answer);
        }
        answer
    }
}

/// Returns whether `address` lies on the curve, without a cache.
pub(crate) fn is_on_curve(address: &[u8; 32]) -> bool {
    curve25519::is_valid(Group::Edwards, address)
}
