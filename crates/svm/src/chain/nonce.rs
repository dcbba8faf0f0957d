//! Durable nonces: accounts that store a value which transactions use in place of a recent blockhash.
//!
//! A nonce account is 80 bytes: version and state as u32, authority, durable nonce, lamports per
//! signature (SDK: `solana-nonce`).

use sha2::{Digest, Sha256};
use solana_account::{AccountSharedData, ReadableAccount};
use solana_hash::Hash;
use solana_pubkey::Pubkey;
use solana_sdk_ids::system_program;

/// The length of a nonce account's data.
pub const NONCE_BYTES: usize = 80;

/// Version 0, whose nonces are blockhashes. They are no longer valid.
const LEGACY: u32 = 0;
const CURRENT: u32 = 1;
const INITIALIZED: u32 = 1;

/// The state of an initialized nonce account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nonce {
    /// Whether the account has the current version. Nonces of the legacy version are invalid.
    pub is_current: bool,
    /// The address that must sign to use the nonce.
    pub authority: Pubkey,
    /// The value that a transaction uses as its blockhash.
    pub durable_nonce: Hash,
    /// The fee per signature when the nonce was last advanced.
    pub lamports_per_signature: u64,
}

impl Nonce {
    /// Reads the data of an account; `None` if they are not an initialized nonce.
    #[must_use]
    pub fn read(data: &[u8]) -> Option<Self> {
        let number = |offset: usize| Some(u32::from_le_bytes(*data.get(offset..)?.first_chunk()?));
        let bytes = |offset: usize| data.get(offset..)?.first_chunk::<32>().copied();
        let version = number(0)?;
        if ![LEGACY, CURRENT].contains(&version) || number(4)? != INITIALIZED {
            return None;
        }
        Some(Self {
            is_current: version == CURRENT,
            authority: Pubkey::new_from_array(bytes(8)?),
            durable_nonce: Hash::new_from_array(bytes(40)?),
            lamports_per_signature: u64::from_le_bytes(*data.get(72..)?.first_chunk()?),
        })
    }

    /// Returns the nonce of an account if a transaction with this blockhash may use it.
    #[must_use]
    pub fn of_account(account: &AccountSharedData, blockhash: &Hash) -> Option<Self> {
        let is_owned_by_system = *account.owner() == system_program::ID;
        let nonce = is_owned_by_system.then(|| Self::read(account.data())).flatten()?;
        (nonce.is_current && nonce.durable_nonce == *blockhash).then_some(nonce)
    }

    /// Returns the account data of the nonce.
    #[must_use]
    pub fn write(&self) -> [u8; NONCE_BYTES] {
        let version = if self.is_current { CURRENT } else { LEGACY };
        let mut data = [0; NONCE_BYTES];
        data[..4].copy_from_slice(&version.to_le_bytes());
        data[4..8].copy_from_slice(&INITIALIZED.to_le_bytes());
        data[8..40].copy_from_slice(self.authority.as_ref());
        data[40..72].copy_from_slice(self.durable_nonce.as_ref());
        data[72..].copy_from_slice(&self.lamports_per_signature.to_le_bytes());
        data
    }
}

/// Derives a durable nonce from a blockhash. The hash separates durable nonces from blockhashes.
#[must_use]
pub fn durable_nonce(blockhash: &Hash) -> Hash {
    let hasher = Sha256::new().chain_update(b"DURABLE_NONCE").chain_update(blockhash.as_ref());
    Hash::new_from_array(hasher.finalize().into())
}
