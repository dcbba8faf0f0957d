//! Addresses, hashes and signatures, byte by byte.

use solana_hash::Hash;
use solana_signature::Signature;

use crate::Address;

/// Converts an address to Selkie's version.
#[must_use]
pub fn to_address(address: &Address) -> selkie::Pubkey {
    selkie::Pubkey::new_from_array(address.to_bytes())
}

/// Converts an address of Selkie's version.
#[must_use]
pub fn from_address(address: &selkie::Pubkey) -> Address {
    Address::new_from_array(address.to_bytes())
}

/// Converts a hash to Selkie's version.
#[must_use]
pub fn to_hash(hash: &Hash) -> selkie::Hash {
    selkie::Hash::new_from_array(hash.to_bytes())
}

/// Converts a hash of Selkie's version.
#[must_use]
pub fn from_hash(hash: &selkie::Hash) -> Hash {
    Hash::new_from_array(hash.to_bytes())
}

/// Converts a signature to Selkie's version.
#[must_use]
pub fn to_signature(signature: &Signature) -> selkie::Signature {
    <[u8; 64]>::from(*signature).into()
}

/// Converts a signature of Selkie's version.
#[must_use]
pub fn from_signature(signature: &selkie::Signature) -> Signature {
    <[u8; 64]>::from(*signature).into()
}
