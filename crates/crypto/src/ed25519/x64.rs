//! The sum of [`super::sum`] with the vector instructions of x86-64.
//!
//! A [`Quad`] is five vector registers; a row of it is one. This module holds what is unsafe about
//! that: it calls functions that need certain instructions, and loads and stores rows. Whether the
//! processor has the instructions is checked before each call; the check reads a variable.

#![allow(
    unsafe_code,
    reason = "functions that need instructions of the processor, and loads of aligned rows"
)]

mod avx2;
mod ifma;

use core::arch::x86_64::{
    __m256i, _MM_HINT_T0, _mm_prefetch, _mm256_load_si256, _mm256_store_si256,
};

use super::{
    point::{Addend, Point, Quad},
    sum::{Shape, Sum},
};

/// Returns whether the processor has AVX2.
pub(super) fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
}

/// Returns whether the processor has AVX-512 IFMA.
pub(super) fn has_ifma() -> bool {
    is_x86_feature_detected!("avx512ifma") && is_x86_feature_detected!("avx512vl")
}

/// Computes a sum with AVX2.
///
/// # Panics
/// If the processor lacks the instructions; so do the functions below.
pub(super) fn compute_with_avx2(sum: &Sum<'_>) -> Point {
    assert!(has_avx2(), "a backend is chosen by what the processor has");
    // SAFETY: the processor has what the function needs.
    unsafe { avx2::compute(sum) }
}

/// Appends the multiples of a point, computed with AVX2.
pub(super) fn multiples_with_avx2(point: &Point, shape: Shape, to: &mut Vec<Addend>) {
    assert!(has_avx2(), "a backend is chosen by what the processor has");
    // SAFETY: the processor has what the function needs.
    unsafe { avx2::multiples(point, shape, to) }
}

/// Computes a sum with AVX-512 IFMA.
pub(super) fn compute_with_ifma(sum: &Sum<'_>) -> Point {
    assert!(has_ifma(), "a backend is chosen by what the processor has");
    // SAFETY: the processor has what the function needs.
    unsafe { ifma::compute(sum) }
}

/// Appends the multiples of a point, computed with AVX-512 IFMA.
pub(super) fn multiples_with_ifma(point: &Point, shape: Shape, to: &mut Vec<Addend>) {
    assert!(has_ifma(), "a backend is chosen by what the processor has");
    // SAFETY: the processor has what the function needs.
    unsafe { ifma::multiples(point, shape, to) }
}

/// Four elements of the field: row by row.
type Four = [__m256i; 5];

#[target_feature(enable = "avx")]
#[inline]
fn load(quad: &Quad) -> Four {
    // SAFETY: a row is 32 bytes long, and rows are aligned to that.
    core::array::from_fn(|row| unsafe { _mm256_load_si256(quad.0[row].as_ptr().cast()) })
}

#[target_feature(enable = "avx")]
#[inline]
fn store(four: Four) -> Quad {
    let mut quad = Quad([[0; 4]; 5]);
    for (row, limbs) in quad.0.iter_mut().zip(four) {
        // SAFETY: a row is 32 bytes long, and rows are aligned to that.
        unsafe { _mm256_store_si256(row.as_mut_ptr().cast(), limbs) }
    }
    quad
}

/// Fetches the addends of a level into the cache.
#[inline]
fn prefetch(sum: &Sum<'_>, level: usize) {
    for addend in sum.additions(level).iter().filter_map(|it| it.addend) {
        // The rows of 160 bytes that begin a line of 64 bytes, or end in one.
        for row in addend.0.0.iter().step_by(2) {
            // SAFETY: this is a hint, and accesses no memory.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(row.as_ptr().cast()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ed25519::field::{Field, tests::LongLimbs};

    #[test]
    fn ifma_multiplies_the_longest_limbs() {
        let mut limbs = LongLimbs::default();
        let mut four = || [0; 4].map(|_| Field([0; 5].map(|_| limbs.below(1 << 52))));
        for _ in 0..if has_ifma() { 5000 } else { 0 } {
            let (left, right) = (four(), four());
            // SAFETY: the processor has the instructions.
            let products =
                unsafe { store(ifma::mul(load(&Quad::new(left)), load(&Quad::new(right)))) };
            for (at, product) in products.columns().into_iter().enumerate() {
                product.assert_is_short();
                left[at].assert_product(right[at], product);
            }
        }
    }

    #[test]
    fn avx2_multiplies_the_longest_limbs() {
        let mut limbs = LongLimbs::default();
        // The ends of the lower limbs: 2^28.4 and 2^27.7.
        let mut four = |end| {
            Quad([[0; 4]; 5].map(|row| row.map(|_| limbs.below(end) | limbs.below(end / 2) << 32)))
        };
        let joined = |quad: &Quad, element: usize| {
            Field(quad.0.map(|row| (row[element] & 0xffff_ffff) + (row[element] >> 32 << 26)))
        };
        for _ in 0..if has_avx2() { 5000 } else { 0 } {
            let (left, right) = (four(354_200_000), four(218_000_000));
            // SAFETY: the processor has the instructions.
            let products = unsafe { store(avx2::mul(load(&left), load(&right))) };
            for limb in products.0.iter().flatten() {
                assert!(limb & 0xffff_ffff < (1 << 26) + (1 << 18), "{limb:x}");
                assert!(limb >> 32 < (1 << 25) + (1 << 17), "{limb:x}");
            }
            for at in 0..4 {
                joined(&left, at).assert_product(joined(&right, at), joined(&products, at));
            }
        }
    }
}
