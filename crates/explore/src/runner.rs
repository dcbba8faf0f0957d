//! Runs cases on a target's chain.

use selkie::{Pubkey, Receipt, Replay, Snapshot, Svm};

use crate::{
    args::Args,
    call_error::CallError,
    call_sequence::{Call, CallSequence},
    compared::Compared,
    coverage::{New, Watched},
    place::Places,
    target::{ActionContext, Defect, DefectKind, Target},
};

/// A target's chain, on which cases run one after the other, each from the start.
#[derive(Debug)]
pub(crate) struct Runner<'f> {
    target: &'f Target,
    svm: Svm,
    start: Snapshot,
    watched: Watched,
    places: Places,
    /// Whether failures have details, which take a while to find out.
    explains: bool,
    /// Those of all calls since they were taken.
    compute_units: u64,
}

/// What is watched while a case runs.
#[derive(Default)]
struct Watch<'w> {
    compared: Option<&'w mut Compared>,
    recorded: Option<&'w mut Vec<Replay>>,
    failed: Option<&'w mut Option<Receipt>>,
}

/// What happened to a case.
#[derive(Default, Debug)]
pub(crate) struct Ran {
    /// The number of calls that were run: all, or those up to the failure.
    pub(crate) calls: usize,
    /// Of each of them, whether its transaction succeeded.
    pub(crate) succeeded: Vec<bool>,
    /// Of each of them, the error of its transaction.
    pub(crate) errors: Vec<Option<CallError>>,
    pub(crate) failure: Option<Defect>,
}

impl<'f> Runner<'f> {
    pub(crate) fn new(target: &'f Target) -> Self {
        // Receipts need no history.
        let mut svm = (target.setup)().with_branch_counters().with_history(0);
        let start = svm.snapshot();
        Self {
            target,
            svm,
            start,
            watched: Watched::new(),
            places: Places::default(),
            explains: false,
            compute_units: 0,
        }
    }

    /// Finds out the details of failures.
    pub(crate) fn explaining(self) -> Self {
        Self { explains: true, ..self }
    }

    /// Returns the name and address of an account.
    pub(crate) fn show(&self, key: &Pubkey) -> String {
        self.svm.show(key)
    }

    /// Runs a case, and returns the receipt of the transaction that failed last.
    pub(crate) fn last_failure(&mut self, case: &CallSequence) -> Option<Receipt> {
        let mut failed = None;
        let watch = Watch { failed: Some(&mut failed), ..Watch::default() };
        self.run_with(case, watch, &mut |watched, _| watched.clear());
        failed
    }

    /// Returns the compute units of all calls since the last time.
    pub(crate) fn take_compute_units(&mut self) -> u64 {
        core::mem::take(&mut self.compute_units)
    }

    /// Runs a case, and returns what it covered for the first time besides. Each call is counted by
    /// itself, so that repeating one covers nothing new.
    pub(crate) fn run(&mut self, case: &CallSequence) -> (Ran, Vec<New>) {
        let mut new = Vec::new();
        let ran = self
            .run_with(case, Watch::default(), &mut |watched, svm| watched.take_new(svm, &mut new));
        (ran, new)
    }

    /// Runs a case, and calls `counted` after each call.
    pub(crate) fn run_counted(
        &mut self,
        case: &CallSequence,
        counted: &mut dyn FnMut(&mut Watched, &Svm),
    ) -> Ran {
        self.run_with(case, Watch::default(), counted)
    }

    /// Drops the calls without which a case covers the same. Returns how many were run for that.
    pub(crate) fn trim(&mut self, case: &mut CallSequence, wanted: &[New]) -> u64 {
        let mut calls = 0_u64;
        for index in (0..case.calls.len()).rev() {
            let mut shorter = case.clone();
            drop(shorter.calls.remove(index));
            let mut missing = wanted.to_vec();
            let take = &mut |watched: &mut Watched, _: &Svm| watched.take_from(&mut missing);
            let ran = self.run_with(&shorter, Watch::default(), take);
            calls = calls.saturating_add(ran.calls as u64);
            if missing.is_empty() && ran.failure.is_none() {
                *case = shorter;
            }
        }
        calls
    }

    /// Runs a case and returns what programs compare meanwhile.
    pub(crate) fn compare(&mut self, case: &CallSequence) -> Compared {
        let mut compared = Compared::default();
        let watch = Watch { compared: Some(&mut compared), ..Watch::default() };
        self.run_with(case, watch, &mut |watched, _| watched.clear());
        compared
    }

    /// Runs a case and records its transactions, each with the state before it. Its failure has details.
    pub(crate) fn record(&mut self, case: &CallSequence) -> (Ran, Vec<Replay>) {
        let mut recorded = Vec::new();
        let clear = &mut |watched: &mut Watched, _: &Svm| watched.clear();
        let before = core::mem::replace(&mut self.explains, true);
        let watch = Watch { recorded: Some(&mut recorded), ..Watch::default() };
        let ran = self.run_with(case, watch, clear);
        self.explains = before;
        (ran, recorded)
    }

    /// Runs a case, and calls `counted` after each call.
    fn run_with(
        &mut self,
        case: &CallSequence,
        mut watch: Watch<'_>,
        counted: &mut dyn FnMut(&mut Watched, &Svm),
    ) -> Ran {
        self.svm.restore(&self.start).expect("the snapshot is of this chain");
        let mut ran = Ran::default();
        for call in &case.calls {
            self.call(call, &mut watch, &mut ran);
            counted(&mut self.watched, &self.svm);
            ran.calls = ran.calls.saturating_add(1);
            if ran.failure.is_some() {
                break;
            }
        }
        ran
    }

    fn call(&mut self, call: &Call, watch: &mut Watch<'_>, ran: &mut Ran) {
        let action = self.target.actions.get(call.action).expect("it is of this target");
        let args = Args::new(&call.data);
        let Self { svm, target, places, explains, .. } = self;
        let session = ActionContext::new(args, svm, &target.fails_on, places, *explains);
        let Watch { compared, recorded, failed } = watch;
        let mut session = session.watched(
            compared.as_deref_mut(),
            recorded.as_deref_mut(),
            failed.as_deref_mut(),
        );
        (action.run)(&mut session);
        let result = session.result;
        self.compute_units = self.compute_units.saturating_add(result.compute_units);
        ran.succeeded.push(result.succeeded == Some(true));
        ran.errors.push(result.error);
        ran.failure = result.failure.or_else(|| self.broken_invariant());
    }

    fn broken_invariant(&self) -> Option<Defect> {
        self.target.invariants.iter().find_map(|(name, check)| {
            let detail = check(&self.svm).err()?;
            let what = format!("invariant `{name}`");
            Some(Defect { kind: DefectKind::Invariant, what, place: None, detail })
        })
    }
}
