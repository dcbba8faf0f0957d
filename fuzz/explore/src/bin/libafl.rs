//! LibAFL: the map is that of a map observer, and a case that fails is a crash.

use std::{cell::RefCell, path::Path};

use libafl::{
    corpus::{Corpus, InMemoryCorpus},
    events::SimpleEventManager,
    executors::{ExitKind, InProcessExecutor},
    feedbacks::{CrashFeedback, MaxMapFeedback},
    fuzzer::{Evaluator, Fuzzer, StdFuzzer},
    inputs::{BytesInput, HasTargetBytes},
    monitors::SimpleMonitor,
    mutators::{HavocScheduledMutator, havoc_mutations},
    observers::StdMapObserver,
    schedulers::QueueScheduler,
    stages::StdMutationalStage,
    state::{HasExecutions, HasSolutions, StdState},
};
use libafl_bolts::{ToSlice, rands::StdRand, tuples::tuple_list};
use selkie_explore::{Harness, folder};
use selkie_fuzz_explore::target;

const MAP_BYTES: usize = 1 << 16;
static mut MAP: [u8; MAP_BYTES] = [0; MAP_BYTES];

fn main() -> Result<(), Box<dyn core::error::Error>> {
    let seed = std::env::args().nth(1).map_or(Ok(0), |it| it.parse())?;
    let target = target();
    let harness = RefCell::new(Harness::new(&target));
    let mut run = |input: &BytesInput| {
        let mut harness = harness.borrow_mut();
        let case = harness.case(input.target_bytes().to_slice());
        // SAFETY: there is one thread, and the observer does not touch the map during a run.
        let map = unsafe { (&raw mut MAP).as_mut().expect("it is a static") };
        harness.run(&case, map).map_or(ExitKind::Ok, |_| ExitKind::Crash)
    };
    // SAFETY: as above; the map lives as long as the process.
    let observer =
        unsafe { StdMapObserver::from_mut_ptr("branches", (&raw mut MAP).cast::<u8>(), MAP_BYTES) };
    let (mut feedback, mut objective) = (MaxMapFeedback::new(&observer), CrashFeedback::new());
    let mut state = StdState::new(
        StdRand::with_seed(seed),
        InMemoryCorpus::<BytesInput>::new(),
        InMemoryCorpus::new(),
        &mut feedback,
        &mut objective,
    )?;
    let mut events = SimpleEventManager::new(SimpleMonitor::new(|line| println!("{line}")));
    let mut fuzzer = StdFuzzer::new(QueueScheduler::new(), feedback, objective);
    let mut executor = InProcessExecutor::builder()
        .harness(&mut run)
        .observers(tuple_list!(observer))
        .fuzzer(&mut fuzzer)
        .state(&mut state)
        .event_mgr(&mut events)
        .build()?;
    fuzzer.add_input(&mut state, &mut executor, &mut events, BytesInput::new(vec![0; 4]))?;
    let mut stages =
        tuple_list!(StdMutationalStage::new(HavocScheduledMutator::new(havoc_mutations())));
    while state.solutions().count() == 0 {
        fuzzer.fuzz_one(&mut stages, &mut executor, &mut state, &mut events)?;
    }
    println!("found after {} runs", state.executions());
    let id = state.solutions().first().expect("there is one");
    let input = state.solutions().cloned_input_for_id(id)?;
    drop(executor);
    show(&mut harness.into_inner(), &input)
}

/// Prints what a case finds, and writes it as a replay and a test.
fn show(harness: &mut Harness<'_>, input: &BytesInput) -> Result<(), Box<dyn core::error::Error>> {
    let case = harness.case(input.target_bytes().to_slice());
    let finding = harness.finding(&case).expect("it fails again");
    folder::write_finding(Path::new("target/selkie-findings"), &finding, None)?;
    println!("{}: {}\n{}", finding.what, finding.detail, finding.text);
    Ok(())
}
