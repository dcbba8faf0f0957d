//! The sum of signatures with AVX-512 IFMA: one vector register holds a limb of four coordinates.
//!
//! IFMA multiplies numbers of 52 bits and adds either half of the product to 64 bits. Limbs of 51
//! bits leave one bit for sums; every operand of `mul` must have limbs below 2^52. *Short* limbs are
//! below 2^51 + 2^18; products have them.

use core::arch::x86_64::{
    __m256i, _mm256_add_epi64, _mm256_and_si256, _mm256_madd52hi_epu64, _mm256_madd52lo_epu64,
    _mm256_mask_add_epi64, _mm256_mask_permutex_epi64, _mm256_mask_sub_epi64,
    _mm256_maskz_permutex_epi64, _mm256_permutex_epi64, _mm256_set1_epi64x, _mm256_setzero_si256,
    _mm256_slli_epi64, _mm256_srli_epi64,
};

use super::{Four, load, prefetch, store};
use crate::ed25519::{
    field::Field,
    point::{Addend, Point, Quad},
    sum::{Shape, Sum},
};

/// Computes the sum.
#[target_feature(enable = "avx512ifma,avx512vl")]
pub(super) fn compute(sum: &Sum<'_>) -> Point {
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
        for addition in sum.additions(level) {
            if let Some(addend) = addition.addend {
                let addend = negate_if(load(&addend.0), addition.negative);
                point = add(point, addend);
            }
        }
    }
    Point::from_quad(&store(point))
}

/// Computes the multiples of a point.
#[target_feature(enable = "avx512ifma,avx512vl")]
pub(super) fn multiples(point: &Point, shape: Shape, to: &mut Vec<Addend>) {
    let two = Field([2, 0, 0, 0, 0]);
    let factors = load(&Quad::new([Field::ONE, Field::ONE, two, Field::TWO_D]));
    let mut first = load(&point.to_quad());
    for tooth in 0..shape.teeth {
        if tooth > 0 {
            for _ in 0..shape.doublings() {
                first = double(first);
            }
        }
        let (once, mut multiple) = (mul(differences(first), factors), first);
        to.push(Addend(store(once)));
        for _ in 1..shape.multiples {
            multiple = add(multiple, once);
            to.push(Addend(store(mul(differences(multiple), factors))));
        }
    }
}

/// The limbs of 2p: as long as short limbs, or longer.
const TWO_P: [i64; 5] = {
    let limb = (1 << 52) - 2;
    [limb - 36, limb, limb, limb, limb]
};

/// The order of four elements: the place of each.
const fn order(places: [i32; 4]) -> i32 {
    places[0] | places[1] << 2 | places[2] << 4 | places[3] << 6
}

/// Reduces limbs below 2^61 to short ones.
#[target_feature(enable = "avx512ifma,avx512vl")]
#[inline]
fn carry(rows: Four) -> Four {
    let mask = _mm256_set1_epi64x((1 << 51) - 1);
    let [a, b, c, d, e] = rows.map(|row| _mm256_srli_epi64::<51>(row));
    let carries = [times_19(e), a, b, c, d];
    core::array::from_fn(|at| _mm256_add_epi64(_mm256_and_si256(rows[at], mask), carries[at]))
}

#[target_feature(enable = "avx512ifma,avx512vl")]
#[inline]
fn times_19(row: __m256i) -> __m256i {
    _mm256_add_epi64(_mm256_add_epi64(row, _mm256_add_epi64(row, row)), _mm256_slli_epi64::<4>(row))
}

/// Multiplies elements with limbs below 2^52. The products have short limbs.
#[target_feature(enable = "avx512ifma,avx512vl")]
#[inline]
pub(super) fn mul(left: Four, right: Four) -> Four {
    let (mut low, mut high) = ([_mm256_setzero_si256(); 10], [_mm256_setzero_si256(); 10]);
    for (i, one) in left.iter().enumerate() {
        for (j, other) in right.iter().enumerate() {
            low[i + j] = _mm256_madd52lo_epu64(low[i + j], *one, *other);
            high[i + j + 1] = _mm256_madd52hi_epu64(high[i + j + 1], *one, *other);
        }
    }
    // At most five low halves and twice as many high ones: upper halves begin at bit 52, the
    // next limb at bit 51. So a sum is below 2^56, and nineteen times it below 2^61.
    let wide: [__m256i; 10] =
        core::array::from_fn(|at| _mm256_add_epi64(low[at], _mm256_add_epi64(high[at], high[at])));
    carry(core::array::from_fn(|at| _mm256_add_epi64(wide[at], times_19(wide[at + 5]))))
}

/// Returns Y - X, Y + X, Z and T of a point, with short limbs.
#[target_feature(enable = "avx512ifma,avx512vl")]
#[inline]
fn differences(point: Four) -> Four {
    carry(core::array::from_fn(|at| {
        let row = _mm256_permutex_epi64::<{ order([1, 0, 2, 3]) }>(point[at]);
        let row = _mm256_mask_add_epi64(row, 0b0001, row, _mm256_set1_epi64x(TWO_P[at]));
        let row = _mm256_mask_add_epi64(row, 0b0010, row, point[at]);
        _mm256_mask_sub_epi64(row, 0b0001, row, point[at])
    }))
}

/// Negates an addend if `negative`. Limbs stay below 2^52.
#[target_feature(enable = "avx512ifma,avx512vl")]
#[inline]
fn negate_if(addend: Four, negative: bool) -> Four {
    // No branch: half of all digits are negative.
    let mask = if negative { u8::MAX } else { 0 };
    core::array::from_fn(|at| {
        let row = addend[at];
        let swapped =
            _mm256_mask_permutex_epi64::<{ order([1, 0, 2, 3]) }>(row, mask & 0b0011, row);
        _mm256_mask_sub_epi64(swapped, mask & 0b1000, _mm256_set1_epi64x(TWO_P[at]), row)
    })
}

/// Returns the sum of a point and an addend.
#[target_feature(enable = "avx512ifma,avx512vl")]
#[inline]
fn add(point: Four, addend: Four) -> Four {
    // A, B, D, C.
    let products = mul(differences(point), addend);
    // E = B - A, H = B + A, G = D + C, F = D - C.
    finish(core::array::from_fn(|at| {
        let (row, swapped) =
            (products[at], _mm256_permutex_epi64::<{ order([1, 0, 3, 2]) }>(products[at]));
        let biased = _mm256_add_epi64(swapped, _mm256_set1_epi64x(TWO_P[at]));
        _mm256_mask_sub_epi64(_mm256_add_epi64(swapped, row), 0b1001, biased, row)
    }))
}

/// Returns the double of a point.
#[target_feature(enable = "avx512ifma,avx512vl")]
#[inline]
fn double(point: Four) -> Four {
    // XX, YY, ZZ, XY.
    let products = mul(
        point.map(|row| _mm256_permutex_epi64::<{ order([0, 1, 2, 0]) }>(row)),
        point.map(|row| _mm256_permutex_epi64::<{ order([0, 1, 2, 1]) }>(row)),
    );
    // E = -2XY, H = XX + YY, G = XX - YY, F = 2ZZ + XX - YY: all four are negated, which
    // their products are not.
    finish(core::array::from_fn(|at| {
        let row = products[at];
        let xx = _mm256_maskz_permutex_epi64::<0>(0b1110, row);
        let yy = _mm256_permutex_epi64::<{ order([1, 1, 1, 1]) }>(row);
        let rest = _mm256_permutex_epi64::<{ order([3, 2, 2, 2]) }>(row);
        let twice = _mm256_add_epi64(rest, rest);
        let row = _mm256_mask_add_epi64(xx, 0b1101, xx, _mm256_set1_epi64x(2 * TWO_P[at]));
        let row = _mm256_mask_add_epi64(row, 0b1000, row, twice);
        let row = _mm256_mask_sub_epi64(row, 0b0001, row, twice);
        let row = _mm256_mask_add_epi64(row, 0b0010, row, yy);
        _mm256_mask_sub_epi64(row, 0b1100, row, yy)
    }))
}

/// Returns EF, GH, FG and EH, of E, H, G and F with limbs below 2^61.
#[target_feature(enable = "avx512ifma,avx512vl")]
#[inline]
fn finish(rows: Four) -> Four {
    let rows = carry(rows);
    mul(
        rows.map(|row| _mm256_permutex_epi64::<{ order([0, 2, 3, 0]) }>(row)),
        rows.map(|row| _mm256_permutex_epi64::<{ order([3, 1, 2, 1]) }>(row)),
    )
}
