//! Searches: the first or the last step of a range at which something holds.

use core::ops::{ControlFlow, Range};

use crate::{
    timeline::Timeline,
    visit::{ReachedStep, Visitor},
};

/// How many steps are searched first, going back.
const WINDOW_STEPS: u64 = 1 << 15;

/// Returns the parts of a range in which the last of something is looked for, the last one first: each
/// begins where `start` moves its beginning to, which may be further back, and ends where the one
/// before it began. They grow, since to run to the beginning of each takes time.
pub(crate) fn windows_back(
    range: Range<u64>,
    start: impl Fn(u64) -> u64,
) -> impl Iterator<Item = Range<u64>> {
    let (mut end, mut len) = (range.end, WINDOW_STEPS);
    core::iter::from_fn(move || {
        if end <= range.start {
            return None;
        }
        let window = start(end.saturating_sub(len)).max(range.start)..end;
        (end, len) = (window.start, len.saturating_mul(4));
        Some(window)
    })
}

struct Search<F> {
    holds: F,
    only_first: bool,
    found: Option<u64>,
}

impl<F: FnMut(&ReachedStep<'_, '_, '_>) -> bool> Visitor for Search<F> {
    fn step(&mut self, moment: &mut ReachedStep<'_, '_, '_>) -> ControlFlow<()> {
        if (self.holds)(moment) {
            self.found = Some(moment.step);
            if self.only_first {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }
}

impl Timeline {
    /// Returns the first step of a range at which `holds` returns true.
    pub fn find(
        &self,
        range: Range<u64>,
        holds: impl FnMut(&ReachedStep<'_, '_, '_>) -> bool,
    ) -> Option<u64> {
        let mut search = Search { holds, only_first: true, found: None };
        self.visit_range(range, &mut search);
        search.found
    }

    /// Returns the last step of a range at which `holds` returns true. The range is searched in parts,
    /// the last one first, each forward.
    pub fn find_last(
        &self,
        range: Range<u64>,
        mut holds: impl FnMut(&ReachedStep<'_, '_, '_>) -> bool,
    ) -> Option<u64> {
        let range = range.start..range.end.min(self.steps());
        windows_back(range, |start| start).find_map(|window| {
            let mut search = Search { holds: &mut holds, only_first: false, found: None };
            self.visit_range(window, &mut search);
            search.found
        })
    }
}
