//! Alpenglow: when a chain has migrated to it, and the clock that follows the footers of blocks
//! (agave 4.3 to 4.5: `runtime/src/bank.rs`, `block_component_processor.rs`; SIMD-0326, SIMD-0363).
//!
//! A chain has migrated once the account [`CERTIFICATE`] has data; the feature gate alone changes
//! nothing. The runtime writes the accounts of this module outside of transactions; programs read
//! them like all others.
//!
//! In a block's transactions, the clock shows the second at which the block's parent ended. The
//! footer, which follows the transactions, moves it to the end of the block; the account [`CLOCK`]
//! holds the same time in nanoseconds.

use core::ops::RangeInclusive;

use std::collections::BTreeSet;

pub use selkie_layout::alpenglow::GenesisCertificate;
use selkie_layout::alpenglow::{CERTIFICATE_SLOT, CLOCK_NANOSECONDS};
use selkie_svm::{
    Account, AccountSharedData, AccountStore, Pubkey, ReadableAccount,
    sysvars::{Clock, Rent, minimum_balance},
};
use sha2::{Digest, Sha256};
use solana_hash::Hash;
use solana_sdk_ids::{feature, system_program};

/// The feature gate (SIMD-0326).
pub const GATE: Pubkey = Pubkey::from_str_const("A1pengvuM6JEcyNuTnMqepBKhwHE3N6PmUrdATGawhJS");

/// The account *alpenclock*: the time at which the newest block ended, an `i64` of nanoseconds since
/// the Unix epoch. Derived from the gate and "alpenclock".
pub const CLOCK: Pubkey = Pubkey::from_str_const("GaGQ2vyb3xuUwjKiq9tQQWoqhzWYh7LbiLXvqG2sUzzG");

/// The account of the genesis certificate, with which the validators confirmed the last block before
/// Alpenglow: a [`GenesisCertificate`]. Derived from the gate and "carlgration".
pub const CERTIFICATE: Pubkey =
    Pubkey::from_str_const("42Ym56TQ7AKFThRv5nyoSABq5ZPgE2TLKo8BALZEtoU1");

/// After how many slots since the gate's activation a cluster migrates (agave: `migration.rs`).
pub const MIGRATION_SLOTS: u64 = 5000;

/// A list of no signers (agave: `encode_base2` of no bits).
const EMPTY_SIGNERS: [u8; 3] = [0, 0, 0];

/// The nanoseconds of a second.
pub(crate) const NANOSECONDS: i64 = 1_000_000_000;

/// Returns the slot since which the feature gate at `address` is active; `None` if it is not.
pub(crate) fn active_since(accounts: &impl AccountStore, address: &Pubkey) -> Option<u64> {
    let account = accounts.account(address).filter(|account| *account.owner() == feature::ID)?;
    let [1, slot @ ..] = account.data() else { return None };
    slot.first_chunk().map(|slot| u64::from_le_bytes(*slot))
}

/// Returns the last slot before Alpenglow: that of the genesis certificate.
pub fn genesis_slot(accounts: &impl AccountStore) -> Option<u64> {
    CERTIFICATE_SLOT.get(accounts.account(&CERTIFICATE)?.data())
}

/// Returns the certificate of a chain that has migrated.
pub fn genesis_certificate(accounts: &impl AccountStore) -> Option<GenesisCertificate> {
    GenesisCertificate::at_start_of(accounts.account(&CERTIFICATE)?.data())
}

/// Returns the account of a genesis certificate for a block. Its signature is zero and no validator
/// signed, as that of a test cluster.
#[must_use]
pub fn certificate(slot: u64, block: &Hash) -> AccountSharedData {
    let (block_id, signers) = (block.to_bytes(), EMPTY_SIGNERS.to_vec());
    account(GenesisCertificate { slot, block_id, signature: [0; 192], signers }.bytes())
}

/// Returns the account *alpenclock* that shows a time, in nanoseconds since the Unix epoch.
#[must_use]
pub fn clock_account(nanoseconds: i64) -> AccountSharedData {
    account(nanoseconds.to_le_bytes().to_vec())
}

/// Creates an account of the runtime. Its lamports are those of agave's default rent, whatever that of
/// the cluster is.
fn account(data: Vec<u8>) -> AccountSharedData {
    let lamports = minimum_balance(&Rent::default(), data.len());
    Account { lamports, data, owner: system_program::ID, ..Account::default() }.into()
}

/// Returns the time that *alpenclock* shows, in nanoseconds.
pub fn nanoseconds(accounts: &impl AccountStore) -> Option<i64> {
    CLOCK_NANOSECONDS.get(accounts.account(&CLOCK)?.data())
}

/// Returns the time of a clock in nanoseconds: that of *alpenclock*, unless the clock was set since,
/// which keeps the part of a second. `None` if it has no such time.
pub(crate) fn time_of(accounts: &impl AccountStore, clock: &Clock) -> Option<i64> {
    let exact = nanoseconds(accounts).unwrap_or(0);
    if exact.div_euclid(NANOSECONDS) == clock.unix_timestamp {
        return Some(exact);
    }
    let second = clock.unix_timestamp.checked_mul(NANOSECONDS)?;
    second.checked_add(exact.rem_euclid(NANOSECONDS))
}

/// Returns the second of a time in nanoseconds (agave divides, which differs before 1970 only).
pub(crate) fn second(nanoseconds: i64) -> i64 {
    nanoseconds.div_euclid(NANOSECONDS)
}

/// What the footer of a block says. By default the time follows from the slot, and no certificate is there.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Footer {
    /// When the block ended, in nanoseconds since the Unix epoch: the nearest time within
    /// [`time_bounds`] counts.
    pub nanoseconds: Option<i64>,
    /// The vote account of the block's leader. It receives half of what others earn, and says who receives
    /// the block's fees, also before Alpenglow (SIMD-0232, SIMD-0123). One without stake says nothing.
    pub leader: Pubkey,
    /// Who voted for a slot, by the certificates of rewards.
    pub rewarded: Option<Certified>,
    /// Who voted for a slot that was finalized.
    pub finalized: Option<Certified>,
}

/// A slot, and the vote accounts that voted for it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Certified {
    /// The slot.
    pub slot: u64,
    /// The vote accounts.
    pub voters: BTreeSet<Pubkey>,
}

/// Returns the times that the footer of a block may have, in nanoseconds: later than its parent's, by at
/// most twice the time of the slots since then (SIMD-0363; agave: `nanosecond_time_bounds`).
///
/// ```
/// use selkie_bank::alpenglow::time_bounds;
///
/// assert_eq!(time_bounds(1_000, 200_000_000), 1_001..=400_001_000);
/// ```
#[must_use]
pub fn time_bounds(parent: i64, elapsed: u128) -> RangeInclusive<i64> {
    let most = i64::try_from(elapsed.saturating_mul(2)).unwrap_or(i64::MAX);
    parent.saturating_add(1)..=parent.saturating_add(most)
}

/// Adds a duration, in nanoseconds.
pub(crate) fn after(time: i64, nanoseconds: u128) -> i64 {
    time.saturating_add(i64::try_from(nanoseconds).unwrap_or(i64::MAX))
}

/// Returns the hash of a block's last entry: an entry with its transactions, if it has any, then the one
/// tick (agave: `entry/src/entry.rs`, `next_hash`).
#[must_use]
pub fn blockhash(parent: &Hash, signatures: &[[u8; 64]]) -> Hash {
    let mut hash = *parent;
    if let Some(root) = merkle_root(signatures) {
        hash = sha256(&[hash.as_ref(), &root]);
    }
    sha256(&[hash.as_ref()])
}

/// Returns the root of the Merkle tree of signatures (agave: `merkle-tree/src/merkle_tree.rs`).
fn merkle_root(signatures: &[[u8; 64]]) -> Option<[u8; 32]> {
    const LEAF: &[u8] = &[0];
    const NODE: &[u8] = &[1];
    let leaf = |signature: &[u8; 64]| sha256(&[LEAF, signature]).to_bytes();
    let mut level: Vec<[u8; 32]> = signatures.iter().map(leaf).collect();
    while level.len() > 1 {
        // The last of an odd number is paired with itself.
        let node = |pair: &[[u8; 32]]| match pair {
            [left, right] => sha256(&[NODE, left, right]).to_bytes(),
            _ => sha256(&[NODE, &pair.concat(), &pair.concat()]).to_bytes(),
        };
        level = level.chunks(2).map(node).collect();
    }
    level.first().copied()
}

fn sha256(parts: &[&[u8]]) -> Hash {
    let hasher = parts.iter().fold(Sha256::new(), |hasher, part| hasher.chain_update(part));
    Hash::new_from_array(hasher.finalize().into())
}

#[cfg(test)]
mod tests {
    use selkie_svm::find_program_address;

    use super::*;

    #[test]
    fn addresses_are_derived_from_the_gate() {
        let derived = |seed: &[u8]| find_program_address(&[seed], &GATE).map(|(key, _)| key);
        assert_eq!(derived(b"alpenclock"), Some(CLOCK));
        assert_eq!(derived(b"carlgration"), Some(CERTIFICATE));
    }

    #[test]
    fn the_blockhash_of_an_empty_block_is_that_of_its_tick() {
        let parent = Hash::new_from_array([7; 32]);
        assert_eq!(blockhash(&parent, &[]), sha256(&[parent.as_ref()]));
        let one = merkle_root(&[[1; 64]]).unwrap();
        assert_eq!(one, sha256(&[&[0], &[1; 64]]).to_bytes());
        // The third of three is paired with itself.
        let three = merkle_root(&[[1; 64], [2; 64], [3; 64]]);
        assert_eq!(three, merkle_root(&[[1; 64], [2; 64], [3; 64], [3; 64]]));
        assert_ne!(blockhash(&parent, &[[1; 64]]), blockhash(&parent, &[[2; 64]]));
    }

    #[test]
    fn alpenclock_has_the_lamports_of_the_default_rent() {
        assert_eq!(clock_account(1).lamports(), 946_560);
    }
}
