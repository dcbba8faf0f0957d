//! The search: makes cases, runs them, and keeps those that reach something new.

use core::{
    fmt,
    ops::ControlFlow,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};
use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
};

use crate::{
    call_error::{ErrorCount, ErrorCounts},
    call_sequence::CallSequence,
    coverage::Seen,
    finding::Finding,
    mutate::{Material, generate, mutate},
    random::Random,
    runner::{Ran, Runner},
    shrink::shrink,
    target::Target,
};

/// After how many calls without any success a search gives up.
const HOPELESS_CALLS: u64 = 4096;
/// How many cases a thread runs before it asks its watcher.
const CASES_AT_ONCE: u64 = 256;
/// The most values that a thread remembers for mutation.
const WORDS_MAX: usize = 4096;

/// The options of a search.
#[derive(Clone, Debug)]
pub struct Options {
    /// The seed of all randomness.
    pub seed: u64,
    /// How many calls of actions are run, roughly; `None` for no bound.
    pub runs: Option<u64>,
    /// How many threads run cases. With more than one, results depend on their timing.
    pub threads: usize,
    /// After how many different findings the search ends.
    pub findings_max: usize,
    /// Cases to begin with.
    pub seeds: Vec<CallSequence>,
}

impl Default for Options {
    fn default() -> Self {
        Self { seed: 0, runs: None, threads: 1, findings_max: 1, seeds: Vec::new() }
    }
}

/// How often an action was called.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ActionCount {
    /// The action.
    pub name: String,
    /// The number of its calls.
    pub calls: u64,
    /// The number of those whose last transaction succeeded.
    pub successes: u64,
    /// The errors that the others ended with, the most frequent one first: up to 16 different ones.
    pub errors: Vec<ErrorCount>,
}

/// How far a search is.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Progress {
    /// The number of calls of actions so far.
    pub executions: u64,
    /// The compute units that they consumed.
    pub compute_units: u64,
    /// The number of branch directions that were taken.
    pub coverage: usize,
    /// The number of cases in the corpus.
    pub corpus: usize,
    /// The number of findings.
    pub findings: usize,
    /// The calls of each action.
    pub actions: Vec<ActionCount>,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Report {
    /// How far it came.
    pub progress: Progress,
    /// The cases that reached something new, in the order in which they did.
    pub corpus: Vec<CallSequence>,
    /// What failed, each once, the worst first.
    pub findings: Vec<Finding>,
}

/// Why a search was not attempted, or given up.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ExploreError {
    /// The target has no actions.
    NoActions,
    /// No action ever succeeded; with the calls and errors of each.
    NothingSucceeds(Vec<ActionCount>),
}

impl fmt::Display for ExploreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoActions => f.write_str("the target has no actions"),
            Self::NothingSucceeds(actions) => {
                let calls = actions.iter().fold(0_u64, |sum, it| sum.saturating_add(it.calls));
                write!(f, "no action succeeded in {calls} calls")?;
                let of_action =
                    |it: &ActionCount| Some((it.name.clone(), it.errors.first().cloned()?));
                match actions.iter().filter_map(of_action).max_by_key(|(_, it)| it.count) {
                    Some((name, ErrorCount { error, count, .. })) => {
                        write!(f, "; `{name}` failed {count} times: {error}")
                    }
                    None => f.write_str(", and none sent a transaction that failed"),
                }
            }
        }
    }
}

impl core::error::Error for ExploreError {}

/// Searches for cases that fail, until there are [`Options::findings_max`], or [`Options::runs`] calls
/// were run.
///
/// # Errors
/// If no action of the target succeeds.
pub fn explore(target: &Target, options: &Options) -> Result<Report, ExploreError> {
    explore_watched(target, options, &mut |_| ControlFlow::Continue(()))
}

/// Searches like [`explore`], and calls `watch` every few hundred cases, which can end the search.
///
/// # Errors
/// If no action of the target succeeds.
pub fn explore_watched(
    target: &Target,
    options: &Options,
    watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Report, ExploreError> {
    if target.actions.is_empty() {
        return Err(ExploreError::NoActions);
    }
    let search = Search::new(target, options);
    thread::scope(|scope| {
        for number in 1..options.threads.max(1) {
            let search = &search;
            scope
                .spawn(move || Worker::new(search, number).run(&mut |_| ControlFlow::Continue(())));
        }
        let _stop = StopAtEnd(&search.stop);
        Worker::new(&search, 0).run(watch);
    });
    let progress = search.progress();
    let actions = progress.actions.clone();
    let shared = search.shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    if shared.hopeless && shared.findings.is_empty() {
        return Err(ExploreError::NothingSucceeds(actions));
    }
    let mut findings = shared.findings;
    // Those of the same kind stay in the order in which they were found.
    findings.sort_by_key(|it| it.kind);
    Ok(Report { progress, corpus: shared.corpus, findings })
}

/// Ends the other threads, even if this one panics.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What the threads share.
struct Search<'f> {
    target: &'f Target,
    options: &'f Options,
    stop: AtomicBool,
    executions: AtomicU64,
    compute_units: AtomicU64,
    /// The calls and the successes of each action.
    counts: Vec<[AtomicU64; 2]>,
    shared: Mutex<Shared>,
}

#[derive(Default)]
struct Shared {
    seen: Seen,
    corpus: Vec<CallSequence>,
    findings: Vec<Finding>,
    hopeless: bool,
    errors: ErrorCounts,
}

impl Shared {
    /// Counts another call that fails in a known way. Returns whether it is known.
    fn count_known(&mut self, what: &str) -> bool {
        let known = self.findings.iter_mut().find(|it| it.what == what);
        known.map(|it| it.count = it.count.saturating_add(1)).is_some()
    }
}

impl<'f> Search<'f> {
    fn new(target: &'f Target, options: &'f Options) -> Self {
        let counts = target.actions.iter().map(|_| <[AtomicU64; 2]>::default()).collect();
        Self {
            target,
            options,
            stop: AtomicBool::new(false),
            executions: AtomicU64::new(0),
            compute_units: AtomicU64::new(0),
            counts,
            shared: Mutex::new(Shared {
                errors: ErrorCounts::new(target.actions.len()),
                ..Shared::default()
            }),
        }
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        let executions = self.executions.load(Ordering::Relaxed);
        self.stop.load(Ordering::Relaxed)
            || self.options.runs.is_some_and(|runs| executions >= runs)
    }

    fn count(&self, case: &CallSequence, ran: &Ran) {
        self.executions.fetch_add(ran.calls as u64, Ordering::Relaxed);
        for (call, succeeded) in case.calls.iter().zip(&ran.succeeded) {
            if let Some([calls, successes]) = self.counts.get(call.action) {
                calls.fetch_add(1, Ordering::Relaxed);
                successes.fetch_add(u64::from(*succeeded), Ordering::Relaxed);
            }
        }
    }

    fn progress(&self) -> Progress {
        let shared = self.shared();
        let actions = self.target.actions.iter().zip(&self.counts).enumerate();
        let actions = actions.map(|(number, (action, [calls, successes]))| ActionCount {
            name: action.name.clone(),
            calls: calls.load(Ordering::Relaxed),
            successes: successes.load(Ordering::Relaxed),
            errors: shared.errors.of_action(number),
        });
        Progress {
            executions: self.executions.load(Ordering::Relaxed),
            compute_units: self.compute_units.load(Ordering::Relaxed),
            coverage: shared.seen.directions(),
            corpus: shared.corpus.len(),
            findings: shared.findings.len(),
            actions: actions.collect(),
        }
    }

    /// Ends the search if nothing has succeeded for long.
    fn give_up_if_hopeless(&self) {
        let is_success = |[_, successes]: &[AtomicU64; 2]| successes.load(Ordering::Relaxed) > 0;
        let executions = self.executions.load(Ordering::Relaxed);
        let is_long = executions >= self.options.runs.unwrap_or(u64::MAX).min(HOPELESS_CALLS);
        if is_long && !self.counts.iter().any(is_success) {
            self.shared().hopeless = true;
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// A thread of the search.
struct Worker<'s, 'f> {
    search: &'s Search<'f>,
    runner: Runner<'f>,
    random: Random,
    /// What this thread knows of the corpus.
    corpus: Vec<CallSequence>,
    words: Vec<Vec<u8>>,
    /// The errors since the others were told.
    errors: ErrorCounts,
    /// Cases to run before others.
    queue: VecDeque<CallSequence>,
}

impl<'s, 'f> Worker<'s, 'f> {
    fn new(search: &'s Search<'f>, number: usize) -> Self {
        let seed = search.options.seed.wrapping_add((number as u64).rotate_left(32));
        let seeds = if number == 0 { search.options.seeds.clone() } else { Vec::new() };
        Self {
            search,
            runner: Runner::new(search.target),
            random: Random::new(seed),
            corpus: Vec::new(),
            words: Vec::new(),
            errors: ErrorCounts::new(search.target.actions.len()),
            queue: seeds.into(),
        }
    }

    fn run(&mut self, watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>) {
        let mut succeeded = false;
        while !self.search.is_over() {
            for _ in 0..CASES_AT_ONCE {
                if self.search.is_over() {
                    break;
                }
                let case = self.next_case();
                succeeded |= self.evaluate(case);
            }
            let units = self.runner.take_compute_units();
            self.search.compute_units.fetch_add(units, Ordering::Relaxed);
            self.learn();
            if !succeeded {
                self.search.give_up_if_hopeless();
            }
            if watch(&self.search.progress()).is_break() {
                self.search.stop.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Takes the cases that other threads have found, and tells the errors.
    fn learn(&mut self) {
        let mut shared = self.search.shared();
        self.errors.move_to(&mut shared.errors);
        let known = self.corpus.len();
        self.corpus.extend(shared.corpus.iter().skip(known).cloned());
    }

    fn next_case(&mut self) -> CallSequence {
        let is_its_turn = self.corpus.is_empty() || self.random.one_in(2);
        if is_its_turn && let Some(case) = self.queue.pop_front() {
            return case;
        }
        let actions = self.search.target.actions.len();
        let random = &mut self.random;
        let len = self.corpus.len();
        // The newest ones are the most promising.
        let newest = self.corpus.get(len.saturating_sub(8)..).unwrap_or_default();
        let from = if random.one_in(2) { newest } else { &self.corpus };
        let Some(mut case) = random.pick(from).cloned().filter(|_| !random.one_in(32)) else {
            return generate(random, actions);
        };
        let other = random.pick(&self.corpus).unwrap_or(&case).clone();
        let material = Material { actions, other: &other, words: &self.words };
        mutate(&mut case, random, material);
        case
    }

    /// Runs a case. Returns whether one of its calls succeeded.
    fn evaluate(&mut self, mut case: CallSequence) -> bool {
        let (ran, new) = self.runner.run(&case);
        self.search.count(&case, &ran);
        let succeeded = ran.succeeded.contains(&true);
        for (index, error) in ran.errors.into_iter().enumerate() {
            if let Some(error) = error {
                self.errors.add(&case, index, error);
            }
        }
        case.calls.truncate(ran.calls);
        if let Some(failure) = ran.failure {
            self.found(case, &failure.what);
        } else if !new.is_empty() && self.search.shared().seen.add(&new) {
            let calls = self.runner.trim(&mut case, &new);
            self.search.executions.fetch_add(calls, Ordering::Relaxed);
            self.keep(case);
        }
        succeeded
    }

    /// Adds a case to the corpus, and makes cases of what its programs compare.
    fn keep(&mut self, case: CallSequence) {
        let compared = self.runner.compare(&case);
        for word in compared.values() {
            if self.words.len() < WORDS_MAX && !self.words.contains(word) {
                self.words.push(word.clone());
            }
        }
        self.queue.extend(compared.candidates(&case));
        let mut shared = self.search.shared();
        shared.corpus.push(case);
        let known = self.corpus.len();
        self.corpus.extend(shared.corpus.iter().skip(known).cloned());
    }

    fn found(&mut self, case: CallSequence, what: &str) {
        if self.search.shared().count_known(what) {
            return;
        }
        let (case, calls) = shrink(&mut self.runner, case, what);
        self.search.executions.fetch_add(calls, Ordering::Relaxed);
        let (ran, _) = self.runner.run(&case);
        let Some(failure) = ran.failure else { return };
        let names = self.search.target.action_names();
        let finding = Finding::record(&mut self.runner, &names, case, failure);
        let mut shared = self.search.shared();
        if !shared.count_known(what) {
            shared.findings.push(finding);
        }
        if shared.findings.len() >= self.search.options.findings_max.max(1) {
            self.search.stop.store(true, Ordering::Relaxed);
        }
    }
}
