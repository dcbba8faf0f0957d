//! An index for maps with many regions.
//!
//! The runtime may map each account of an instruction as a region of its own, one after the other
//! at byte granularity. A table over stretches of equal length narrows the search to the regions
//! that start within one stretch, mostly a single one.

use selkie_isa::layout::INPUT_START;

/// An index over the regions of the input window.
#[derive(Debug, Default)]
pub(super) struct RegionIndex {
    /// Stretches are `1 << shift` bytes long.
    shift: u32,
    /// For each stretch, how many regions start before it; then how many regions there are.
    starts: Vec<u32>,
}

/// With fewer regions, a plain binary search is as fast.
const REGIONS_MIN: usize = 8;
/// The most stretches per region.
const STRETCHES_PER_REGION: u64 = 4;

impl RegionIndex {
    /// Creates an index from the start addresses of all regions, in ascending order.
    pub(super) fn new(vaddrs: &[u64]) -> Self {
        let Some(span) = vaddrs.last().and_then(|last| last.checked_sub(INPUT_START)) else {
            return Self::default();
        };
        if vaddrs.len() < REGIONS_MIN {
            return Self::default();
        }
        let stretches = vaddrs.len() as u64 * STRETCHES_PER_REGION;
        let shift = (span / stretches).max(1).ilog2() + 1;
        let mut starts = Vec::new();
        for (index, vaddr) in vaddrs.iter().enumerate() {
            let stretch = vaddr.saturating_sub(INPUT_START) >> shift;
            while starts.len() as u64 <= stretch {
                starts.push(u32::try_from(index).unwrap_or(u32::MAX));
            }
        }
        starts.push(u32::try_from(vaddrs.len()).unwrap_or(u32::MAX));
        Self { shift, starts }
    }

    /// Narrows the search for the last of `count` regions that starts at or before `vaddr`. Returns
    /// the range of indices in which the first region after it may lie.
    #[inline]
    pub(super) fn narrow(&self, vaddr: u64, count: usize) -> (usize, usize) {
        let stretch = vaddr.checked_sub(INPUT_START).map(|offset| offset >> self.shift);
        let within = stretch.and_then(|stretch| {
            let index = usize::try_from(stretch).ok()?;
            Some((*self.starts.get(index)? as usize, *self.starts.get(index + 1)? as usize))
        });
        within.unwrap_or((0, count))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn narrowed_range_contains_the_partition_point(
            mut offsets in prop::collection::vec(0_u64..1 << 22, 0..80),
            below in 0_usize..4,
            probes in prop::collection::vec(0_u64..1 << 23, 20),
        ) {
            offsets.sort_unstable();
            let mut vaddrs: Vec<u64> = (1..=below as u64).map(|window| window << 32).collect();
            vaddrs.extend(offsets.iter().map(|offset| INPUT_START + offset));
            let index = RegionIndex::new(&vaddrs);
            for probe in probes.iter().map(|it| INPUT_START + it).chain([0, 1 << 33, u64::MAX]) {
                let expected = vaddrs.partition_point(|&it| it <= probe);
                let (low, high) = index.narrow(probe, vaddrs.len());
                prop_assert!(low <= expected && expected <= high);
            }
        }
    }
}
