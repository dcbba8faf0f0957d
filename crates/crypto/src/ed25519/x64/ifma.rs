//! The sum of signatures with AVX-512 IFMA: one vector register holds a limb of four coordinates, or
//! a limb of the four coordinates of two points.
//!
//! IFMA multiplies numbers of 52 bits and adds either half of the product to 64 bits. Limbs of 51
//! bits leave one bit for sums; every operand of `mul` must have limbs below 2^52. *Short* limbs are
//! below 2^51 + 2^18; products have them.

use core::arch::x86_64::{
    __m512i, _mm512_castsi256_si512, _mm512_castsi512_si256, _mm512_extracti64x4_epi64,
    _mm512_inserti64x4,
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
                point = one::double(point);
            }
        }
        for (addend, negative) in sum.addends(level) {
            point = one::add(point, one::negate(load(&addend.0), mask(negative)));
        }
    }
    Point::from_quad(&store(point))
}

/// Computes two sums at once. They must have the same number of levels.
#[target_feature(enable = "avx512ifma,avx512vl")]
pub(super) fn compute_two(sums: [&Sum<'_>; 2]) -> [Point; 2] {
    let levels = sums[0].levels();
    assert_eq!(levels, sums[1].levels(), "both sums have the same steps");
    let identity = load(&Point::IDENTITY.to_quad());
    let mut points = join(identity, identity);
    sums.map(|sum| prefetch(sum, levels - 1));
    for level in (0..levels).rev() {
        if level > 0 {
            sums.map(|sum| prefetch(sum, level - 1));
        }
        if level + 1 < levels {
            for _ in 0..4 {
                points = two::double(points);
            }
        }
        let [first, second] = sums.map(|sum| sum.all_addends(level));
        for ((one, negate_one), (other, negate_other)) in first.zip(second) {
            let addends = join(load(&one.0), load(&other.0));
            let negate = mask(negate_one) | mask(negate_other) << 4;
            points = two::add(points, two::negate(addends, negate));
        }
    }
    let first = points.map(|row| _mm512_castsi512_si256(row));
    let second = points.map(|row| _mm512_extracti64x4_epi64::<1>(row));
    [first, second].map(|four| Point::from_quad(&store(four)))
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
                first = one::double(first);
            }
        }
        let (once, mut multiple) = (one::mul(one::differences(first), factors), first);
        to.push(Addend(store(once)));
        for _ in 1..shape.multiples {
            multiple = one::add(multiple, once);
            to.push(Addend(store(one::mul(one::differences(multiple), factors))));
        }
    }
}

/// All elements of a point, if `negative`.
#[inline]
fn mask(negative: bool) -> u8 {
    if negative { 0b1111 } else { 0 }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn join(first: Four, second: Four) -> [__m512i; 5] {
    core::array::from_fn(|at| {
        _mm512_inserti64x4::<1>(_mm512_castsi256_si512(first[at]), second[at])
    })
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

/// Arithmetic on rows of one kind of register. Masks are given for one point, and `$points` repeats
/// them.
macro_rules! arithmetic {
    ($points:literal, $($instruction:ident as $name:ident),*) => {
        use core::arch::x86_64::{$($instruction as $name),*};

        use super::{TWO_P, order};

        type Rows = [Row; 5];

        /// Reduces limbs below 2^61 to short ones.
        #[target_feature(enable = "avx512ifma,avx512vl")]
        #[inline]
        fn carry(rows: Rows) -> Rows {
            let mask = splat((1 << 51) - 1);
            let [a, b, c, d, e] = rows.map(|row| shift_right::<51>(row));
            let carries = [times_19(e), a, b, c, d];
            core::array::from_fn(|at| sum(and(rows[at], mask), carries[at]))
        }

        #[target_feature(enable = "avx512ifma,avx512vl")]
        #[inline]
        fn times_19(row: Row) -> Row {
            sum(sum(row, sum(row, row)), shift_left::<4>(row))
        }

        /// Multiplies elements with limbs below 2^52. The products have short limbs.
        #[target_feature(enable = "avx512ifma,avx512vl")]
        #[inline]
        pub(super) fn mul(left: Rows, right: Rows) -> Rows {
            let (mut low, mut high) = ([zero(); 10], [zero(); 10]);
            for (i, one) in left.iter().enumerate() {
                for (j, other) in right.iter().enumerate() {
                    low[i + j] = add_low(low[i + j], *one, *other);
                    high[i + j + 1] = add_high(high[i + j + 1], *one, *other);
                }
            }
            // At most five low halves and twice as many high ones: upper halves begin at bit 52, the
            // next limb at bit 51. So a sum is below 2^56, and nineteen times it below 2^61.
            let wide: [Row; 10] =
                core::array::from_fn(|at| sum(low[at], sum(high[at], high[at])));
            carry(core::array::from_fn(|at| sum(wide[at], times_19(wide[at + 5]))))
        }

        /// Returns Y - X, Y + X, Z and T of a point, with short limbs.
        #[target_feature(enable = "avx512ifma,avx512vl")]
        #[inline]
        pub(super) fn differences(point: Rows) -> Rows {
            carry(core::array::from_fn(|at| {
                let row = permute::<{ order([1, 0, 2, 3]) }>(point[at]);
                let row = masked_sum(row, $points * 0b0001, row, splat(TWO_P[at]));
                let row = masked_sum(row, $points * 0b0010, row, point[at]);
                masked_difference(row, $points * 0b0001, row, point[at])
            }))
        }

        /// Negates those addends of which `mask` has all bits. Limbs stay below 2^52.
        #[target_feature(enable = "avx512ifma,avx512vl")]
        #[inline]
        pub(super) fn negate(addend: Rows, mask: u8) -> Rows {
            core::array::from_fn(|at| {
                let row = addend[at];
                let swapped =
                    masked_permute::<{ order([1, 0, 2, 3]) }>(row, mask & ($points * 0b0011), row);
                masked_difference(swapped, mask & ($points * 0b1000), splat(TWO_P[at]), row)
            })
        }

        /// Returns the sum of a point and an addend.
        #[target_feature(enable = "avx512ifma,avx512vl")]
        #[inline]
        pub(super) fn add(point: Rows, addend: Rows) -> Rows {
            // A, B, D, C.
            let products = mul(differences(point), addend);
            // E = B - A, H = B + A, G = D + C, F = D - C.
            finish(core::array::from_fn(|at| {
                let (row, swapped) =
                    (products[at], permute::<{ order([1, 0, 3, 2]) }>(products[at]));
                let biased = sum(swapped, splat(TWO_P[at]));
                masked_difference(sum(swapped, row), $points * 0b1001, biased, row)
            }))
        }

        /// Returns the double of a point.
        #[target_feature(enable = "avx512ifma,avx512vl")]
        #[inline]
        pub(super) fn double(point: Rows) -> Rows {
            // XX, YY, ZZ, XY.
            let products = mul(
                point.map(|row| permute::<{ order([0, 1, 2, 0]) }>(row)),
                point.map(|row| permute::<{ order([0, 1, 2, 1]) }>(row)),
            );
            // E = -2XY, H = XX + YY, G = XX - YY, F = 2ZZ + XX - YY: all four are negated, which
            // their products are not.
            finish(core::array::from_fn(|at| {
                let row = products[at];
                let xx = masked_zero_permute::<0>($points * 0b1110, row);
                let yy = permute::<{ order([1, 1, 1, 1]) }>(row);
                let rest = permute::<{ order([3, 2, 2, 2]) }>(row);
                let twice = sum(rest, rest);
                let row = masked_sum(xx, $points * 0b1101, xx, splat(2 * TWO_P[at]));
                let row = masked_sum(row, $points * 0b1000, row, twice);
                let row = masked_difference(row, $points * 0b0001, row, twice);
                let row = masked_sum(row, $points * 0b0010, row, yy);
                masked_difference(row, $points * 0b1100, row, yy)
            }))
        }

        /// Returns EF, GH, FG and EH, of E, H, G and F with limbs below 2^61.
        #[target_feature(enable = "avx512ifma,avx512vl")]
        #[inline]
        fn finish(rows: Rows) -> Rows {
            let rows = carry(rows);
            mul(
                rows.map(|row| permute::<{ order([0, 2, 3, 0]) }>(row)),
                rows.map(|row| permute::<{ order([3, 1, 2, 1]) }>(row)),
            )
        }
    };
}

/// One point.
mod one {
    arithmetic!(
        0b1,
        __m256i as Row,
        _mm256_add_epi64 as sum,
        _mm256_and_si256 as and,
        _mm256_madd52hi_epu64 as add_high,
        _mm256_madd52lo_epu64 as add_low,
        _mm256_mask_add_epi64 as masked_sum,
        _mm256_mask_permutex_epi64 as masked_permute,
        _mm256_mask_sub_epi64 as masked_difference,
        _mm256_maskz_permutex_epi64 as masked_zero_permute,
        _mm256_permutex_epi64 as permute,
        _mm256_set1_epi64x as splat,
        _mm256_setzero_si256 as zero,
        _mm256_slli_epi64 as shift_left,
        _mm256_srli_epi64 as shift_right
    );
}

/// Two points, side by side.
mod two {
    arithmetic!(
        0b1_0001,
        __m512i as Row,
        _mm512_add_epi64 as sum,
        _mm512_and_si512 as and,
        _mm512_madd52hi_epu64 as add_high,
        _mm512_madd52lo_epu64 as add_low,
        _mm512_mask_add_epi64 as masked_sum,
        _mm512_mask_permutex_epi64 as masked_permute,
        _mm512_mask_sub_epi64 as masked_difference,
        _mm512_maskz_permutex_epi64 as masked_zero_permute,
        _mm512_permutex_epi64 as permute,
        _mm512_set1_epi64 as splat,
        _mm512_setzero_si512 as zero,
        _mm512_slli_epi64 as shift_left,
        _mm512_srli_epi64 as shift_right
    );
}
