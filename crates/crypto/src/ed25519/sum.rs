//! The sum that decides a signature: sB + k(-A), from tables of multiples of both points.
//!
//! Scalars are written in digits: k in 64 digits from -8 to 8 of weight 16, s in 32 digits from -128
//! to 128 of weight 256. A table holds the multiples of a point by 1 to 8, or 1 to 128; a table of
//! several *teeth* holds as many such rows, each of a further point: the point times 2^(256 j / n)
//! for tooth j of n. Digits of different teeth are added at the same *level*, and sixteen times the
//! sum so far is taken between levels; so a table of eight teeth leaves 28 doublings of 252.

use super::{
    Backend,
    point::{Addend, Point},
};

/// The digits of k and of s in one tooth with all levels.
const K_DIGITS: usize = 64;
const S_DIGITS: usize = 32;
/// The multiples of a tooth.
const K_MULTIPLES: usize = 8;
const S_MULTIPLES: usize = 128;
/// The teeth of the base point's table: its four levels are every other one of a key's eight.
const S_TEETH: usize = 8;

/// The multiples of a point, tooth by tooth.
#[derive(Debug)]
pub(super) struct Table {
    addends: Box<[Addend]>,
    teeth: usize,
}

impl Table {
    /// Computes the table of a key with 1, 2, 4 or 8 teeth.
    pub(super) fn of_key(backend: Backend, negated: &Point, teeth: usize) -> Self {
        Self::new(backend, negated, teeth, K_MULTIPLES)
    }

    /// Computes the table of the base point.
    pub(super) fn of_base(backend: Backend) -> Self {
        let mut y = [0x66; 32];
        y[0] = 0x58;
        let base = Point::decompress(&y).expect("4/5 is the base point's y");
        Self::new(backend, &base, S_TEETH, S_MULTIPLES)
    }

    fn new(backend: Backend, point: &Point, teeth: usize, multiples: usize) -> Self {
        let shape = Shape { teeth, multiples };
        let mut addends = Vec::with_capacity(teeth * multiples);
        backend.multiples(point, shape, &mut addends);
        Self { addends: addends.into(), teeth }
    }
}

/// The shape of a table.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) teeth: usize,
    pub(super) multiples: usize,
}

impl Shape {
    /// The doublings from one tooth's point to the next one's.
    pub(super) fn doublings(self) -> usize {
        256 / self.teeth
    }
}

/// A sum to compute.
pub(super) struct Sum<'a> {
    key: &'a Table,
    base: &'a Table,
    k: [i8; K_DIGITS],
    s: [i16; S_DIGITS],
}

impl<'a> Sum<'a> {
    /// Both scalars must be below 2^253.
    pub(super) fn new(key: &'a Table, k: &[u8; 32], base: &'a Table, s: &[u8; 32]) -> Self {
        Self { key, base, k: digits_of_16(k), s: digits_of_256(s) }
    }

    pub(super) fn levels(&self) -> usize {
        K_DIGITS / self.key.teeth
    }

    /// Returns the points to add at a level, each with whether to subtract it.
    #[inline(always)]
    pub(super) fn addends(&self, level: usize) -> impl Iterator<Item = (&'a Addend, bool)> + use<'_, 'a> {
        let (k, s) = self.digits(level);
        k.chain(s).filter_map(|(multiples, digit)| {
            let at = usize::from(digit.unsigned_abs()).checked_sub(1)?;
            Some((&multiples[at], digit < 0))
        })
    }

    /// The same with the identity for digits of 0: sums with as many levels have as many addends.
    #[inline(always)]
    pub(super) fn all_addends(&self, level: usize) -> impl Iterator<Item = (&'a Addend, bool)> + use<'_, 'a> {
        let (k, s) = self.digits(level);
        k.chain(s).map(|(multiples, digit)| match usize::from(digit.unsigned_abs()) {
            0 => (&Addend::IDENTITY, false),
            at => (&multiples[at - 1], digit < 0),
        })
    }

    /// Returns the digits of k and of s at a level, each with the multiples to which it refers.
    #[inline(always)]
    #[expect(clippy::type_complexity, reason = "two iterators of the same items")]
    fn digits(
        &self,
        level: usize,
    ) -> (impl Iterator<Item = (&'a [Addend], i16)> + use<'_, 'a>, impl Iterator<Item = (&'a [Addend], i16)> + use<'_, 'a>)
    {
        let (key, base) = (self.key, self.base);
        let k = self.k[level..].iter().step_by(self.levels()).map(|digit| i16::from(*digit));
        let levels = S_DIGITS / S_TEETH;
        let has_digit = level.is_multiple_of(2) && level / 2 < levels;
        let s = if has_digit { &self.s[level / 2..] } else { &[] };
        let s = s.iter().step_by(levels).copied();
        (
            key.addends.chunks_exact(K_MULTIPLES).zip(k),
            base.addends.chunks_exact(S_MULTIPLES).zip(s),
        )
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
            for (addend, negative) in self.addends(level) {
                sum = sum.add(addend, negative);
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
