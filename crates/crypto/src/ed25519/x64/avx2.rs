//! The sum of signatures with AVX2: one vector register holds two limbs of four coordinates.
//!
//! AVX2 multiplies numbers of 32 bits, so a limb of 51 bits is split in 26 and 25. Both lie in one
//! lane of 64 bits, the lower one first. Of a product, the lower limbs are below 2^26 + 2^18 and the
//! upper ones below 2^25 + 2^17: they are *short*. Sums and differences are not carried; what each
//! operand of [`mul`] may be states how long they get.

use core::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_add_epi64, _mm256_and_si256, _mm256_blend_epi32,
    _mm256_mul_epu32, _mm256_or_si256, _mm256_permute4x64_epi64, _mm256_set_epi64x,
    _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_shuffle_epi32, _mm256_slli_epi64,
    _mm256_srli_epi64, _mm256_sub_epi32,
};

use super::{Four, load, prefetch, store};
use crate::ed25519::{
    field::Field,
    point::{Addend, Point, Quad},
    sum::{Shape, Sum},
};

/// Computes the sum.
#[target_feature(enable = "avx2")]
pub(super) fn compute(sum: &Sum<'_>) -> Point {
    let mut point = split(&Point::IDENTITY.to_quad());
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
                point = add(point, negate_if(load(&addend.0), addition.negative));
            }
        }
    }
    Point::from_quad(&join(point))
}

/// Computes the multiples of a point. The rows of the addends hold limbs of 32 bits.
#[target_feature(enable = "avx2")]
pub(super) fn multiples(point: &Point, shape: Shape, to: &mut Vec<Addend>) {
    let two = Field([2, 0, 0, 0, 0]);
    let factors = split(&Quad::new([Field::ONE, Field::ONE, two, Field::TWO_D]));
    let mut first = split(&point.to_quad());
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

/// Splits short limbs of 51 bits.
#[target_feature(enable = "avx2")]
fn split(quad: &Quad) -> Four {
    load(&Quad(quad.0.map(|row| row.map(|limb| (limb & LOW) | limb >> 26 << 32))))
}

/// Joins short limbs to some of 51 bits and a little more.
#[target_feature(enable = "avx2")]
fn join(four: Four) -> Quad {
    Quad(store(four).0.map(|row| row.map(|limb| (limb & u64::from(u32::MAX)) + (limb >> 32 << 26))))
}

/// The bits of a lower limb, and of an upper one.
const LOW: u64 = (1 << 26) - 1;
const HIGH: u64 = (1 << 25) - 1;

/// The limbs of a multiple of p, in one lane of each row. Those of 2p are as long as short limbs, or
/// longer, and those of 4p as long as the sum of three of them.
const fn multiple_of_p(times: u64) -> [i64; 5] {
    let row = ((times * HIGH) << 32) | (times * LOW);
    let rows = [row - times * 18, row, row, row, row];
    let mut signed = [0; 5];
    let mut at = 0;
    while at < 5 {
        signed[at] = rows[at].cast_signed();
        at += 1;
    }
    signed
}
const TWO_P: [i64; 5] = multiple_of_p(2);
const FOUR_P: [i64; 5] = multiple_of_p(4);

#[target_feature(enable = "avx2")]
#[inline]
fn times_19(row: __m256i) -> __m256i {
    let (twice, times16) = (_mm256_add_epi64(row, row), _mm256_slli_epi64::<4>(row));
    _mm256_add_epi64(_mm256_add_epi64(row, twice), times16)
}

/// Moves what each limb has beyond 26 or 25 bits to the next one.
#[target_feature(enable = "avx2")]
#[inline]
fn carry(limbs: [__m256i; 10]) -> [__m256i; 10] {
    let masks = [LOW, HIGH].map(|mask| _mm256_set1_epi64x(mask.cast_signed()));
    let carries: [__m256i; 10] = core::array::from_fn(|at| match at % 2 {
        0 => _mm256_srli_epi64::<26>(limbs[at]),
        _ => _mm256_srli_epi64::<25>(limbs[at]),
    });
    core::array::from_fn(|at| {
        let carry = if at == 0 { times_19(carries[9]) } else { carries[at - 1] };
        _mm256_add_epi64(_mm256_and_si256(limbs[at], masks[at % 2]), carry)
    })
}

/// Multiplies four pairs of elements. The products are short. The lower limbs of `left` must be
/// below 2^28.4, those of `right` below 2^27.7, the upper ones below half of that.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn mul(left: Four, right: Four) -> Four {
    // A multiplication ignores the upper half of a lane.
    let limbs = |four: Four| -> [__m256i; 10] {
        core::array::from_fn(|at| match at % 2 {
            0 => four[at / 2],
            _ => _mm256_srli_epi64::<32>(four[at / 2]),
        })
    };
    let (x, y) = (limbs(left), limbs(right));
    let nineteen = _mm256_set1_epi64x(19);
    // The limbs of 19 y, which are below 2^32, then those of y.
    let mut y19_y = [nineteen; 20];
    for at in 0..10 {
        (y19_y[at], y19_y[at + 10]) = (_mm256_mul_epu32(y[at], nineteen), y[at]);
    }
    // A sum has five products below 2^56.1 and five below 2^55.1, up to nineteen times each: it is
    // below 2^63.3.
    let mut wide = [_mm256_setzero_si256(); 10];
    multiply_add::<0>(&mut wide, x[0], &y19_y);
    multiply_add::<1>(&mut wide, x[1], &y19_y);
    multiply_add::<2>(&mut wide, x[2], &y19_y);
    multiply_add::<3>(&mut wide, x[3], &y19_y);
    multiply_add::<4>(&mut wide, x[4], &y19_y);
    multiply_add::<5>(&mut wide, x[5], &y19_y);
    multiply_add::<6>(&mut wide, x[6], &y19_y);
    multiply_add::<7>(&mut wide, x[7], &y19_y);
    multiply_add::<8>(&mut wide, x[8], &y19_y);
    multiply_add::<9>(&mut wide, x[9], &y19_y);
    // After the first pass limbs are below 2^43, after the second they are short.
    let limbs = carry(carry(wide));
    core::array::from_fn(|at| {
        _mm256_or_si256(limbs[2 * at], _mm256_slli_epi64::<32>(limbs[2 * at + 1]))
    })
}

/// Adds the products of limb `I` of x with all limbs of y.
#[target_feature(enable = "avx2")]
#[inline]
fn multiply_add<const I: usize>(wide: &mut [__m256i; 10], x: __m256i, y19_y: &[__m256i; 20]) {
    let twice = _mm256_add_epi32(x, x);
    for at in 0..10 {
        // Limbs i and j, if both are upper ones, have one bit more than the limb i + j.
        let x = if I % 2 == 1 && at % 2 == 0 { twice } else { x };
        wide[at] = _mm256_add_epi64(wide[at], _mm256_mul_epu32(x, y19_y[10 + at - I]));
    }
}

/// The order of four elements: the place of each.
const fn order(places: [i32; 4]) -> i32 {
    places[0] | places[1] << 2 | places[2] << 4 | places[3] << 6
}

#[target_feature(enable = "avx2")]
#[inline]
fn permute<const ORDER: i32>(four: Four) -> Four {
    four.map(|row| _mm256_permute4x64_epi64::<ORDER>(row))
}

/// Swaps the elements 0 and 1, and 2 and 3.
#[target_feature(enable = "avx2")]
#[inline]
fn swap(row: __m256i) -> __m256i {
    _mm256_shuffle_epi32::<0b01_00_11_10>(row)
}

/// The elements of a blend as bits of its lanes of 32 bits.
const fn lanes(elements: [i32; 4]) -> i32 {
    elements[0] * 3 + elements[1] * 12 + elements[2] * 48 + elements[3] * 192
}

/// Returns Y - X, Y + X, Z and T of a short point. Limbs are below 2^27.6 and 2^26.6.
#[target_feature(enable = "avx2")]
#[inline]
fn differences(point: Four) -> Four {
    core::array::from_fn(|at| {
        let (row, swapped) = (point[at], swap(point[at]));
        let biased = _mm256_add_epi32(swapped, _mm256_set1_epi64x(TWO_P[at]));
        let difference = _mm256_sub_epi32(biased, row);
        let sum = _mm256_add_epi32(swapped, row);
        let both = _mm256_blend_epi32::<{ lanes([0, 1, 0, 0]) }>(difference, sum);
        _mm256_blend_epi32::<{ lanes([0, 0, 1, 1]) }>(both, row)
    })
}

/// Negates a short addend if `negative`. Limbs are below 2^27 and 2^26.
#[target_feature(enable = "avx2")]
#[inline]
fn negate_if(addend: Four, negative: bool) -> Four {
    if !negative {
        return addend;
    }
    core::array::from_fn(|at| {
        let row = addend[at];
        let negated = _mm256_sub_epi32(_mm256_set1_epi64x(TWO_P[at]), row);
        let rest = _mm256_blend_epi32::<{ lanes([0, 0, 1, 0]) }>(swap(row), row);
        _mm256_blend_epi32::<{ lanes([0, 0, 0, 1]) }>(rest, negated)
    })
}

/// Returns the sum of a point and an addend.
#[target_feature(enable = "avx2")]
#[inline]
fn add(point: Four, addend: Four) -> Four {
    // A, B, D, C.
    let products = mul(differences(point), addend);
    // E = B - A, H = B + A, G = D + C, F = D - C: all below 2^27.6 and 2^26.6.
    finish(core::array::from_fn(|at| {
        let (row, swapped) = (products[at], swap(products[at]));
        let biased = _mm256_add_epi32(swapped, _mm256_set1_epi64x(TWO_P[at]));
        let difference = _mm256_sub_epi32(biased, row);
        let sum = _mm256_add_epi32(swapped, row);
        _mm256_blend_epi32::<{ lanes([0, 1, 1, 0]) }>(difference, sum)
    }))
}

/// Returns the double of a point.
#[target_feature(enable = "avx2")]
#[inline]
fn double(point: Four) -> Four {
    // XX, YY, ZZ, XY.
    let products =
        mul(permute::<{ order([0, 1, 2, 0]) }>(point), permute::<{ order([0, 1, 2, 1]) }>(point));
    // E = 2XY, H = -XX - YY, G = YY - XX, F = YY - XX - 2ZZ: E and G are below 2^27.6 and 2^26.6, H
    // and F below 2^28.4 and 2^27.4.
    finish(core::array::from_fn(|at| {
        let row = products[at];
        let xx = _mm256_permute4x64_epi64::<{ order([0, 0, 0, 0]) }>(row);
        let yy = _mm256_permute4x64_epi64::<{ order([1, 1, 1, 1]) }>(row);
        let rest = _mm256_permute4x64_epi64::<{ order([3, 2, 2, 2]) }>(row);
        let twice = _mm256_add_epi32(rest, rest);
        let bias = _mm256_set_epi64x(FOUR_P[at], TWO_P[at], FOUR_P[at], 0);
        let negated = _mm256_sub_epi32(bias, xx);
        let plus = _mm256_add_epi32(negated, yy);
        let h = _mm256_sub_epi32(negated, yy);
        let f = _mm256_sub_epi32(plus, twice);
        let e_h = _mm256_blend_epi32::<{ lanes([0, 1, 0, 0]) }>(twice, h);
        let g_f = _mm256_blend_epi32::<{ lanes([0, 0, 0, 1]) }>(plus, f);
        _mm256_blend_epi32::<{ lanes([0, 0, 1, 1]) }>(e_h, g_f)
    }))
}

/// Returns EF, GH, FG and EH, of E, H, G and F.
#[target_feature(enable = "avx2")]
#[inline]
fn finish(four: Four) -> Four {
    mul(permute::<{ order([3, 1, 3, 1]) }>(four), permute::<{ order([0, 2, 2, 0]) }>(four))
}
