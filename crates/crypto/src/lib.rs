//! The cryptography of Solana's signatures, precompiles and syscalls.
//!
//! All functions take and return bytes; they know no accounts, guest memory, costs or features. The
//! inputs that they reject are part of the protocol, so each states the rule that it follows. Where
//! the rule is the behaviour of a library that agave uses, its quirks are reproduced.
//!
//! | module | what it owns |
//! |---|---|
//! | [`ed25519`] | signatures of transactions |
//! | [`precompile`] | the ed25519, secp256k1 and secp256r1 precompiles |
//! | [`secp256k1`] | public key recovery |
//! | [`curve25519`] | group operations of Edwards points and Ristretto |
//! | [`bn254`], [`bls12_381`] | pairing-friendly curves |
//! | [`poseidon`] | the Poseidon hash |
//! | [`big_mod_exp`] | modular exponentiation |
//! | `ecdsa` | signatures over both secp256 curves |
//!
//! ```
//! use selkie_crypto::{Endianness, poseidon};
//!
//! let one = [&[0; 31][..], &[1]].concat();
//! assert!(poseidon::hash(Endianness::Big, &[&one, &one]).is_some());
//! assert!(poseidon::hash(Endianness::Big, &[&one[1..]]).is_none());
//! ```

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod big_mod_exp;
pub mod bls12_381;
pub mod bn254;
pub mod curve25519;
mod ecdsa;
pub mod ed25519;
pub mod poseidon;
pub mod precompile;
pub mod secp256k1;

/// The byte order of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Endianness {
    /// Most significant byte first.
    Big,
    /// Least significant byte first.
    Little,
}

/// Converts numbers of `chunk` bytes each to little-endian: reverses every chunk if they are
/// big-endian.
fn to_little<const N: usize>(endianness: Endianness, chunk: usize, mut bytes: [u8; N]) -> [u8; N] {
    if endianness == Endianness::Big {
        bytes.chunks_exact_mut(chunk).for_each(<[u8]>::reverse);
    }
    bytes
}
