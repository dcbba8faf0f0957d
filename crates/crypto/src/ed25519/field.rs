//! Arithmetic modulo p = 2^255 - 19, one element at a time.
//!
//! An element is five limbs of 51 bits, least significant first, which may be longer than that.
//! *Short* limbs are below 2^51 + 2^18: products have them. The operands of [`Field::mul`] may have
//! limbs below 2^54, which each function here states that it keeps.

use crate::curve25519::invert;

/// An element of the field, not reduced.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field(pub(super) [u64; 5]);

const MASK: u64 = (1 << 51) - 1;
/// The limbs of 4p: as long as those that [`Field::sub`] subtracts from it, or longer.
const FOUR_P: [u64; 5] = [4 * (MASK - 18), 4 * MASK, 4 * MASK, 4 * MASK, 4 * MASK];

impl Field {
    pub(super) const ZERO: Self = Self([0; 5]);
    pub(super) const ONE: Self = Self([1, 0, 0, 0, 0]);
    /// The curve's constant d = -121665/121666.
    pub(super) const D: Self = Self([
        0x0003_4dca_1359_78a3,
        0x0001_a828_3b15_6ebd,
        0x0005_e7a2_6001_c029,
        0x0007_39c6_63a0_3cbb,
        0x0005_2036_cee2_b6ff,
    ]);
    /// 2d.
    pub(super) const TWO_D: Self = Self([
        0x0006_9b94_26b2_f159,
        0x0003_5050_762a_dd7a,
        0x0003_cf44_c003_8052,
        0x0006_738c_c740_7977,
        0x0002_406d_9dc5_6dff,
    ]);
    /// 2^((p - 1) / 4), a square root of -1.
    const ROOT_OF_MINUS_ONE: Self = Self([
        0x0006_1b27_4a0e_a0b0,
        0x0000_d5a5_fc8f_189d,
        0x0007_ef5e_9cbd_0c60,
        0x0007_8595_a680_4c9e,
        0x0002_b832_4804_fc1d,
    ]);

    /// Returns the number of 255 bits, which need not be reduced; the highest bit is ignored.
    pub(super) fn from_bytes(bytes: &[u8; 32]) -> Self {
        let (words, _) = bytes.as_chunks::<8>();
        let word = |at: usize| u64::from_le_bytes(words[at]);
        Self([
            word(0) & MASK,
            (word(0) >> 51 | word(1) << 13) & MASK,
            (word(1) >> 38 | word(2) << 26) & MASK,
            (word(2) >> 25 | word(3) << 39) & MASK,
            word(3) >> 12 & MASK,
        ])
    }

    /// Returns the reduced number.
    pub(super) fn to_bytes(self) -> [u8; 32] {
        let mut limbs = self.carried().carried().0;
        // The number is below 2^255 + 2^52, hence below 2p: one bit is the quotient by p.
        let over = limbs.iter().fold(19, |carry, limb| (limb + carry) >> 51);
        let mut carry = 19 * over;
        for limb in &mut limbs {
            carry += *limb;
            *limb = carry & MASK;
            carry >>= 51;
        }
        let [a, b, c, d, e] = limbs;
        let words = [a | b << 51, b >> 13 | c << 38, c >> 26 | d << 25, d >> 39 | e << 12];
        let mut bytes = [0; 32];
        for (to, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *to = word.to_le_bytes();
        }
        bytes
    }

    /// Moves what each limb has beyond 51 bits to the next one.
    #[inline(always)]
    fn carried(self) -> Self {
        let [a, b, c, d, e] = self.0;
        Self([
            (a & MASK) + 19 * (e >> 51),
            (b & MASK) + (a >> 51),
            (c & MASK) + (b >> 51),
            (d & MASK) + (c >> 51),
            (e & MASK) + (d >> 51),
        ])
    }

    /// Limbs grow by addition.
    #[inline(always)]
    pub(super) fn add(self, other: Self) -> Self {
        Self(core::array::from_fn(|at| self.0[at] + other.0[at]))
    }

    /// `other` must have limbs below 2^53 - 76. Limbs grow by less than 2^53.
    #[inline(always)]
    pub(super) fn sub(self, other: Self) -> Self {
        Self(core::array::from_fn(|at| self.0[at] + (FOUR_P[at] - other.0[at])))
    }

    /// The product has short limbs.
    #[inline(always)]
    pub(super) fn mul(self, other: Self) -> Self {
        let ([a, b, c, d, e], [v, w, x, y, z]) = (self.0, other.0);
        let m = |one: u64, other: u64| u128::from(one) * u128::from(other);
        let (w19, x19, y19, z19) = (19 * w, 19 * x, 19 * y, 19 * z);
        // Every sum is below 5 * 19 * 2^108.
        carry([
            m(a, v) + m(e, w19) + m(d, x19) + m(c, y19) + m(b, z19),
            m(b, v) + m(a, w) + m(e, x19) + m(d, y19) + m(c, z19),
            m(c, v) + m(b, w) + m(a, x) + m(e, y19) + m(d, z19),
            m(d, v) + m(c, w) + m(b, x) + m(a, y) + m(e, z19),
            m(e, v) + m(d, w) + m(c, x) + m(b, y) + m(a, z),
        ])
    }

    /// The same as `self.mul(self)`.
    #[inline(always)]
    pub(super) fn square(self) -> Self {
        let [a, b, c, d, e] = self.0;
        let m = |one: u64, other: u64| u128::from(one) * u128::from(other);
        let (a2, b2, d19, e19) = (2 * a, 2 * b, 19 * d, 19 * e);
        carry([
            m(a, a) + m(b2, e19) + m(2 * c, d19),
            m(d, d19) + m(a2, b) + m(2 * c, e19),
            m(b, b) + m(a2, c) + m(2 * d, e19),
            m(e, e19) + m(a2, d) + m(b2, c),
            m(c, c) + m(a2, e) + m(b2, d),
        ])
    }

    fn square_times(mut self, times: u32) -> Self {
        for _ in 0..times {
            self = self.square();
        }
        self
    }

    /// Returns `self^((p - 5) / 8)`; the exponent is 2^252 - 3.
    fn power(self) -> Self {
        let nine = self.square_times(3).mul(self);
        let ones5 = nine.mul(self.square()).square().mul(nine);
        let ones10 = ones5.square_times(5).mul(ones5);
        let ones20 = ones10.square_times(10).mul(ones10);
        let ones40 = ones20.square_times(20).mul(ones20);
        let ones50 = ones40.square_times(10).mul(ones10);
        let ones100 = ones50.square_times(50).mul(ones50);
        let ones200 = ones100.square_times(100).mul(ones100);
        ones200.square_times(50).mul(ones50).square_times(2).mul(self)
    }

    /// Returns the inverse; 0 for 0.
    pub(super) fn invert(self) -> Self {
        Self::from_bytes(&invert(&self.to_bytes()))
    }

    /// Returns a root of `self / other`, or `None` if there is none. `other` must not be 0.
    pub(super) fn root_of_ratio(self, other: Self) -> Option<Self> {
        // With u and v: r = u v^3 (u v^7)^((p - 5) / 8), and v r^2 is u, -u or a multiple of i.
        let cube = other.square().mul(other);
        let seventh = cube.square().mul(other);
        let root = self.mul(cube).mul(self.mul(seventh).power());
        let check = other.mul(root.square());
        if check.equals(self) {
            Some(root)
        } else {
            check.add(self).equals(Self::ZERO).then(|| root.mul(Self::ROOT_OF_MINUS_ONE))
        }
    }

    pub(super) fn equals(self, other: Self) -> bool {
        self.to_bytes() == other.to_bytes()
    }

    /// Returns whether the reduced number is odd: the sign of a coordinate x.
    pub(super) fn is_odd(self) -> bool {
        self.to_bytes()[0] & 1 == 1
    }
}

/// Reduces the limbs of a product, each below 2^114.7 and the last below 2^110.4, to short ones.
///
/// All limbs are carried at once, twice: that takes less time than one after the other.
#[inline(always)]
fn carry(wide: [u128; 5]) -> Field {
    #[allow(clippy::cast_possible_truncation, reason = "the upper bits are carried or zero")]
    let low = |wide: u128| wide as u64;
    let [a, b, c, d, e] = wide.map(|limb| low(limb) & MASK);
    let carries = wide.map(|limb| low(limb >> 51));
    // Below 2^63.7 each; nineteen times the last carry as well.
    Field([a + 19 * carries[4], b + carries[0], c + carries[1], d + carries[2], e + carries[3]])
        .carried()
}

#[cfg(test)]
pub(super) mod tests {
    use num_bigint::BigUint;

    use super::*;

    /// Numbers that are often 0, 1 or the largest.
    #[derive(Default)]
    pub(in super::super) struct LongLimbs {
        calls: u64,
        state: u64,
    }

    impl LongLimbs {
        pub(in super::super) fn below(&mut self, end: u64) -> u64 {
            self.calls += 1;
            self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            match self.state >> 61 {
                // In the first elements all limbs are the largest.
                _ if self.calls <= 80 => end - 1,
                0 => 0,
                1 => 1,
                2..=4 => end - 1,
                _ => (self.state >> 8) % end,
            }
        }
    }

    fn modulus() -> BigUint {
        (BigUint::from(1_u8) << 255) - 19_u8
    }

    impl Field {
        fn value(self) -> BigUint {
            let limbs = self.0.iter().rev();
            limbs.fold(BigUint::ZERO, |sum, limb| (sum << 51) + limb) % modulus()
        }

        pub(in super::super) fn assert_is_short(self) {
            assert!(self.0.iter().all(|limb| *limb < (1 << 51) + (1 << 18)), "{self:x?}");
        }

        pub(in super::super) fn assert_product(self, other: Self, product: Self) {
            let expected = self.value() * other.value() % modulus();
            assert_eq!(product.value(), expected, "{self:x?} {other:x?}");
        }
    }

    #[test]
    fn operations_are_those_of_integers_modulo_p_for_the_longest_limbs() {
        let mut limbs = LongLimbs::default();
        for _ in 0..5000 {
            let mut next = |end| Field([0; 5].map(|_| limbs.below(end)));
            let (one, other, less) = (next(1 << 54), next(1 << 54), next((1 << 53) - 76));
            for (product, factor) in [(one.mul(other), other), (one.square(), one)] {
                product.assert_is_short();
                one.assert_product(factor, product);
            }
            let difference = other.sub(less);
            assert_eq!((difference.value() + less.value()) % modulus(), other.value());
            assert_eq!(BigUint::from_bytes_le(&one.to_bytes()), one.value());
            assert_eq!(one.is_odd(), one.value().bit(0));
            one.assert_product(
                one.invert(),
                if one.value() == BigUint::ZERO { one } else { Field::ONE },
            );
        }
    }

    #[test]
    fn bytes_are_reduced_around_the_modulus() {
        for off in 0..60_u8 {
            let number = modulus() + 18_u8 - off;
            let mut bytes: [u8; 32] = number.to_bytes_le().try_into().expect("32 bytes");
            let reduced = Field::from_bytes(&bytes);
            assert_eq!(BigUint::from_bytes_le(&reduced.to_bytes()), number % modulus(), "{off}");
            bytes[31] |= 0x80;
            assert_eq!(Field::from_bytes(&bytes).0, reduced.0);
        }
    }

    #[test]
    fn ratios_have_roots_if_they_are_squares() {
        let mut roots = 0;
        for number in 1..200_u64 {
            let (one, other) = (Field([number, 0, 0, 0, 0]), Field([7 * number + 3, 1, 0, 0, 0]));
            if let Some(root) = one.root_of_ratio(other) {
                assert!(root.square().mul(other).equals(one), "{number}");
                roots += 1;
            } else {
                // Then the ratio times a number that is not a square, 2, is one.
                assert!(one.add(one).root_of_ratio(other).is_some(), "{number}");
            }
        }
        assert!((50..150).contains(&roots), "{roots}");
    }
}
