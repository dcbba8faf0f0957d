//! Shrinking: the shortest case, with the simplest data, that fails in the same way.

use crate::{call_sequence::CallSequence, runner::Runner};

/// The most cases that are tried.
const TRIES_MAX: usize = 20_000;

/// Returns the smallest case found that fails as `what` says, and how many calls were run to find it.
pub(crate) fn shrink(
    runner: &mut Runner<'_>,
    case: CallSequence,
    what: &str,
) -> (CallSequence, u64) {
    let mut shrinker = Shrinker { runner, what, tries: 0, calls: 0, best: case };
    loop {
        let before = shrinker.best.clone();
        shrinker.drop_calls();
        for index in 0..shrinker.best.calls.len() {
            shrinker.shorten_data(index);
            shrinker.simplify_bytes(index);
        }
        if shrinker.best == before || shrinker.tries >= TRIES_MAX {
            return (shrinker.best, shrinker.calls);
        }
    }
}

struct Shrinker<'r, 'f> {
    runner: &'r mut Runner<'f>,
    what: &'r str,
    tries: usize,
    calls: u64,
    best: CallSequence,
}

impl Shrinker<'_, '_> {
    /// Keeps a change of the best case if that still fails.
    fn try_change(&mut self, change: impl FnOnce(&mut CallSequence)) -> bool {
        let mut case = self.best.clone();
        change(&mut case);
        if case == self.best || self.tries >= TRIES_MAX {
            return false;
        }
        self.tries = self.tries.saturating_add(1);
        let (ran, _) = self.runner.run(&case);
        self.calls = self.calls.saturating_add(ran.calls as u64);
        let fails = ran.failure.is_some_and(|failure| failure.what == self.what);
        if fails {
            case.calls.truncate(ran.calls);
            self.best = case;
        }
        fails
    }

    fn drop_calls(&mut self) {
        let mut index = self.best.calls.len();
        while index > 0 {
            index = index.min(self.best.calls.len()).saturating_sub(1);
            self.try_change(|case| drop(case.calls.remove(index)));
        }
    }

    fn shorten_data(&mut self, index: usize) {
        let len = |case: &CallSequence| case.calls.get(index).map_or(0, |call| call.data.len());
        let mut step = len(&self.best);
        while step > 0 {
            let shorter = len(&self.best).saturating_sub(step);
            let is_shorter = self.try_change(|case| {
                if let Some(call) = case.calls.get_mut(index) {
                    call.data.truncate(shorter);
                }
            });
            if !is_shorter {
                step /= 2;
            }
        }
    }

    /// Makes bytes 0, or halves them.
    fn simplify_bytes(&mut self, index: usize) {
        let len = self.best.calls.get(index).map_or(0, |call| call.data.len());
        for at in 0..len {
            let set = |case: &mut CallSequence, change: fn(u8) -> u8| {
                let call = case.calls.get_mut(index);
                if let Some(byte) = call.and_then(|call| call.data.get_mut(at)) {
                    *byte = change(*byte);
                }
            };
            if self.try_change(|case| set(case, |_| 0)) {
                continue;
            }
            while self.try_change(|case| set(case, |byte| byte / 2)) {}
            while self.try_change(|case| set(case, |byte| byte.saturating_sub(1))) {}
        }
    }
}
