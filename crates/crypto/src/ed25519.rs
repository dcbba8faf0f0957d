//! Verification of Ed25519 signatures, for transactions and the precompile.
//!
//! The rule is `verify_strict` of ed25519-dalek (agave: `solana-signature`, `Signature::verify`):
//! s is reduced, neither the key nor R has small order, R is canonically encoded, and sB = R + kA
//! holds without multiplication by the cofactor. Tests compare with that library; this module
//! compares R as a point, which saves an inversion.
//!
//! Batch verification cannot implement this rule. A batch sums the errors of all signatures, each
//! times a random factor. An error of prime order does not vanish from the sum, but one of order 8
//! vanishes for one factor in eight: a batch would accept signatures that the rule rejects, and not
//! always the same ones. To exclude such errors, every key and every R would have to be proved
//! torsion-free, which costs as much as verifying the signature.

mod backend;
mod cache;
mod field;
#[cfg(target_arch = "x86_64")]
mod ifma;
mod point;
mod sum;

use std::sync::{Arc, LazyLock};

use curve25519_dalek::{Scalar, constants::EIGHT_TORSION};
use sha2::{Digest, Sha512};

pub use self::backend::Backend;
use self::{
    cache::Cache,
    point::Point,
    sum::{Sum, Table},
};

/// Returns whether `signature` is a valid signature of `message` by `key`.
///
/// ```
/// assert!(!selkie_crypto::ed25519::verify(&[2; 32], &[0; 64], b"message"));
/// ```
#[must_use]
pub fn verify(key: &[u8; 32], signature: &[u8; 64], message: &[u8]) -> bool {
    Verifier::of_process().verify(key, signature, message)
}

/// Verifies many signatures, each given as key, signature and message, in order.
pub fn verify_each<'a>(
    items: impl IntoIterator<Item = (&'a [u8; 32], &'a [u8; 64], &'a [u8])>,
) -> impl Iterator<Item = bool> {
    let verifier = Verifier::of_process();
    items.into_iter().map(|(key, signature, message)| verifier.verify(key, signature, message))
}

/// Verifies signatures, and keeps tables of the keys that come again.
#[derive(Debug)]
pub struct Verifier {
    backend: Backend,
    base: Table,
    cache: Cache,
    /// The encodings of the points whose order divides 8.
    small: [[u8; 32]; 8],
}

impl Verifier {
    /// Returns a verifier that knows no keys.
    #[must_use]
    pub fn new(backend: Backend) -> Self {
        Self {
            backend,
            base: Table::of_base(backend),
            cache: Cache::default(),
            small: EIGHT_TORSION.map(|point| point.compress().0),
        }
    }

    /// Returns the verifier of this process, which uses the fastest instructions of the processor.
    pub fn of_process() -> &'static Self {
        static VERIFIER: LazyLock<Verifier> = LazyLock::new(|| Verifier::new(Backend::fastest()));
        &VERIFIER
    }

    /// Returns whether `signature` is a valid signature of `message` by `key`.
    #[must_use]
    pub fn verify(&self, key: &[u8; 32], signature: &[u8; 64], message: &[u8]) -> bool {
        self.key(key).is_some_and(|key| self.verify_by(&key, signature, message))
    }

    /// Returns the key, or `None` if it does not decompress.
    pub(crate) fn key(&self, packed: &[u8; 32]) -> Option<Arc<Key>> {
        self.cache.find(packed, |teeth| Key::unpack(self.backend, packed, teeth))
    }

    /// Returns whether `signature` is a valid signature of `message` by `key`.
    pub(crate) fn verify_by(&self, key: &Key, signature: &[u8; 64], message: &[u8]) -> bool {
        let (halves, _) = signature.as_chunks::<32>();
        let (r, s) = (&halves[0], &halves[1]);
        if key.has_small_order || !is_reduced(s) || self.small.contains(r) {
            return false;
        }
        let hash = Sha512::new().chain_update(r).chain_update(key.packed).chain_update(message);
        let k = Scalar::from_bytes_mod_order_wide(&hash.finalize().into());
        let sum = Sum::new(&key.table, k.as_bytes(), &self.base, s);
        self.backend.compute(&sum).compress() == *r
    }
}

/// A public key that decompresses to a point.
#[derive(Debug)]
pub(crate) struct Key {
    packed: [u8; 32],
    has_small_order: bool,
    /// Of the negated point.
    table: Table,
}

impl Key {
    fn unpack(backend: Backend, packed: &[u8; 32], teeth: usize) -> Option<Self> {
        let negated = Point::decompress(packed)?.negated();
        Some(Self {
            packed: *packed,
            has_small_order: negated.has_small_order(),
            table: Table::of_key(backend, &negated, teeth),
        })
    }
}

/// Returns whether a scalar is below the order of the base point.
fn is_reduced(s: &[u8; 32]) -> bool {
    const ORDER: [u64; 4] = [0x5812_631a_5cf5_d3ed, 0x14de_f9de_a2f7_9cd6, 0, 1 << 60];
    let (words, _) = s.as_chunks::<8>();
    words.iter().rev().map(|word| u64::from_le_bytes(*word)).lt(ORDER.into_iter().rev())
}

#[cfg(test)]
mod tests {
    use curve25519_dalek::constants::EIGHT_TORSION;
    use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

    use super::*;

    /// Compares the result with ed25519-dalek's, and returns it.
    fn check(key: &[u8; 32], signature: &[u8; 64], message: &[u8]) -> bool {
        let dalek = VerifyingKey::from_bytes(key);
        let expected = dalek
            .is_ok_and(|key| key.verify_strict(message, &Signature::from_bytes(signature)).is_ok());
        assert_eq!(verify(key, signature, message), expected, "{key:?} {signature:?}");
        expected
    }

    #[test]
    fn valid_and_damaged_signatures_verify_as_in_ed25519_dalek() {
        for seed in 0..8 {
            let secret = SigningKey::from_bytes(&[seed; 32]);
            let (key, message) = (secret.verifying_key().to_bytes(), [seed; 100]);
            let signature = secret.sign(&message).to_bytes();
            assert!(check(&key, &signature, &message));
            assert!(!check(&key, &signature, &message[1..]));
            for bit in (0..512).step_by(37).chain(507..512) {
                let mut wrong = signature;
                wrong[bit / 8] ^= 1 << (bit % 8);
                assert!(!check(&key, &wrong, &message));
            }
        }
    }

    /// A batch equation would accept some of these signatures at random: their keys have a torsion
    /// component.
    #[test]
    fn keys_with_a_torsion_component_verify_only_if_it_cancels() {
        let (secret, nonce) = (Scalar::from(1_234_567u64), Scalar::from(7_654_321u64));
        let key = EdwardsPoint::mul_base(&secret) + EIGHT_TORSION[1];
        let (key, r) = (key.compress().0, EdwardsPoint::mul_base(&nonce).compress().0);
        let mut accepted = 0;
        for message in 0..64u8 {
            let hash = Sha512::new().chain_update(r).chain_update(key).chain_update([message]);
            let k = Scalar::from_bytes_mod_order_wide(&hash.finalize().into());
            let s = nonce + k * secret;
            let is_accepted = check(&key, &signature(&r, &s), &[message]);
            assert_eq!(is_accepted, k.as_bytes()[0] & 7 == 0, "{message}");
            accepted += u32::from(is_accepted);
        }
        assert!((1..63).contains(&accepted));
    }

    #[test]
    fn points_of_small_order_are_rejected_in_every_encoding() {
        let unreduced = |first| {
            let mut bytes = [0xff; 32];
            bytes[0] = first;
            bytes
        };
        let mut points: Vec<[u8; 32]> = EIGHT_TORSION.iter().map(|it| it.compress().0).collect();
        points.extend([0xed, 0xee, 0xef, 0xff].map(unreduced));
        for first in &points {
            for second in &points {
                assert!(!check(first, &signature(second, &Scalar::ZERO), b"message"));
            }
        }
    }

    #[test]
    fn y_is_reduced_below_the_modulus_regardless_of_the_sign_bit() {
        let mut modulus = [0xff; 32];
        (modulus[0], modulus[31]) = (0xed, 0x7f);
        assert!(!has_reduced_y(&modulus));
        modulus[0] = 0xec;
        assert!(has_reduced_y(&modulus));
        modulus[31] = 0xff;
        assert!(has_reduced_y(&modulus) && !has_reduced_y(&[0xff; 32]) && has_reduced_y(&[0; 32]));
    }

    fn signature(r: &[u8; 32], s: &Scalar) -> [u8; 64] {
        let mut signature = [0; 64];
        signature[..32].copy_from_slice(r);
        signature[32..].copy_from_slice(s.as_bytes());
        signature
    }
}
