//! The instructions of the processor that add points: the choice is made at run time.

use super::{
    point::{Addend, Point},
    sum::{Shape, Sum, multiples_portable},
};

/// The instructions that add points. All compute the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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

    /// Appends the multiples of a point, tooth by tooth.
    pub(super) fn multiples(self, point: &Point, shape: Shape, to: &mut Vec<Addend>) {
        match self {
            Self::Portable => multiples_portable(point, shape, to),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => super::x64::multiples_with_avx2(point, shape, to),
            #[cfg(target_arch = "x86_64")]
            Self::Ifma => super::x64::multiples_with_ifma(point, shape, to),
        }
    }
}
