//! The sum of [`super::sum`] with AVX-512 IFMA: one vector register holds a limb of four coordinates.
//!
//! IFMA multiplies numbers of 52 bits and adds either half of the product to 64 bits. Limbs of 51
//! bits leave one bit for sums; every operand of [`mul`] must have limbs below 2^52. *Short* limbs are
//! below 2^51 + 2^18.

#![allow(
    unsafe_code,
    reason = "functions that need instructions of the processor, and loads of aligned rows"
)]

use core::arch::x86_64::{
    __m256i, _MM_HINT_T0, _mm_prefetch, _mm256_add_epi64, _mm256_and_si256, _mm256_load_si256,
    _mm256_madd52hi_epu64, _mm256_madd52lo_epu64, _mm256_permute4x64_epi64, _mm256_set1_epi64x,
    _mm256_setzero_si256, _mm256_slli_epi64, _mm256_srli_epi64, _mm256_store_si256,
    _mm256_mask_sub_epi64, _mm256_mask_add_epi64,     _mm256_maskz_permutex_epi64, _mm256_mask_permutex_epi64,
};

use super::{
    field::Field,
    point::{Addend, Point, Quad},
    sum::{Shape, Sum},
};

/// Returns whether the processor has what this module needs.
pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx512ifma") && is_x86_feature_detected!("avx512vl")
}

/// Computes the sum.
///
/// # Panics
/// If the processor lacks the instructions.
pub(super) fn compute(sum: &Sum<'_>) -> Point {
    assert!(is_available(), "the backend is chosen by what the processor has");
    // SAFETY: the processor has the features of the function.
    unsafe { compute_with_ifma(sum) }
}

/// Computes the multiples of a point.
///
/// # Panics
/// If the processor lacks the instructions.
pub(super) fn multiples(point: &Point, shape: Shape, to: &mut Vec<Addend>) {
    assert!(is_available(), "the backend is chosen by what the processor has");
    // SAFETY: the processor has the features of the function.
    unsafe { multiples_with_ifma(point, shape, to) }
}

#[target_feature(enable = "avx512ifma,avx512vl")]
fn compute_with_ifma(sum: &Sum<'_>) -> Point {
    let mut point = load(&Point::IDENTITY.to_quad());
    prefetch(sum, sum.levels() - 1);
    for level in (0..sum.levels()).rev() {
        if level > 0 {
            prefetch(sum, level - 1);
        }
        if level + 1 < sum.levels() {
            for _ in 0..4 {
                point = double(point);
            }
        }
        for (addend, negative) in sum.addends(level) {
            point = add(point, negate_if(load(&addend.0), negative));
        }
    }
    Point::from_quad(&store(point))
}

#[target_feature(enable = "avx512ifma,avx512vl")]
fn multiples_with_ifma(point: &Point, shape: Shape, to: &mut Vec<Addend>) {
    let two = Field([2, 0, 0, 0, 0]);
    let factors = load(&Quad::new([Field::ONE, Field::ONE, two, Field::TWO_D]));
    let mut first = load(&point.to_quad());
    for tooth in 0..shape.teeth {
        if tooth > 0 {
            for _ in 0..shape.doublings() {
                first = double(first);
            }
        }
        let (one, mut multiple) = (mul(differences(first), factors), first);
        to.push(Addend(store(one)));
        for _ in 1..shape.multiples {
            multiple = add(multiple, one);
            to.push(Addend(store(mul(differences(multiple), factors))));
        }
    }
}

/// Fetches the addends of a level into the cache.
fn prefetch(sum: &Sum<'_>, level: usize) {
    for (addend, _) in sum.addends(level) {
        for row in addend.0.0.iter().step_by(2) {
            // SAFETY: a hint, which accesses no memory.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(row.as_ptr().cast()) }
        }
    }
}

/// Four elements of the field: row by row.
type Four = [__m256i; 5];

#[target_feature(enable = "avx512ifma,avx512vl")]
#[inline]
fn load(quad: &Quad) -> Four {
    // SAFETY: a row is 32 bytes long, and rows are aligned to that.
    core::array::from_fn(|row| unsafe { _mm256_load_si256(quad.0[row].as_ptr().cast()) })
}

#[target_feature(enable = "avx512ifma,avx512vl")]
#[inline]
fn store(four: Four) -> Quad {
    let mut quad = Quad([[0; 4]; 5]);
    for (row, limbs) in quad.0.iter_mut().zip(four) {
        // SAFETY: a row is 32 bytes long, and rows are aligned to that.
        unsafe { _mm256_store_si256(row.as_mut_ptr().cast(), limbs) }
    }
    quad
}

/// The limbs of 2p: as long as short limbs, or longer.
const TWO_P: [i64; 5] = {
    let limb = (1 << 52) - 2;
    [limb - 36, limb, limb, limb, limb]
};

/// Reduces limbs below 2^60 to short ones.
#[target_feature(enable = "avx512ifma,avx512vl")]
#[inline]
fn carry(four: Four) -> Four {
    let mask = _mm256_set1_epi64x((1 << 51) - 1);
    let [a, b, c, d, e] = four.map(|row| _mm256_srli_epi64::<51>(row));
    let e19 = times_19(e);
    let carries = [e19, a, b, c, d];
    core::array::from_fn(|at| {
        _mm256_add_epi64(_mm256_and_si256(four[at], mask), carries[at])
    })
}

#[target_feature(enable = "avx512ifma,avx512vl")]
#[inline]
fn times_19(row: __m256i) -> __m256i {
    let (twice, times16) = (_mm256_add_epi64(row, row), _mm256_slli_epi64::<4>(row));
    _mm256_add_epi64(_mm256_add_epi64(row, twice), times16)
}

/// Multiplies four pairs of elements with limbs below 2^52. The products have short limbs.
#[target_feature(enable = "avx512ifma,avx512vl")]
#[inline]
fn mul(left: Four, right: Four) -> Four {
    let zero = _mm256_setzero_si256();
    let (mut low, mut high) = ([zero; 10], [zero; 10]);
    for (i, one) in left.iter().enumerate() {
        for (j, other) in right.iter().enumerate() {
            low[i + j] = _mm256_madd52lo_epu64(low[i + j], *one, *other);
            high[i + j + 1] = _mm256_madd52hi_epu64(high[i + j + 1], *one, *other);
        }
    }
    // A sum has at most five low halves and twice as many high ones: the upper halves begin at bit
    // 52, the next limb at bit 51. Hence a sum is below 2^56, and nineteen times it below 2^61.
    let wide: [_; 10] =
        core::array::from_fn(|at| {
            _mm256_add_epi64(low[at], _mm256_add_epi64(high[at], high[at]))
        });
    carry(core::array::from_fn(|at| _mm256_add_epi64(wide[at], times_19(wide[at + 5]))))
}

/// The order of four elements: the place of each.
const fn order(places: [i32; 4]) -> i32 {
    places[0] | places[1] << 2 | places[2] << 4 | places[3] << 6
}

#[target_feature(enable = "avx512ifma,avx512vl")]
#[inline]
fn permute<const ORDER: i32>(four: Four) -> Four {
    four.map(|row| _mm256_permute4x64_epi64::<ORDER>(row))
}

/// Returns Y - X, Y + X, Z and T of a point, with short limbs.
#[target_feature(enable = "avx512ifma,avx512vl")]
#[inline]
fn differences(point: Four) -> Four {
    let swapped = permute::<{ order([1, 0, 2, 3]) }>(point);
    carry(core::array::from_fn(|at| {
        let biased = _mm256_mask_add_epi64(swapped[at], 1, swapped[at], _mm256_set1_epi64x(TWO_P[at]));
        let sum = _mm256_mask_add_epi64(biased, 2, biased, point[at]);
        _mm256_mask_sub_epi64(sum, 1, sum, point[at])
    }))
}

/// Negates an addend if `negative`. Its limbs stay below 2^52.
#[target_feature(enable = "avx512ifma,avx512vl")]
#[inline]
fn negate_if(addend: Four, negative: bool) -> Four {
    let mask = if negative { u8::MAX } else { 0 };
    core::array::from_fn(|at| {
        let row = addend[at];
        let swapped =
            _mm256_mask_permutex_epi64::<{ order([1, 0, 2, 3]) }>(row, mask & 3, row);
        _mm256_mask_sub_epi64(swapped, mask & 8, _mm256_set1_epi64x(TWO_P[at]), row)
    })
}

/// Returns the sum of a point and an addend.
#[target_feature(enable = "avx512ifma,avx512vl")]
#[inline]
fn add(point: Four, addend: Four) -> Four {
    // A, B, D, C.
    let products = mul(differences(point), addend);
    // B - A = E, B + A = H, D + C = G, D - C = F.
    let swapped = permute::<{ order([1, 0, 3, 2]) }>(products);
    finish::<{ order([0, 2, 3, 0]) }, { order([3, 1, 2, 1]) }>(core::array::from_fn(|at| {
        let (one, other) = (swapped[at], products[at]);
        let biased = _mm256_add_epi64(one, _mm256_set1_epi64x(TWO_P[at]));
        _mm256_mask_sub_epi64(_mm256_add_epi64(one, other), 0b1001, biased, other)
    }))
}

/// Returns the double of a point.
#[target_feature(enable = "avx512ifma,avx512vl")]
#[inline]
fn double(point: Four) -> Four {
    // XX, YY, ZZ, XY.
    let products =
        mul(permute::<{ order([0, 1, 2, 0]) }>(point), permute::<{ order([0, 1, 2, 1]) }>(point));
    // -2XY = E, XX + YY = H, XX - YY = G, 2ZZ + XX - YY = F.
    finish::<{ order([0, 2, 3, 0]) }, { order([3, 1, 2, 1]) }>(core::array::from_fn(|at| {
        let row = products[at];
        let xx = _mm256_maskz_permutex_epi64::<0>(0b1110, row);
        let yy = _mm256_permute4x64_epi64::<{ order([1, 1, 1, 1]) }>(row);
        let rest = _mm256_maskz_permutex_epi64::<{ order([3, 0, 0, 2]) }>(0b1001, row);
        let rest = _mm256_add_epi64(rest, rest);
        let biased = _mm256_mask_add_epi64(xx, 0b1101, xx, _mm256_set1_epi64x(2 * TWO_P[at]));
        let sum = _mm256_mask_add_epi64(biased, 0b1010, biased, rest);
        let sum = _mm256_mask_sub_epi64(sum, 0b0001, sum, rest);
        let sum = _mm256_mask_add_epi64(sum, 0b0010, sum, yy);
        _mm256_mask_sub_epi64(sum, 0b1100, sum, yy)
    }))
}

/// Returns EF, GH, FG and EH, of E, H, G and F with limbs below 2^60.
#[target_feature(enable = "avx512ifma,avx512vl")]
#[inline]
fn finish<const LEFT: i32, const RIGHT: i32>(four: Four) -> Four {
    let four = carry(four);
    mul(permute::<LEFT>(four), permute::<RIGHT>(four))
}
