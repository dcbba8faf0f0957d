//! Verification of Ed25519 signatures, for transactions and the precompile.
//!
//! The rule is `verify_strict` of ed25519-dalek (agave: `solana-signature`, `Signature::verify`;
//! SIMD-0152): s is reduced, neither the key A nor R has small order, R is canonically encoded, and
//! sB = R + kA holds without multiplication by the cofactor. This module decides the same:
//!
//! - It computes the sum sB + k(-A), encodes it, and compares the bytes with those of R. Encodings
//!   of points are canonical: so the bytes are equal if and only if R decompresses, is canonical and
//!   is that point. The small orders of R are then those of eight encodings.
//! - The sum is the point itself, whatever the orders of A and R are. k and s stay the integers that
//!   they are, below the order of B; their digits, with the multiples of the tables, add up to
//!   kA + sB in every group, and the addition law of this curve has no exceptions. Nothing is
//!   multiplied by the cofactor, and no scalar is replaced by one that is equal only modulo the
//!   order of B.
//! - A key is decompressed by the rule of curve25519-dalek, and k is the hash of its bytes as given.
//!
//! Tests compare with ed25519-dalek, for each backend. What a backend computes does not depend on
//! the keys that are kept, so results do not either.
//!
//! Batch verification cannot implement this rule. A batch sums the errors of all signatures, each
//! times a random factor. An error of prime order does not vanish from the sum, but one of order 8
//! vanishes for one factor in eight: a batch would accept signatures that the rule rejects, and not
//! always the same ones. To exclude such errors, every key and every R would have to be proved
//! torsion-free, which costs as much as verifying the signature.
//!
//! Short scalars c and d with d = ck, from lattice reduction, would halve the doublings for a new
//! key: c(sB - kA - R) = 0 is the same rule if c is odd and d = ck holds modulo eight times the order
//! of B. They are not worth it here. R would have to be decompressed, which takes four times as long
//! as the inversion that encodes the sum.

mod backend;
mod cache;
mod field;
mod point;
mod sum;
#[cfg(target_arch = "x86_64")]
mod x64;

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

/// Verifies many signatures, each given as key, signature and message. The results have the order of
/// the items. Each signature is decided by itself; together they need one inversion, which saves a
/// tenth of the time.
pub fn verify_each<'a>(
    items: impl IntoIterator<Item = (&'a [u8; 32], &'a [u8; 64], &'a [u8])>,
) -> Vec<bool> {
    Verifier::of_process().verify_each(items)
}

/// Verifies signatures, and keeps tables of the keys that come again: at most 22 MB. Threads may
/// share it; they wait for each other only to look up keys with equal first bits.
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
    ///
    /// # Panics
    /// If the processor lacks the instructions of the backend; [`Backend::available`] has those that
    /// it has.
    #[must_use]
    pub fn new(backend: Backend) -> Self {
        Self {
            backend,
            base: backend.base_table(),
            cache: Cache::default(),
            small: EIGHT_TORSION.map(|point| point.compress().0),
        }
    }

    /// Returns the verifier of this process, which uses the fastest instructions of the processor.
    /// Its first call takes about 0.1 ms.
    pub fn of_process() -> &'static Self {
        static VERIFIER: LazyLock<Verifier> = LazyLock::new(|| Verifier::new(Backend::fastest()));
        &VERIFIER
    }

    /// Returns whether `signature` is a valid signature of `message` by `key`.
    #[must_use]
    pub fn verify(&self, key: &[u8; 32], signature: &[u8; 64], message: &[u8]) -> bool {
        self.key(key).is_some_and(|key| self.verify_by(&key, signature, message))
    }

    /// Verifies many signatures, each given as key, signature and message, like [`verify_each`].
    pub fn verify_each<'a>(
        &self,
        items: impl IntoIterator<Item = (&'a [u8; 32], &'a [u8; 64], &'a [u8])>,
    ) -> Vec<bool> {
        let mut last: Option<Arc<Key>> = None;
        let items = items.into_iter().map(|(key, signature, message)| {
            // Consecutive signatures by the same key are common: it is looked up once.
            if last.as_ref().is_none_or(|last| last.packed != *key) {
                last = self.key(key);
            }
            last.clone().map(|key| Signed { key, signature, message })
        });
        self.verify_each_by(&items.collect::<Vec<_>>())
    }

    /// Returns the key, or `None` if it does not decompress.
    pub(crate) fn key(&self, packed: &[u8; 32]) -> Option<Arc<Key>> {
        self.cache.find(packed, |teeth| Key::unpack(self.backend, packed, teeth))
    }

    /// Returns whether `signature` is a valid signature of `message` by `key`.
    fn verify_by(&self, key: &Key, signature: &[u8; 64], message: &[u8]) -> bool {
        self.sum(key, signature, message)
            .is_some_and(|sum| self.backend.compute(&sum).compress() == signature[..32])
    }

    /// Verifies many signatures; `None` is one by a key that does not decompress.
    pub(crate) fn verify_each_by(&self, items: &[Option<Signed<'_>>]) -> Vec<bool> {
        let points = items.iter().map(|item| {
            let Signed { key, signature, message } = item.as_ref()?;
            Some(self.backend.compute(&self.sum(key, signature, message)?))
        });
        let points: Vec<_> = points.collect();
        let computed: Vec<_> = points.iter().flatten().copied().collect();
        let mut packed = Point::compress_each(&computed).into_iter();
        let are_valid = items.iter().zip(&points).map(|(item, point)| {
            let packed = point.and_then(|_| packed.next());
            item.as_ref().zip(packed).is_some_and(|(item, packed)| packed == item.signature[..32])
        });
        are_valid.collect()
    }

    /// Returns the sum that must be equal to R, or `None` if the signature is not valid whatever
    /// the sum is.
    fn sum<'a>(&'a self, key: &'a Key, signature: &[u8; 64], message: &[u8]) -> Option<Sum<'a>> {
        let (halves, _) = signature.as_chunks::<32>();
        let (r, s) = (&halves[0], &halves[1]);
        if key.has_small_order || !is_reduced(s) || self.small.contains(r) {
            return None;
        }
        let hash = Sha512::new().chain_update(r).chain_update(key.packed).chain_update(message);
        let k = Scalar::from_bytes_mod_order_wide(&hash.finalize().into());
        Some(Sum::new(&key.table, k.as_bytes(), &self.base, s))
    }
}

/// A signature to verify, with the key and the message.
pub(crate) struct Signed<'a> {
    pub(crate) key: Arc<Key>,
    pub(crate) signature: &'a [u8; 64],
    pub(crate) message: &'a [u8],
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
            table: backend.key_table(&negated, teeth),
        })
    }
}

/// Returns whether a scalar is below the order of the base point.
fn is_reduced(s: &[u8; 32]) -> bool {
    const ORDER: [u64; 4] = [0x5812_631a_5cf5_d3ed, 0x14de_f9de_a2f7_9cd6, 0, 1 << 60];
    let (words, _) = s.as_chunks::<8>();
    words.iter().rev().map(|word| u64::from_le_bytes(*word)).lt(ORDER.into_iter().rev())
}
