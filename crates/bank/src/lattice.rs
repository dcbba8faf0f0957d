//! The lattice hash of all accounts (SIMD-0215): the sum of the accounts' hashes, each a vector of
//! 1024 numbers, so that single accounts can be added and removed.

use selkie_svm::{AccountSharedData, Pubkey, ReadableAccount};
use solana_hash::Hash;

/// The number of elements of a hash.
const NUMBERS: usize = 1024;
const BYTES: usize = NUMBERS * 2;

/// A sum of account hashes.
#[derive(Clone, PartialEq, Eq)]
pub struct LatticeHash(Box<[u16; NUMBERS]>);

impl Default for LatticeHash {
    /// Returns the hash of no accounts.
    fn default() -> Self {
        Self(Box::new([0; NUMBERS]))
    }
}

impl core::fmt::Debug for LatticeHash {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "LatticeHash({})", self.checksum())
    }
}

impl LatticeHash {
    /// Returns the hash of these accounts; those with 0 lamports do not count.
    pub fn of<'a>(accounts: impl IntoIterator<Item = (&'a Pubkey, &'a AccountSharedData)>) -> Self {
        let mut sum = Self::default();
        accounts.into_iter().for_each(|(key, account)| sum.add(key, account));
        sum
    }

    /// Adds an account.
    pub fn add(&mut self, key: &Pubkey, account: &AccountSharedData) {
        self.mix(key, account, u16::wrapping_add);
    }

    /// Removes an account.
    pub fn remove(&mut self, key: &Pubkey, account: &AccountSharedData) {
        self.mix(key, account, u16::wrapping_sub);
    }

    /// Adds all accounts of another hash.
    pub fn merge(&mut self, other: &Self) {
        for (sum, number) in self.0.iter_mut().zip(other.0.iter()) {
            *sum = sum.wrapping_add(*number);
        }
    }

    /// Removes all accounts of another hash.
    pub fn separate(&mut self, other: &Self) {
        for (sum, number) in self.0.iter_mut().zip(other.0.iter()) {
            *sum = sum.wrapping_sub(*number);
        }
    }

    /// Decodes the bytes of [`LatticeHash::to_bytes`]; `None` if their number is wrong.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (numbers, []) = bytes.as_chunks::<2>() else { return None };
        let numbers: Box<[u16]> = numbers.iter().map(|it| u16::from_le_bytes(*it)).collect();
        numbers.try_into().ok().map(Self)
    }

    /// Encodes the elements as little-endian bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    /// Returns the BLAKE3 hash of the elements, for display and comparison.
    #[must_use]
    pub fn checksum(&self) -> Hash {
        Hash::new_from_array(*blake3::hash(&self.to_bytes()).as_bytes())
    }

    fn mix(&mut self, key: &Pubkey, account: &AccountSharedData, with: fn(u16, u16) -> u16) {
        if account.lamports() == 0 {
            return;
        }
        let mut bytes = [0; BYTES];
        hasher(key, account).finalize_xof().fill(&mut bytes);
        let (numbers, _) = bytes.as_chunks::<2>();
        for (sum, number) in self.0.iter_mut().zip(numbers) {
            *sum = with(*sum, u16::from_le_bytes(*number));
        }
    }
}

fn hasher(key: &Pubkey, account: &AccountSharedData) -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&account.lamports().to_le_bytes());
    hasher.update(account.data());
    hasher.update(&[u8::from(account.executable())]);
    hasher.update(account.owner().as_ref());
    hasher.update(key.as_ref());
    hasher
}

#[cfg(test)]
mod tests {
    use super::*;
    use selkie_svm::Account;

    fn account(lamports: u64) -> AccountSharedData {
        Account { lamports, data: vec![7; 300], ..Account::default() }.into()
    }

    #[test]
    fn adding_and_removing_an_account_restores_the_hash() {
        let keys = [1, 2].map(|byte| Pubkey::new_from_array([byte; 32]));
        let (few, many) = (account(1), account(2));
        let mut sum = LatticeHash::of([(&keys[0], &few), (&keys[1], &many)]);
        assert_eq!(sum, LatticeHash::of([(&keys[1], &many), (&keys[0], &few)]));
        assert_ne!(sum, LatticeHash::of([(&keys[0], &many), (&keys[1], &few)]));
        sum.add(&keys[0], &account(0));
        sum.remove(&keys[0], &few);
        assert_eq!(sum, LatticeHash::of([(&keys[1], &many)]));
        assert_eq!(LatticeHash::from_bytes(&sum.to_bytes()), Some(sum.clone()));
        assert_eq!(LatticeHash::from_bytes(&sum.to_bytes()[2..]), None);
        sum.remove(&keys[1], &many);
        assert_eq!(sum, LatticeHash::default());
    }

    /// The expected value was computed with agave's crate, version 4.3.0.
    #[test]
    fn the_checksum_equals_agaves() {
        let keys = [1, 2].map(|byte| Pubkey::new_from_array([byte; 32]));
        let executable = Account {
            lamports: 2_000_000_000,
            data: b"data".to_vec(),
            owner: Pubkey::new_from_array([9; 32]),
            executable: true,
            rent_epoch: 5,
        };
        let sum = LatticeHash::of([(&keys[0], &account(1)), (&keys[1], &executable.into())]);
        let bytes = sum.checksum().to_bytes();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "9da39abf37ee6e64a6334980618f8f447becc00ebec69a91c66cff52f67d5de0");
    }
}
