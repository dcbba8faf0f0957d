//! Ed25519 signatures, as transactions and the precompile have them.
//!
//! The rule is `verify_strict` of ed25519-dalek (agave: `solana-signature`, `Signature::verify`):
//! s is reduced, neither the key nor R is of small order, and sB = R + kA holds as it stands, not
//! only after multiplication with the cofactor.
//!
//! There is no batch equation here, because none gives that verdict. A batch adds up the errors
//! of all signatures, each times a random factor. An error of prime order does not vanish from the
//! sum; but one of order 8 vanishes for one factor in eight, so that a batch takes signatures that
//! the rule refuses, and others at one time and not at another. To know that there is no such
//! error, every key and every R had to be proved free of torsion, which costs as much as it takes to
//! verify the signature.

use ed25519_dalek::{Signature, VerifyingKey};

/// Whether `signature` is one of `message` by the holder of `key`.
///
/// ```
/// assert!(!selkie_crypto::ed25519::verify(&[2; 32], &[0; 64], b"message"));
/// ```
#[must_use]
pub fn verify(key: &[u8; 32], signature: &[u8; 64], message: &[u8]) -> bool {
    VerifyingKey::from_bytes(key).is_ok_and(|key| verify_by(&key, signature, message))
}

/// [`verify`] for each of many: the key, the signature and the message.
pub fn verify_each<'a>(
    items: impl IntoIterator<Item = (&'a [u8; 32], &'a [u8; 64], &'a [u8])>,
) -> impl Iterator<Item = bool> {
    let mut last: Option<VerifyingKey> = None;
    items.into_iter().map(move |(key, signature, message)| {
        // Runs of signatures by one key are common: the key is unpacked once.
        if last.as_ref().is_none_or(|last| last.as_bytes() != key) {
            last = VerifyingKey::from_bytes(key).ok();
        }
        last.as_ref().is_some_and(|key| verify_by(key, signature, message))
    })
}

pub(crate) fn verify_by(key: &VerifyingKey, signature: &[u8; 64], message: &[u8]) -> bool {
    key.verify_strict(message, &Signature::from_bytes(signature)).is_ok()
}

#[cfg(test)]
mod tests {
    use curve25519_dalek::{EdwardsPoint, Scalar, constants::EIGHT_TORSION};
    use sha2::{Digest, Sha512};

    use super::*;

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
            let mut signature = [0; 64];
            signature[..32].copy_from_slice(&r);
            signature[32..].copy_from_slice((nonce + k * secret).as_bytes());
            let holds = k.as_bytes()[0] & 7 == 0;
            assert_eq!(verify(&key, &signature, &[message]), holds, "{message}");
            accepted += u32::from(holds);
        }
        assert!((1..63).contains(&accepted));
    }
}
