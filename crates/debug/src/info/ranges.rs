//! The instructions that functions and scopes consist of.

use gimli::{DW_TAG_subprogram, RangeIter};
use selkie_inspect::dwarf::Reader;

use super::{DebugInfo, EntryId};

/// The address ranges that are read at a time. Entries may share one long list.
const RANGES_MAX: usize = 2_000_000;

/// How many more ranges may be read.
pub(crate) struct Budget(usize);

impl Default for Budget {
    fn default() -> Self {
        Self(RANGES_MAX)
    }
}

impl DebugInfo {
    /// Returns start and end of each range of addresses of an entry, until the budget is used up.
    pub(crate) fn ranges(
        &self,
        id: EntryId,
        budget: &mut Budget,
    ) -> impl Iterator<Item = (u64, u64)> {
        let mut ranges = self.range_iterator(id);
        core::iter::from_fn(move || {
            budget.0 = budget.0.checked_sub(1)?;
            let range = ranges.as_mut()?.next().ok()??;
            Some((range.begin, range.end))
        })
    }

    fn range_iterator(&self, id: EntryId) -> Option<RangeIter<Reader>> {
        let entry = self.entry(id)?;
        self.dwarf.die_ranges(entry.unit(), entry.attributes()).ok()
    }
}

/// A range of addresses that belongs to a function.
#[derive(Clone, Copy, Debug)]
struct FunctionRange {
    start: u64,
    end: u64,
    function: EntryId,
}

/// The functions that were not inlined, by address.
#[derive(Default, Debug)]
pub(crate) struct Functions {
    ranges: Vec<FunctionRange>,
}

impl Functions {
    pub(crate) fn read(info: &DebugInfo) -> Self {
        let mut ranges = Vec::new();
        let mut budget = Budget::default();
        for function in info.tree.all(&[DW_TAG_subprogram]) {
            let found = info.ranges(function, &mut budget).filter(|(start, end)| start < end);
            ranges.extend(found.map(|(start, end)| FunctionRange { start, end, function }));
        }
        ranges.sort_by_key(|it| it.start);
        Self { ranges }
    }

    /// Returns the function that contains an address.
    pub(crate) fn at(&self, address: u64) -> Option<EntryId> {
        let after = self.ranges.partition_point(|it| it.start <= address);
        let range = self.ranges[..after].last().filter(|it| address < it.end)?;
        Some(range.function)
    }

    /// Returns the functions with their first addresses.
    pub(crate) fn starts(&self) -> impl Iterator<Item = (u64, EntryId)> {
        self.ranges.iter().map(|it| (it.start, it.function))
    }
}
