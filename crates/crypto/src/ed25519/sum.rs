//! The sum that decides a signature: sB + k(-A), from tables of multiples of both points.
//!
//! Scalars are written in digits: k in 64 digits from -8 to 8 of weight 16, s in 32 digits from -128
//! to 128 of weight 256. A table holds the multiples of a point by 1 to 8, or 1 to 128; a table of
//! several *teeth* holds as many such rows, each of a further point: the point times 2^(256 j / n)
//! for tooth j of n. Digits of different teeth are added at the same *level*, and sixteen times the
//! sum so far is taken between levels; so a table of eight teeth leaves 28 doublings of 252.

use super::point::{Addend, Point};

/// The digits of k and of s in one tooth with all levels.
const K_DIGITS: usize = 64;
const S_DIGITS: usize = 32;
/// The multiples of a tooth.
const K_MULTIPLES: usize = 8;
const S_MULTIPLES: usize = 128;
/// The teeth of the base point's table: its four levels are every other one of a key's eight.
const S_TEETH: usize = 8;
const S_LEVELS: usize = S_DIGITS / S_TEETH;

/// The multiples of a point, tooth by tooth.
#[derive(Debug)]
pub(super) struct Table {
    addends: Box<[Addend]>,
    teeth: usize,
}

impl Table {
    /// Takes the multiples of a point that has a shape.
    pub(super) fn new(shape: Shape, addends: Vec<Addend>) -> Self {
        assert_eq!(addends.len(), shape.teeth * shape.multiples, "every tooth has its multiples");
        Self { addends: addends.into(), teeth: shape.teeth }
    }
}

/// The shape of a table.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) teeth: usize,
    pub(super) multiples: usize,
}

impl Shape {
    /// The table of the base point.
    pub(super) const BASE: Self = Self { teeth: S_TEETH, multiples: S_MULTIPLES };

    /// The table of a key with 1, 2, 4 or 8 teeth.
    pub(super) const fn of_key(teeth: usize) -> Self {
        Self { teeth, multiples: K_MULTIPLES }
    }

    /// The doublings from one tooth's point to the next one's.
    pub(super) fn doublings(self) -> usize {
        256 / self.teeth
    }
}

/// A sum to compute: its additions in order.
pub(super) struct Sum<'a> {
    /// Level by level, the lowest first.
    additions: [Addition<'a>; K_DIGITS + S_DIGITS],
    teeth: usize,
}

/// A digit: the multiple of a point, unless the digit is 0, and whether to subtract it.
#[derive(Clone, Copy)]
pub(super) struct Addition<'a> {
    pub(super) addend: Option<&'a Addend>,
    pub(super) negative: bool,
}

impl<'a> Sum<'a> {
    /// Both scalars must be below 2^253.
    pub(super) fn new(key: &'a Table, k: &[u8; 32], base: &'a Table, s: &[u8; 32]) -> Self {
        let (k, s) = (digits_of_16(k), digits_of_256(s));
        let mut additions = [Addition { addend: None, negative: false }; K_DIGITS + S_DIGITS];
        let mut sum = Self { additions, teeth: key.teeth };
        for level in 0..sum.levels() {
            let (start, end) = sum.range(level);
            let slots = additions[start..end].iter_mut();
            let k = k[level..].iter().step_by(sum.levels()).map(|digit| i16::from(*digit));
            let k = key.addends.chunks_exact(K_MULTIPLES).zip(k);
            let s = s[level / 2 % S_LEVELS..].iter().step_by(S_LEVELS).copied();
            let s = base.addends.chunks_exact(S_MULTIPLES).zip(s);
            for (slot, (multiples, digit)) in slots.zip(k.chain(s)) {
                let at = usize::from(digit.unsigned_abs()).wrapping_sub(1);
                *slot = Addition { addend: multiples.get(at), negative: digit < 0 };
            }
        }
        sum.additions = additions;
        sum
    }

    pub(super) fn levels(&self) -> usize {
        K_DIGITS / self.teeth
    }

    /// Returns where the additions of a level are.
    #[inline]
    fn range(&self, level: usize) -> (usize, usize) {
        // The lower levels, this one included, and those of them that have digits of s.
        let before =
            |levels: usize| levels * self.teeth + levels.div_ceil(2).min(S_LEVELS) * S_TEETH;
        (before(level), before(level + 1))
    }

    /// Returns the additions of a level.
    #[inline]
    pub(super) fn additions(&self, level: usize) -> &[Addition<'a>] {
        let (start, end) = self.range(level);
        &self.additions[start..end]
    }

    /// Computes the sum with one coordinate at a time.
    pub(super) fn compute_portable(&self) -> Point {
        let mut sum = Point::IDENTITY;
        for level in (0..self.levels()).rev() {
            if level + 1 < self.levels() {
                for _ in 0..4 {
                    sum = sum.double();
                }
            }
            for addition in self.additions(level) {
                if let Some(addend) = addition.addend {
                    sum = sum.add(addend, addition.negative);
                }
            }
        }
        sum
    }
}

/// Computes a table with one coordinate at a time.
pub(super) fn multiples_portable(point: &Point, shape: Shape, to: &mut Vec<Addend>) {
    let mut first = *point;
    for tooth in 0..shape.teeth {
        if tooth > 0 {
            for _ in 0..shape.doublings() {
                first = first.double();
            }
        }
        let (one, mut multiple) = (Addend::new(&first), first);
        to.push(one);
        for _ in 1..shape.multiples {
            multiple = multiple.add(&one, false);
            to.push(Addend::new(&multiple));
        }
    }
}

/// Writes a number below 2^253 in digits from -8 to 8, lowest first.
fn digits_of_16(bytes: &[u8; 32]) -> [i8; K_DIGITS] {
    let mut carry = 0;
    core::array::from_fn(|at| {
        let digit = (bytes[at / 2] >> (at % 2 * 4) & 15).cast_signed() + carry;
        carry = i8::from(digit > 8);
        digit - 16 * carry
    })
}

/// Writes a number below 2^253 in digits from -128 to 128, lowest first.
fn digits_of_256(bytes: &[u8; 32]) -> [i16; S_DIGITS] {
    let mut carry = 0;
    bytes.map(|byte| {
        let digit = i16::from(byte) + carry;
        carry = i16::from(digit > 128);
        digit - 256 * carry
    })
}

#[cfg(test)]
mod tests {
    use num_bigint::BigInt;

    use super::*;

    #[test]
    fn digits_make_up_the_number() {
        let value = |digits: &[i16], weight: u32| {
            let digits = digits.iter().rev();
            digits.fold(BigInt::ZERO, |sum, digit| sum * weight + *digit)
        };
        for byte in 0..=255_u8 {
            for last in [0, 1, 0x0f, 0x10, 0x1f] {
                let mut number = [byte; 32];
                number[31] = last;
                let expected = BigInt::from_bytes_le(num_bigint::Sign::Plus, &number);
                let digits = digits_of_16(&number);
                assert!(digits.iter().all(|digit| (-8..=8).contains(digit)), "{digits:?}");
                assert_eq!(value(&digits.map(i16::from), 16), expected);
                let digits = digits_of_256(&number);
                assert!(digits.iter().all(|digit| (-128..=128).contains(digit)), "{digits:?}");
                assert_eq!(value(&digits, 256), expected);
            }
        }
    }
}
