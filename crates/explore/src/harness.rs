//! The interface for other fuzzers: an input is bytes, and coverage is a map of counters.

use crate::{
    call_sequence::CallSequence,
    coverage::Watched,
    finding::Finding,
    runner::Runner,
    shrink::shrink,
    target::{Defect, Target},
};

/// Runs the inputs of another fuzzer on a target.
///
/// An input is bytes, any of which are a sequence of calls ([`CallSequence::from_bytes`]). A run counts the
/// branches of programs in a map, which belongs to the fuzzer: for libFuzzer, a static of the section
/// `__libfuzzer_extra_counters`; for LibAFL, that of a map observer.
///
/// ```
/// use selkie::{Svm, address, system};
/// use selkie_explore::{Target, Harness};
///
/// let (alice, bob) = (address("alice"), address("bob"));
/// let target = Target::new(Svm::new).action("transfer", move |session| {
///     let lamports = session.args.u64();
///     session.send(&[system::transfer(&alice, &bob, lamports)]);
/// });
/// let mut harness = Harness::new(&target);
/// let mut map = vec![0; 1 << 16];
/// let case = harness.case(&[0, 2, 7, 0]);
/// assert_eq!(case.calls[0].data, [7, 0]);
/// assert_eq!(harness.run(&case, &mut map), None);
/// ```
#[derive(Debug)]
pub struct Harness<'f> {
    target: &'f Target,
    runner: Runner<'f>,
}

impl<'f> Harness<'f> {
    /// Makes the chain of a target.
    #[must_use]
    pub fn new(target: &'f Target) -> Self {
        Self { target, runner: Runner::new(target).explaining() }
    }

    /// Returns the case that an input stands for.
    #[must_use]
    pub fn case(&self, input: &[u8]) -> CallSequence {
        CallSequence::from_bytes(input, self.target.actions.len())
    }

    /// Runs a case from the start of the chain, and returns why it fails, if it does.
    ///
    /// In `map`, two bytes for each conditional branch count how often it was not taken and taken. They
    /// are raised, never lowered, so the fuzzer clears them between runs. Each call is counted by
    /// itself, and the highest count remains. Where the counters of a program begin follows from its
    /// address alone, so the map of a case is always the same; a map of 64 KiB has room for the branches
    /// of most programs.
    ///
    /// # Panics
    /// If the case calls actions that the target does not have.
    pub fn run(&mut self, case: &CallSequence, map: &mut [u8]) -> Option<Defect> {
        let mut counted = |watched: &mut Watched, svm: &selkie::Svm| watched.count(svm, map);
        self.runner.run_counted(case, &mut counted).failure
    }

    /// Makes a case that fails as short as possible, and records it. `None` if it does not fail.
    ///
    /// # Panics
    /// If the case calls actions that the target does not have.
    pub fn finding(&mut self, case: &CallSequence) -> Option<Finding> {
        let failure = self.runner.run(case).0.failure?;
        let (case, _) = shrink(&mut self.runner, case.clone(), &failure.what);
        let failure = self.runner.run(&case).0.failure?;
        Some(Finding::record(&mut self.runner, &self.target.action_names(), case, failure))
    }
}
