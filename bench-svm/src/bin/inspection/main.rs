//! Measures what looks into transactions: going to steps, last writes, profiles and register traces; and
//! how many calls the search of `selkie-explore` needs.
//!
//! `cargo run --release --bin inspection` prints times of the processor, which other work on the machine
//! changes less than the time that passes.

mod differences;
mod search;

use std::{fs, hint::black_box, io::Write as _, time::Duration};

use flate2::{Compression, write::DeflateEncoder};
use rustix::time::{ClockId, clock_gettime};
use selkie::{Instruction, Svm, address, fixture::Fixture};
use selkie_replay::{ReplayFile, Timeline};
use selkie_report::{Profile, Programs, agave};

/// Some 1.4 million compute units.
const SORT: &str = include_str!("sort.s");
/// The heap of a program.
const HEAP: u64 = 0x3_0000_0000;
/// Turns of each measurement but that of single steps.
const TURNS: usize = 15;
/// Steps that are gone to.
const STEPS_GONE_TO: u64 = 1000;

fn main() {
    let mut svm = Svm::new();
    svm.add_program(address("sort"), program(SORT)).expect("it loads");
    let call = Instruction { program_id: address("sort"), accounts: vec![], data: vec![] };
    let file: ReplayFile = Fixture::record_instructions(&svm, "sort", &[call], &[]).into();
    let open = || file.timeline(0).expect("it can be replayed");
    let timeline = open();
    let receipt = timeline.receipt();
    assert!(receipt.is_ok(), "{:?}", receipt.result);
    println!("{} compute units, {} steps", receipt.compute_units, timeline.steps());
    memory_of(open);
    measure("opening", open);
    go_to_steps(&timeline);
    measure("last write of a byte", || {
        timeline.last_write(timeline.steps(), 0, HEAP, 1).expect("the smallest number is there")
    });
    measure("profile", || {
        let (mut profile, mut programs) = (Profile::default(), Programs::default());
        profile.add(&timeline, &mut programs);
        assert_eq!(profile.units, receipt.compute_units);
        profile
    });
    traces(&timeline);
    search::measure();
}

fn program(source: &str) -> Vec<u8> {
    let output = selkie_asm::assemble(source, &selkie_asm::Options::default());
    output.assembly.expect("the source has no errors").to_elf()
}

/// Returns the processor's time of all threads.
fn now() -> Duration {
    clock_gettime(ClockId::ProcessCPUTime).try_into().expect("it is positive")
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Returns the times of some turns of `work`, the least first.
fn times<T>(turns: usize, mut work: impl FnMut() -> T) -> Vec<Duration> {
    let time = |_| {
        let start = now();
        black_box(work());
        now().saturating_sub(start)
    };
    let mut times: Vec<Duration> = (0..turns).map(time).collect();
    times.sort_unstable();
    times
}

/// Prints the least and the median time of `work`.
fn measure<T>(name: &str, work: impl FnMut() -> T) {
    let times = times(TURNS, work);
    let (least, median) = (milliseconds(times[0]), milliseconds(times[TURNS / 2]));
    println!("{name:44} {least:8.2} ms, median {median:8.2} ms");
}

/// Prints by how much a hundred open timelines make the process grow, for each of them.
fn memory_of<T>(open: impl Fn() -> T) {
    const OPEN: u64 = 100;
    let resident = || {
        let pages = fs::read_to_string("/proc/self/statm").expect("Linux has it");
        let pages: u64 = pages.split(' ').nth(1).and_then(|it| it.parse().ok()).expect("a number");
        pages * 4096
    };
    let before = resident();
    let timelines: Vec<T> = (0..OPEN).map(|_| open()).collect();
    let bytes = resident().saturating_sub(before) / OPEN;
    drop(timelines);
    println!("{:44} {:8.2} MB", "memory of an open timeline", bytes as f64 / 1e6);
}

fn go_to_steps(timeline: &Timeline) {
    let mut random = 1_u64;
    let times = times(STEPS_GONE_TO as usize, || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        timeline.state_at((random >> 33) % timeline.steps())
    });
    let at = |index: usize| milliseconds(times[index]);
    let (median, most, worst) =
        (at(times.len() / 2), at(times.len() * 99 / 100), at(times.len() - 1));
    let name = format!("any of {STEPS_GONE_TO} random steps");
    println!("{name:44} {median:8.2} ms median, 99 % in {most:.2} ms, worst {worst:.2} ms");
}

fn traces(timeline: &Timeline) {
    let compress = |bytes: &[u8]| {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).expect("memory takes it");
        encoder.finish().expect("memory takes it")
    };
    let differences = || differences::of(timeline);
    measure("trace, differences from step to step", differences);
    measure("the same, compressed by deflate", || compress(&differences()));
    measure("trace, 96 bytes for each step", || {
        let traces = agave::register_traces(timeline);
        traces.iter().map(agave::RegisterTrace::to_bytes).collect::<Vec<_>>()
    });
    let bytes = differences();
    let megabytes = |bytes: usize| bytes as f64 / 1e6;
    let (full, small) = (megabytes(bytes.len()), megabytes(compress(&bytes).len()));
    let words = megabytes(timeline.steps() as usize * 96);
    println!("    {full:.2} MB of differences, {small:.2} MB compressed, {words:.1} MB of words");
}
