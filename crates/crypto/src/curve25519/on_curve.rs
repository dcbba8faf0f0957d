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
        let mut batch = Batch::new([&a, &b].map(|it| window(it, high)), [a[0], b[0]]);
        batch.run();
        sign ^= batch.sign;
        if batch.halvings > 0 {
            let [of_a, of_b] = batch.rows;
            (a, b) = (combine(&a, &b, of_a, batch.halvings), combine(&a, &b, of_b, batch.halvings));
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

/// (`a * row[0] + b * row[1]) / 2^halvings`, which is whole and no more than 256 bits long.
#[inline(always)]
fn combine(a: &Number, b: &Number, row: [i64; 2], halvings: u32) -> Number {
    let mut sum = [0; 5];
    let mut carry = 0_i128;
    for at in 0..4 {
        carry += i128::from(row[0]) * i128::from(a[at]) + i128::from(row[1]) * i128::from(b[at]);
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the lower half"
        )]
        let limb = carry as u64;
        sum[at] = limb;
        carry >>= 64;
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it fits")]
    let limb = carry as u64;
    sum[4] = limb;
    core::array::from_fn(|at| sum[at] >> halvings | (sum[at + 1] << 1) << (63 - halvings))
}

/// Steps that are taken with the lowest and the highest bits of both numbers alone.
///
/// Invariant: what the lowest bits decide is right, since of 64 bits no more than 62 are shifted
/// out; what the highest decide is, since it is not decided where it may be wrong.
struct Batch {
    /// The highest bits of both numbers, each less than half of [`Batch::DOUBT`] off.
    high: [u64; 2],
    /// The lowest bits of both numbers, of which 64 less [`Batch::halvings`] are right.
    low: [u64; 2],
    /// Both numbers as sums of what they were, to be divided by 2^halvings.
    rows: [[i64; 2]; 2],
    halvings: u32,
    /// Bit 1 is set if the symbol is to change its sign.
    sign: u64,
}

impl Batch {
    const HALVINGS_MAX: u32 = 62;
    /// How far apart the highest bits must be to tell which number is less. They begin less than 1
    /// off, a difference is off by the sum of both, half of it by half of that and 1/2 more: so
    /// each of 62 steps at most adds 1/2.
    const DOUBT: u64 = 64;

    fn new(high: [u64; 2], low: [u64; 2]) -> Self {
        Self { high, low, rows: [[1, 0], [0, 1]], halvings: 0, sign: 0 }
    }

    #[inline(always)]
    fn run(&mut self) {
        loop {
            let [a, b] = self.low;
            let left = Self::HALVINGS_MAX - self.halvings;
            let zeros = (a | 1 << left).trailing_zeros();
            self.sign ^= (b ^ b >> 1) & u64::from(zeros) << 1;
            self.halvings += zeros;
            self.high[0] >>= zeros;
            self.rows[1] = self.rows[1].map(|it| it << zeros);
            let a = a >> zeros;
            self.low[0] = a;
            let [high_a, high_b] = self.high;
            let distance = high_a.abs_diff(high_b);
            if zeros == left || distance < Self::DOUBT {
                return;
            }
            // Without branches, which nobody could predict.
            let swap = u64::from(high_a < high_b).wrapping_neg();
            self.sign ^= a & b & swap;
            self.high = [distance, high_a.min(high_b)];
            let less = a.wrapping_sub(b);
            self.low = [(less ^ swap).wrapping_sub(swap), b.wrapping_add(less & swap)];
            let swap = swap.cast_signed();
            let [of_a, of_b] = self.rows;
            let less = [of_a[0] - of_b[0], of_a[1] - of_b[1]];
            self.rows = [
                less.map(|it| (it ^ swap) - swap),
                [of_b[0] + (less[0] & swap), of_b[1] + (less[1] & swap)],
            ];
        }
    }
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
