//! The cryptography that Solana's signatures, precompiles and syscalls need.
//!
//! Functions of bytes, and nothing else: no accounts, no guest memory, no prices, no features. What
//! they refuse and what they answer is part of the protocol, so each says whose rule it follows.
//! Where a rule is that of a library that the validator uses, its oddities are here too.
//!
//! ```
//! use selkie_crypto::{Endianness, poseidon};
//!
//! let one = [&[0; 31][..], &[1]].concat();
//! assert!(poseidon::hash(Endianness::Big, &[&one, &one]).is_some());
//! assert!(poseidon::hash(Endianness::Big, &[&one[1..]]).is_none());
//! ```

pub mod big_mod_exp;
pub mod bls12_381;
pub mod bn254;
pub mod curve25519;
mod ecdsa;
pub mod ed25519;
pub mod poseidon;
pub mod precompile;
pub mod secp256k1;

/// The order in which the bytes of a number are written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Endianness {
    /// The greatest first.
    Big,
    /// The smallest first.
    Little,
}

/// Bytes in chunks of so many, each of them the other way round if they are big-endian: what is
/// little-endian behind this.
fn to_little<const N: usize>(endianness: Endianness, chunk: usize, mut bytes: [u8; N]) -> [u8; N] {
    if endianness == Endianness::Big {
        bytes.chunks_exact_mut(chunk).for_each(<[u8]>::reverse);
    }
    bytes
}
