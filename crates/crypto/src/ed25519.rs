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
/// the items. Each signature is decided by itself, but two at a time take less time than one by one.
pub fn verify_each<'a>(
    items: impl IntoIterator<Item = (&'a [u8; 32], &'a [u8; 64], &'a [u8])>,
) -> Vec<bool> {
    Verifier::of_process().verify_each(items)
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
            (last.clone(), signature, message)
        });
        let items: Vec<_> = items.collect();
        let with_keys = items.iter().map(|(key, signature, message)| {
            (key.as_deref(), *signature, *message)
        });
        let with_keys: Vec<_> = with_keys.collect();
        with_keys.chunks(AT_ONCE_MAX).flat_map(|chunk| self.verify_each_by(chunk)).collect()
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

    /// Verifies signatures by keys that decompress; other signatures are not valid.
    pub(crate) fn verify_each_by(&self, items: &[(Option<&Key>, &[u8; 64], &[u8])]) -> Vec<bool> {
        let mut are_valid = vec![false; items.len()];
        if let [(key, signature, message)] = items {
            are_valid[0] = key.is_some_and(|key| self.verify_by(key, signature, message));
            return are_valid;
        }
        let sums = items.iter().map(|(key, signature, message)| {
            key.and_then(|key| self.sum(key, signature, message))
        });
        let mut sums: Vec<_> =
            sums.enumerate().filter_map(|(at, sum)| Some((at, sum?))).collect();
        // Those with equal levels are computed in pairs.
        sums.sort_by_key(|(_, sum)| sum.levels());
        let mut points = Vec::with_capacity(sums.len());
        let mut rest = &sums[..];
        while let [(_, first), after @ ..] = rest {
            match after {
                [(_, second), after @ ..] if first.levels() == second.levels() => {
                    points.extend(self.backend.compute_two([first, second]));
                    rest = after;
                }
                _ => {
                    points.push(self.backend.compute(first));
                    rest = after;
                }
            }
        }
        for ((at, _), packed) in sums.iter().zip(Point::compress_each(&points)) {
            are_valid[*at] = packed == items[*at].1[..32];
        }
        are_valid
    }

    /// Returns the sum that must be equal to R, or `None` if the signature is not valid whatever
    /// the sum is.
    fn sum<'a>(
        &'a self,
        key: &'a Key,
        signature: &[u8; 64],
        message: &[u8],
    ) -> Option<Sum<'a>> {
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

/// The signatures whose sums are kept until all are computed.
const AT_ONCE_MAX: usize = 64;

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

#[doc(hidden)]
pub mod probe {
    use super::*;
    pub fn run() {
        use std::hint::black_box;
        let time = |name: &str, f: &mut dyn FnMut()| {
            let mut best = f64::MAX;
            for _ in 0..200 {
                let start = std::time::Instant::now();
                for _ in 0..100 { f(); }
                best = best.min(start.elapsed().as_secs_f64());
            }
            println!("{name}: {:.1} ns", best * 1e9 / 100.);
        };
        let mut y = [0x66; 32];
        y[0] = 0x58;
        let base = Point::decompress(&y).unwrap();
        time("decompress", &mut || { black_box(Point::decompress(black_box(&y))); });
        time("compress", &mut || { black_box(black_box(&base).compress()); });
        time("small", &mut || { black_box(black_box(&base).has_small_order()); });
        let mut f = base.x;
        time("mul", &mut || { f = f.mul(base.y) ; });
        time("square", &mut || { f = f.square() ; });
        black_box(f);
        let mut p = base;
        time("double", &mut || { p = p.double() ; });
        let a = point::Addend::new(&base);
        time("add", &mut || { p = p.add(&a, false) ; });
        black_box(p);
        let m = [7u8; 244];
        time("sha", &mut || { black_box(Sha512::digest(black_box(m))); });
        time("wide", &mut || { black_box(Scalar::from_bytes_mod_order_wide(black_box(&[77;64]))); });
        for backend in Backend::available() {
            for teeth in [1, 8] {
                let table = Table::of_key(backend, &base, teeth);
                let bt = Table::of_base(backend);
                time(&format!("{backend:?} table {teeth}"), &mut || { black_box(Table::of_key(backend, &base, teeth)); });
                time(&format!("{backend:?} sum {teeth}"), &mut || { 
                    let sum = Sum::new(&table, &[0x16; 32], &bt, &[0x12; 32]);
                    black_box(backend.compute(&sum)); });
            }
        }
    }
}
