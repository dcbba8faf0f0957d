//! The instructions of the processor that add points: the choice is made at run time.

use super::{
    point::{Addend, Point},
    sum::{Shape, Sum, Table, multiples_portable},
};

/// The base point: y is 4/5.
const BASE: [u8; 32] = {
    let mut y = [0x66; 32];
    y[0] = 0x58;
    y
};

/// The instructions that add points. All compute the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Backend {
    /// Multiplication of 64 bits, as every processor has it.
    Portable,
    /// AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 IFMA with vectors of 256 bits.
    #[cfg(target_arch = "x86_64")]
    Ifma,
}

impl Backend {
    /// Returns what the processor has, the slowest first.
    pub fn available() -> impl Iterator<Item = Self> {
        let all = [
            Self::Portable,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2,
            #[cfg(target_arch = "x86_64")]
            Self::Ifma,
        ];
        all.into_iter().filter(|backend| backend.is_available())
    }

    /// Returns the fastest that the processor has.
    #[must_use]
    pub fn fastest() -> Self {
        Self::available().last().expect("every processor has the portable one")
    }

    fn is_available(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => super::x64::has_avx2(),
            #[cfg(target_arch = "x86_64")]
            Self::Ifma => super::x64::has_ifma(),
        }
    }

    /// Computes a sum.
    pub(super) fn compute(self, sum: &Sum<'_>) -> Point {
        match self {
            Self::Portable => sum.compute_portable(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => super::x64::compute_with_avx2(sum),
            #[cfg(target_arch = "x86_64")]
            Self::Ifma => super::x64::compute_with_ifma(sum),
        }
    }

    /// Computes the table of the base point.
    pub(super) fn base_table(self) -> Table {
        let base = Point::decompress(&BASE).expect("the base point is on the curve");
        self.table(&base, Shape::BASE)
    }

    /// Computes the table of a negated key with 1, 2, 4 or 8 teeth.
    pub(super) fn key_table(self, negated: &Point, teeth: usize) -> Table {
        self.table(negated, Shape::of_key(teeth))
    }

    fn table(self, point: &Point, shape: Shape) -> Table {
        let mut addends = Vec::with_capacity(shape.teeth * shape.multiples);
        self.multiples(point, shape, &mut addends);
        Table::new(shape, addends)
    }

    /// Appends the multiples of a point, tooth by tooth.
    fn multiples(self, point: &Point, shape: Shape, to: &mut Vec<Addend>) {
        match self {
            Self::Portable => multiples_portable(point, shape, to),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => super::x64::multiples_with_avx2(point, shape, to),
            #[cfg(target_arch = "x86_64")]
            Self::Ifma => super::x64::multiples_with_ifma(point, shape, to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small scalars too, whose sums meet the identity and equal points.
    #[test]
    fn sums_are_the_same_with_all_backends_and_any_number_of_teeth() {
        let scalar = |number: u64| {
            let mut bytes = [0; 32];
            bytes[..8].copy_from_slice(&number.to_le_bytes());
            bytes
        };
        let mut all = [0xff; 32];
        all[31] = 0x1f;
        let scalars = [all, scalar(u64::MAX)].into_iter().chain((0..10).map(scalar));
        let scalars: Vec<_> = scalars.collect();
        let base = Point::decompress(&BASE).expect("the base point is on the curve");
        let backends = || Backend::available().map(|it| (it, it.base_table()));
        let backends: Vec<_> = backends().collect();
        for key in [base, base.negated(), base.double(), Point::IDENTITY] {
            let tables = |teeth| {
                backends.iter().map(move |(it, base)| (it, base, it.key_table(&key, teeth)))
            };
            let tables: Vec<_> = [1, 2, 4, 8].into_iter().flat_map(tables).collect();
            for k in &scalars {
                for s in &scalars {
                    let mut sums = tables.iter().map(|(it, base, table)| {
                        it.compute(&Sum::new(table, k, base, s)).compress()
                    });
                    let first = sums.next().expect("a backend");
                    assert!(sums.all(|sum| sum == first), "{k:?} {s:?}");
                }
            }
        }
    }
}
