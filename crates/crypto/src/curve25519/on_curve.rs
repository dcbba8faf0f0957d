//! Whether 32 bytes are a point of the curve, without computing the point.
//!
//! The bytes are a coordinate y, and there is a point if (y² - 1) / (dy² + 1) is a square modulo
//! 2^255 - 19, or, which is the same, (y² - 1)(dy² + 1). Euler's criterion takes some 250
//! multiplications to tell; here the law of quadratic reciprocity tells, along the way of a binary
//! greatest common divisor. Addresses are public, so the time may depend on them.

/// A number of 256 bits, the lowest limb first.
type Number = [u64; 4];

/// 2^255 - 19.
const P: Number = [u64::MAX - 18, u64::MAX, u64::MAX, u64::MAX >> 1];
/// The curve's constant d.
const D: Number =
    [0x75eb_4dca_1359_78a3, 0x0070_0a4d_4141_d8ab, 0x8cc7_4079_7779_e898, 0x5203_6cee_2b6f_fe73];
const ONE: Number = [1, 0, 0, 0];
const MINUS_ONE: Number = [P[0] - 1, P[1], P[2], P[3]];

/// Whether there is a point with these packed bytes. The sign of x, which is the highest bit, is
/// not asked for: no point lacks its opposite, and 0 may have either sign. Nor need y be reduced.
/// All as `CompressedEdwardsY::decompress` of curve25519-dalek has it.
pub(super) fn is_on_curve(packed: &[u8; 32]) -> bool {
    let (limbs, _) = packed.as_chunks::<8>();
    let mut y: Number = core::array::from_fn(|at| u64::from_le_bytes(limbs[at]));
    y[3] &= u64::MAX >> 1;
    let y2 = multiply(&y, &y);
    let numerator = add(&y2, &MINUS_ONE);
    // dy² is no -1, since -1 is a square and d is none.
    let denominator = add(&multiply(&y2, &D), &ONE);
    let product = reduce(multiply(&numerator, &denominator));
    product == [0; 4] || is_square(product)
}

#[inline(always)]
fn low(wide: u128) -> u64 {
    #[allow(clippy::cast_possible_truncation, reason = "this is the lower half")]
    let low = wide as u64;
    low
}

/// `left * right` modulo p, not reduced.
#[inline(always)]
fn multiply(left: &Number, right: &Number) -> Number {
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

/// `number + high * 2^256` modulo p, not reduced; `high` is at most 38.
#[inline(always)]
fn fold(mut number: Number, high: u64) -> Number {
    let mut carry = u128::from(high) * 38;
    for limb in &mut number {
        carry += u128::from(*limb);
        *limb = low(carry);
        carry >>= 64;
    }
    // If it carried, what is left is so small that this does not.
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

/// `left - right`, and whether that is negative, modulo 2^256.
#[inline(always)]
fn difference(left: &Number, right: &Number) -> (Number, bool) {
    let mut borrow = false;
    let difference = core::array::from_fn(|at| {
        let (one, first) = left[at].overflowing_sub(right[at]);
        let (two, second) = one.overflowing_sub(borrow.into());
        borrow = first | second;
        two
    });
    (difference, borrow)
}

/// The same number below p.
fn reduce(mut number: Number) -> Number {
    // It is below 2^256, which is 2p + 38.
    for _ in 0..2 {
        let (less, is_negative) = difference(&number, &P);
        if !is_negative {
            number = less;
        }
    }
    number
}

/// Whether `a`, between 0 and p, is a square modulo p: its Jacobi symbol over p.
///
/// While `a` and `b` are not 0, with `b` odd: `a` is halved until it is odd, and the symbol changes
/// its sign for each time if `b` is 3 or 5 modulo 8; if `a` is less than `b` then, they swap, and
/// it does if both are 3 modulo 4; and `b` is taken from `a`, which changes nothing. [`Batch`]
/// does this with some bits of both.
fn is_square(mut a: Number) -> bool {
    let mut b = P;
    // Bit 1 is set if the symbol is to change its sign.
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
            // `a` is odd, and the windows do not tell which is less.
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

/// Bits that both numbers have beyond 64; 0 if there are none.
#[inline(always)]
fn top(a: &Number, b: &Number) -> u32 {
    (1..4_u32)
        .rev()
        .find_map(|at| {
            let limb = a[at as usize] | b[at as usize];
            (limb != 0).then(|| at * 64 - limb.leading_zeros())
        })
        .unwrap_or(0)
}

/// 64 bits, from bit `from` on, which is at least 1.
#[inline(always)]
fn window(number: &Number, from: u32) -> u64 {
    let (limb, bit) = (from as usize / 64, from % 64);
    if bit == 0 {
        return number[limb];
    }
    let next = number.get(limb + 1).copied().unwrap_or(0);
    number[limb] >> bit | next << (64 - bit)
}

/// Steps that are taken with the lowest and the highest bits of both numbers alone.
///
/// Both are in one word, the highest above the lowest, so that each step is taken with both at once.
/// The lowest decide rightly as long as three of them are left. The highest decide where they cannot
/// be wrong: in their units each word is less than 1 off, because those between are missing; the
/// difference of two is less than 2 off, which it was not if it decided, and half of it less than 1.
struct Batch {
    /// What `a` and `b` come to: each 2^-halvings times `a * x - b * y` or its opposite, with x and
    /// y of its own, which are 32 bits each, x the lower ones.
    rows: [u64; 2],
    /// Whether they were swapped an odd number of times: no bits or all. If not, what `a` comes to
    /// is no opposite and what `b` comes to is one; else it is the other way round.
    swapped: u64,
    halvings: u32,
    /// Bit 1 is set if the symbol is to change its sign.
    sign: u64,
}

impl Batch {
    const LOW_BITS: u32 = 31;
    const HALVINGS_MAX: u32 = Self::LOW_BITS - 2;
    /// How far apart words must be to tell which number is less.
    const DOUBT: i64 = 2 << Self::LOW_BITS;

    /// Takes steps with `a` and `b`, which have `high` bits beyond 64.
    #[inline(always)]
    fn of(a: &Number, b: &Number, high: u32) -> Self {
        let word = |number: &Number| {
            let low = number[0] & ((1 << Self::LOW_BITS) - 1);
            (window(number, high) >> 32 << Self::LOW_BITS | low).cast_signed()
        };
        let (mut a, mut b) = (word(a), word(b));
        // Rows only grow by being added to, since their signs always differ; and less than halvings
        // do, so that neither half of one gets beyond 2^29.
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
            // Without branches, which nobody could predict.
            let swap = difference >> 63;
            let distance = (difference ^ swap) - swap;
            if halvings_left == 1 || distance < Self::DOUBT {
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

    /// What the numbers come to.
    #[inline(always)]
    fn apply(&self, a: &Number, b: &Number) -> (Number, Number) {
        let [of_a, of_b] = self.rows;
        let halvings = self.halvings;
        let first = combine(a, b, of_a, halvings, self.swapped);
        (first, combine(a, b, of_b, halvings, !self.swapped))
    }
}

/// `(a * x - b * y) / 2^halvings`, or its opposite if `negate` is all bits and not 0. It is whole,
/// not negative, and no more than 256 bits long.
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

/// The same with numbers of 64 bits, to the end: whether the symbol is 1.
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
    // The symbol is 0 if there is a common divisor: p is prime, and has none with what is less.
    b == 1 && sign & 2 == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Euler's criterion.
    fn is_power_of_minus_one(a: &Number) -> bool {
        // (p - 1) / 2 = 2^254 - 10.
        let exponent: Number = [u64::MAX - 9, u64::MAX, u64::MAX, u64::MAX >> 2];
        let power = (0..256).rev().fold(ONE, |power, bit| {
            let square = multiply(&power, &power);
            if exponent[bit / 64] >> (bit % 64) & 1 == 1 { multiply(&square, a) } else { square }
        });
        reduce(power) == ONE
    }

    /// Numbers whose highest bits are alike, or which are much less than p, take other ways.
    #[test]
    fn numbers_close_to_others_are_told_rightly() {
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
