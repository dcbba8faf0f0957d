//! Test whether 32 bytes are a point of the curve, without computing the point.
//!
//! The bytes are a coordinate y, and there is a point if (y² - 1) / (dy² + 1) is a square modulo
//! 2^255 - 19, or equivalently, if (y² - 1)(dy² + 1) is one. Euler's criterion takes about 250
//! multiplications; this module computes the Jacobi symbol by quadratic reciprocity in the manner of
//! a binary GCD. Addresses are public, so the run time may depend on them.

/// A number of 256 bits, least significant limb first.
pub(super) type Number = [u64; 4];

/// 2^255 - 19.
pub(super) const P: Number = [u64::MAX - 18, u64::MAX, u64::MAX, u64::MAX >> 1];
/// The curve's constant d.
const D: Number =
    [0x75eb_4dca_1359_78a3, 0x0070_0a4d_4141_d8ab, 0x8cc7_4079_7779_e898, 0x5203_6cee_2b6f_fe73];
const ONE: Number = [1, 0, 0, 0];
const MINUS_ONE: Number = [P[0] - 1, P[1], P[2], P[3]];

/// Returns whether these bytes decompress to a point. The highest bit, the sign of x, does not
/// matter: the opposite of a point is a point, and 0 may have either sign. y need not be reduced.
/// Both rules are those of `CompressedEdwardsY::decompress` in curve25519-dalek.
pub(super) fn is_on_curve(packed: &[u8; 32]) -> bool {
    let (limbs, _) = packed.as_chunks::<8>();
    let mut y: Number = core::array::from_fn(|at| u64::from_le_bytes(limbs[at]));
    y[3] &= u64::MAX >> 1;
    let y2 = multiply(&y, &y);
    let numerator = add(&y2, &MINUS_ONE);
    // dy² is never -1, since -1 is a square and d is not.
    let denominator = add(&multiply(&y2, &D), &ONE);
    let product = reduce(multiply(&numerator, &denominator));
    product == [0; 4] || is_square(product)
}

#[inline(always)]
pub(super) fn low(wide: u128) -> u64 {
    #[allow(clippy::cast_possible_truncation, reason = "this is the lower half")]
    let low = wide as u64;
    low
}

/// Returns `left * right` modulo p, not reduced.
#[inline(always)]
pub(super) fn multiply(left: &Number, right: &Number) -> Number {
    let mut wide = [0; 8];
    for (at, one) in left.iter().enumerate() {
        let mut carry = 0;
        for (by, other) in right.iter().enumerate() {
            // At most 2^128 - 1.
            let sum = u128::from(*one) * u128::from(*other)
                + u128::from(wide[at + by])
                + u128::from(carry);
            (wide[at + by], carry) = (low(sum), low(sum >> 64));
        }
        wide[at + 4] = carry;
    }
    let (mut number, mut carry) = ([0; 4], 0);
    for at in 0..4 {
        let sum = u128::from(wide[at + 4]) * 38 + u128::from(wide[at]) + u128::from(carry);
        (number[at], carry) = (low(sum), low(sum >> 64));
    }
    fold(number, carry)
}

/// Returns `number + high * 2^256` modulo p, not reduced; `high` is at most 2^58.
#[inline(always)]
pub(super) fn fold(mut number: Number, high: u64) -> Number {
    let mut carry = u128::from(high) * 38;
    for limb in &mut number {
        carry += u128::from(*limb);
        *limb = low(carry);
        carry >>= 64;
    }
    // If the first addition carried, the result is so small that this one does not.
    number[0] += low(carry) * 38;
    number
}

#[inline(always)]
fn add(left: &Number, right: &Number) -> Number {
    let mut carry = 0;
    let sum = core::array::from_fn(|at| {
        let sum = u128::from(left[at]) + u128::from(right[at]) + carry;
        carry = sum >> 64;
        low(sum)
    });
    fold(sum, low(carry))
}

/// Returns `left - right` modulo 2^256, and whether the difference is negative.
#[inline(always)]
pub(super) fn difference(left: &Number, right: &Number) -> (Number, bool) {
    let mut borrow = false;
    let difference = core::array::from_fn(|at| {
        let (one, first) = left[at].overflowing_sub(right[at]);
        let (two, second) = one.overflowing_sub(borrow.into());
        borrow = first | second;
        two
    });
    (difference, borrow)
}

/// Reduces a number modulo p.
pub(super) fn reduce(mut number: Number) -> Number {
    // It is below 2^256, which is 2p + 38.
    for _ in 0..2 {
        let (less, is_negative) = difference(&number, &P);
        if !is_negative {
            number = less;
        }
    }
    number
}

/// Returns whether `a`, between 0 and p, is a square modulo p: whether its Jacobi symbol is 1.
///
/// The algorithm starts with b = p and repeats three steps while `a` is not 0; `b` stays odd. First,
/// `a` is halved until it is odd; each halving flips the symbol's sign if `b` is 3 or 5 modulo 8.
/// Second, if `a < b`, they are swapped; that flips the sign if both are 3 modulo 4. Third, `b` is
/// subtracted from `a`, which leaves the symbol unchanged. [`Batch`] runs many such steps on a few
/// bits of both numbers.
fn is_square(mut a: Number) -> bool {
    let mut b = P;
    // Bit 1 is set if the sign is flipped.
    let mut sign = 0;
    loop {
        let high = top(&a, &b);
        if high == 0 {
            return finish(a[0], b[0], sign);
        }
        let batch = Batch::of(&a, &b, high);
        sign ^= batch.sign;
        if batch.halvings > 0 {
            (a, b) = batch.apply(&a, &b);
        } else {
            // `a` is odd, and the windows do not decide which number is less.
            let (less, is_negative) = difference(&a, &b);
            if is_negative {
                sign ^= a[0] & b[0];
                (a, b) = (difference(&b, &a).0, a);
            } else {
                a = less;
            }
        }
    }
}

/// Returns the number of bits beyond 64 of the longer number; 0 if both fit into 64 bits.
#[inline(always)]
pub(super) fn top(a: &Number, b: &Number) -> u32 {
    (1..4_u32)
        .rev()
        .find_map(|at| {
            let limb = a[at as usize] | b[at as usize];
            (limb != 0).then(|| at * 64 - limb.leading_zeros())
        })
        .unwrap_or(0)
}

/// Returns 64 bits, starting with bit `from`, which is at least 1.
#[inline(always)]
fn window(number: &Number, from: u32) -> u64 {
    let (limb, bit) = (from as usize / 64, from % 64);
    if bit == 0 {
        return number[limb];
    }
    let next = number.get(limb + 1).copied().unwrap_or(0);
    number[limb] >> bit | next << (64 - bit)
}

/// Several steps, computed with only the lowest and the highest bits of both numbers.
///
/// One word holds both, the highest bits above the lowest, so that each operation applies to both.
/// The lowest bits are exact while three of them are left. The highest bits are used only where
/// their error cannot matter. In units of the lowest of them, each word is off by less than 1,
/// because the bits between are missing, and the difference of two words by less than 2; it decides
/// which number is less only if it is at least 2. Half of it is again off by less than 1.
pub(super) struct Batch {
    /// The coefficients of the new `a` and the new `b`: each is `a * x - b * y` or its negation,
    /// divided by 2^halvings. The lower 32 bits of a row are x, the upper ones y.
    pub(super) rows: [u64; 2],
    /// All bits if the numbers were swapped an odd number of times, otherwise 0. If 0, the new `b`
    /// is negated and the new `a` is not; otherwise the other way round.
    pub(super) swapped: u64,
    pub(super) halvings: u32,
    /// Bit 1 is set if the sign is flipped.
    pub(super) sign: u64,
}

impl Batch {
    const LOW_BITS: u32 = 31;
    pub(super) const HALVINGS_MAX: u32 = Self::LOW_BITS - 2;
    /// The difference of two words from which on it decides which number is less.
    const DISTANCE_MIN: i64 = 2 << Self::LOW_BITS;

    /// Computes steps for `a` and `b`, the longer of which has `high` bits beyond 64.
    #[inline(always)]
    pub(super) fn of(a: &Number, b: &Number, high: u32) -> Self {
        let word = |number: &Number| {
            let low = number[0] & ((1 << Self::LOW_BITS) - 1);
            (window(number, high) >> 32 << Self::LOW_BITS | low).cast_signed()
        };
        let (mut a, mut b) = (word(a), word(b));
        // Rows are only ever added, since their signs differ. They grow more slowly than halvings
        // shrink the numbers, so neither half of a row exceeds 2^29.
        let (mut row_a, mut row_b) = (1_u64, 1_u64 << 32);
        let (mut sign, mut swapped) = (0, 0);
        let mut halvings_left = 1_i64 << Self::HALVINGS_MAX;
        loop {
            let zeros = (a | halvings_left).trailing_zeros();
            sign ^= (b ^ b >> 1) & i64::from(zeros) << 1;
            halvings_left >>= zeros;
            a >>= zeros;
            row_b <<= zeros;
            let difference = a - b;
            // Branchless: the direction is unpredictable.
            let swap = difference >> 63;
            let distance = (difference ^ swap) - swap;
            if halvings_left == 1 || distance < Self::DISTANCE_MIN {
                break;
            }
            sign ^= a & b & swap;
            swapped ^= swap;
            b += difference & swap;
            a = distance;
            let sum = row_a + row_b;
            row_b ^= (row_a ^ row_b) & swap.cast_unsigned();
            row_a = sum;
        }
        Self {
            rows: [row_a, row_b],
            swapped: swapped.cast_unsigned(),
            halvings: Self::HALVINGS_MAX - halvings_left.trailing_zeros(),
            sign: sign.cast_unsigned(),
        }
    }

    /// Returns the numbers after the steps.
    #[inline(always)]
    pub(super) fn apply(&self, a: &Number, b: &Number) -> (Number, Number) {
        let [of_a, of_b] = self.rows;
        let halvings = self.halvings;
        let first = combine(a, b, of_a, halvings, self.swapped);
        (first, combine(a, b, of_b, halvings, !self.swapped))
    }
}

/// Returns `(a * x - b * y) / 2^halvings`, negated if `negate` is all bits and not 0. The result is
/// an integer, not negative, and at most 256 bits long.
#[inline(always)]
fn combine(a: &Number, b: &Number, row: u64, halvings: u32, negate: u64) -> Number {
    let (x, y) = (row & u64::from(u32::MAX), row >> 32);
    let product = |limb: u64, factor: u64| (u128::from(limb) * u128::from(factor)).cast_signed();
    let mut sum = [0; 5];
    let mut carry = 0;
    for at in 0..4 {
        carry += product(a[at], x) - product(b[at], y);
        sum[at] = low(carry.cast_unsigned());
        carry >>= 64;
    }
    sum[4] = low(carry.cast_unsigned());
    let mut one = negate & 1;
    core::array::from_fn(|at| {
        let limb = sum[at] >> halvings | (sum[at + 1] << 1) << (63 - halvings);
        let (limb, carry) = (limb ^ negate).overflowing_add(one);
        one = carry.into();
        limb
    })
}

/// Runs all remaining steps for numbers of 64 bits, and returns whether the symbol is 1.
fn finish(mut a: u64, mut b: u64, mut sign: u64) -> bool {
    while a != 0 {
        let zeros = a.trailing_zeros();
        sign ^= (b ^ b >> 1) & u64::from(zeros) << 1;
        a >>= zeros;
        if a < b {
            sign ^= a & b;
            (a, b) = (b, a);
        }
        a -= b;
    }
    // The symbol would be 0 only with a common divisor; p is prime, and `a` is less.
    b == 1 && sign & 2 == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes the same by Euler's criterion.
    fn is_power_of_minus_one(a: &Number) -> bool {
        // (p - 1) / 2 = 2^254 - 10.
        let exponent: Number = [u64::MAX - 9, u64::MAX, u64::MAX, u64::MAX >> 2];
        let power = (0..256).rev().fold(ONE, |power, bit| {
            let square = multiply(&power, &power);
            if exponent[bit / 64] >> (bit % 64) & 1 == 1 { multiply(&square, a) } else { square }
        });
        reduce(power) == ONE
    }

    /// Covers numbers with equal highest bits, and those much less than p, which take other branches.
    #[test]
    fn squares_are_told_from_non_squares_for_numbers_close_to_fractions_of_p() {
        let shifted = |number: &Number, by: usize| -> Number {
            let wide = |at: usize| number.get(at).copied().unwrap_or(0);
            core::array::from_fn(|at| {
                let (at, bit) = (at + by / 64, by % 64);
                wide(at) >> bit | (wide(at + 1) << 1) << (63 - bit)
            })
        };
        for by in (0..255).step_by(9) {
            let less = shifted(&P, by);
            let power = shifted(&[0, 0, 0, 1 << 63], by + 1);
            for number in [less, power, difference(&P, &power).0, difference(&less, &power).0] {
                for off in 0..3 {
                    let number = reduce(add(&number, &[off, 0, 0, 0]));
                    if number != [0; 4] {
                        assert_eq!(
                            is_square(number),
                            is_power_of_minus_one(&number),
                            "{number:x?}"
                        );
                    }
                }
            }
        }
    }
}
