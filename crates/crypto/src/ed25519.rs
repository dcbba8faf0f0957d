//! Ed25519 signatures, as transactions and the precompile have them.
//!
//! The rule is `verify_strict` of ed25519-dalek (agave: `solana-signature`, `Signature::verify`):
//! s is reduced, neither the key nor R is of small order, R is written as it is always written, and
//! sB = R + kA holds as it stands, not only after multiplication with the cofactor. Tests compare
//! with that library; here, R is compared as a point, which saves an inversion.
//!
//! There is no batch equation here, because none gives that verdict. A batch adds up the errors
//! of all signatures, each times a random factor. An error of prime order does not vanish from the
//! sum; but one of order 8 vanishes for one factor in eight, so that a batch takes signatures that
//! the rule refuses, and others at one time and not at another. To know that there is no such
//! error, every key and every R had to be proved free of torsion, which costs as much as it takes to
//! verify the signature.

use curve25519_dalek::{EdwardsPoint, Scalar, edwards::CompressedEdwardsY};
use sha2::{Digest, Sha512};

/// Whether `signature` is one of `message` by the holder of `key`.
///
/// ```
/// assert!(!selkie_crypto::ed25519::verify(&[2; 32], &[0; 64], b"message"));
/// ```
#[must_use]
pub fn verify(key: &[u8; 32], signature: &[u8; 64], message: &[u8]) -> bool {
    Key::unpack(key).is_some_and(|key| key.verify(signature, message))
}

/// [`verify`] for each of many: the key, the signature and the message.
pub fn verify_each<'a>(
    items: impl IntoIterator<Item = (&'a [u8; 32], &'a [u8; 64], &'a [u8])>,
) -> impl Iterator<Item = bool> {
    let mut last: Option<Key> = None;
    items.into_iter().map(move |(key, signature, message)| {
        // Runs of signatures by one key are common: the key is unpacked once.
        if last.as_ref().is_none_or(|last| last.packed != *key) {
            last = Key::unpack(key);
        }
        last.as_ref().is_some_and(|key| key.verify(signature, message))
    })
}

/// A key that is a point of the curve.
pub(crate) struct Key {
    packed: [u8; 32],
    negated: EdwardsPoint,
}

impl Key {
    pub(crate) fn unpack(packed: &[u8; 32]) -> Option<Self> {
        let point = CompressedEdwardsY(*packed).decompress()?;
        Some(Self { packed: *packed, negated: -point })
    }

    pub(crate) fn verify(&self, signature: &[u8; 64], message: &[u8]) -> bool {
        let (halves, _) = signature.as_chunks();
        let (r, s) = (CompressedEdwardsY(halves[0]), Scalar::from_canonical_bytes(halves[1]));
        let (Some(point), Some(s)) = (r.decompress(), s.into_option()) else { return false };
        if point.is_small_order() || self.negated.is_small_order() || !has_reduced_y(&r.0) {
            return false;
        }
        let hash = Sha512::new().chain_update(r.0).chain_update(self.packed).chain_update(message);
        let k = Scalar::from_bytes_mod_order_wide(&hash.finalize().into());
        EdwardsPoint::vartime_double_scalar_mul_basepoint(&k, &self.negated, &s) == point
    }
}

/// Whether y is below 2^255 - 19. (Of points that can be written in two ways all the same, by the
/// sign of an x that is zero, the order is small.)
fn has_reduced_y(packed: &[u8; 32]) -> bool {
    let [first, middle @ .., last] = packed;
    last & 0x7f != 0x7f || middle.iter().any(|byte| *byte != 0xff) || *first < 0xed
}

#[cfg(test)]
mod tests {
    use curve25519_dalek::constants::EIGHT_TORSION;
    use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

    use super::*;

    /// What the rule's own library says must be said here.
    fn check(key: &[u8; 32], signature: &[u8; 64], message: &[u8]) -> bool {
        let judge = VerifyingKey::from_bytes(key);
        let expected = judge.is_ok_and(|judge| {
            judge.verify_strict(message, &Signature::from_bytes(signature)).is_ok()
        });
        assert_eq!(verify(key, signature, message), expected, "{key:?} {signature:?}");
        expected
    }

    #[test]
    fn signatures_are_those_of_the_library() {
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

    /// What a batch equation would let pass now and then is refused every time, and what the rule
    /// accepts in spite of a key with a part of small order is accepted every time.
    #[test]
    fn parts_of_small_order_count() {
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
    fn points_of_small_order_are_refused_however_they_are_written() {
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
    fn reduced_y() {
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
