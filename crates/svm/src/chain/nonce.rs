//! Durable nonces: accounts that store a value which transactions use in place of a recent blockhash.

use selkie_layout::system::{FeeCalculator, NONCE_ACCOUNT, NonceAccount};
use sha2::{Digest, Sha256};
use solana_account::{AccountSharedData, ReadableAccount};
use solana_hash::Hash;
use solana_pubkey::Pubkey;
use solana_sdk_ids::system_program;

/// The length of a nonce account's data.
pub const NONCE_BYTES: usize = NONCE_ACCOUNT.bytes;

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
        let nonce = NonceAccount::at_start_of(data)?;
        let is_valid = [LEGACY, CURRENT].contains(&nonce.version) && nonce.state == INITIALIZED;
        is_valid.then(|| Self {
            is_current: nonce.version == CURRENT,
            authority: nonce.authority,
            durable_nonce: Hash::new_from_array(nonce.blockhash),
            lamports_per_signature: nonce.fee_calculator.lamports_per_signature,
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
    pub fn write(&self) -> Vec<u8> {
        let nonce = NonceAccount {
            version: if self.is_current { CURRENT } else { LEGACY },
            state: INITIALIZED,
            authority: self.authority,
            blockhash: self.durable_nonce.to_bytes(),
            fee_calculator: FeeCalculator { lamports_per_signature: self.lamports_per_signature },
        };
        nonce.bytes()
    }
}

/// Derives a durable nonce from a blockhash. The hash separates durable nonces from blockhashes.
#[must_use]
pub fn durable_nonce(blockhash: &Hash) -> Hash {
    let hasher = Sha256::new().chain_update(b"DURABLE_NONCE").chain_update(blockhash.as_ref());
    Hash::new_from_array(hasher.finalize().into())
}
