//! Measures what looks into transactions: going to steps, last writes, profiles and register traces; and
//! how many calls the search of `selkie-explore` needs.
//!
//! `cargo run --release --bin inspection` prints times of the processor, which other work on the machine
//! changes less than the time that passes.

mod differences;
mod litesvm_trace;
mod search;

use std::{fs, hint::black_box, io::Write as _, time::Duration};

use flate2::{Compression, write::DeflateEncoder};
use rustix::time::{ClockId, clock_gettime};
use selkie::{Instruction, Svm, address};
use selkie_replay::{ReplayFile, Timeline};
use selkie_report::{Profile, Programs, agave};

/// Some 1.4 million compute units.
const SORT: &str = include_str!("sort.s");
/// The heap of a program.
const HEAP: u64 = 0x3_0000_0000;
/// Turns of a measurement that takes milliseconds.
const TURNS: usize = 60;
/// Turns of one that takes longer.
const LONG_TURNS: usize = 9;
/// Steps that are gone to.
const STEPS_GONE_TO: usize = 1000;
/// Bytes whose last writes are looked for.
const BYTES_LOOKED_FOR: usize = 100;
/// The bytes that are sorted.
const SORTED_BYTES: u64 = 950 * 8;

fn main() {
    if litesvm_trace::measure_peer() {
        return;
    }
    let mut svm = Svm::new();
    svm.add_program(address("sort"), program(SORT)).expect("it loads");
    let call = Instruction { program_id: address("sort"), accounts: vec![], data: vec![] };
    let file: ReplayFile = svm.record_instructions("sort", &[call], &[]).into();
    let open = || file.timeline(0).expect("it can be replayed");
    let timeline = open();
    let receipt = timeline.receipt();
    assert!(receipt.is_ok(), "{:?}", receipt.result);
    println!("{} compute units, {} steps", receipt.compute_units, timeline.steps());
    memory_of(open);
    measure("opening", TURNS, open);
    go_to_steps(&timeline);
    last_writes(&timeline);
    measure("profile", TURNS, || {
        let (mut profile, mut programs) = (Profile::default(), Programs::default());
        profile.add(&timeline, &mut programs);
        assert_eq!(profile.units, receipt.compute_units);
        profile
    });
    traces(&timeline);
    litesvm_trace::measure_both(&timeline);
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
fn measure<T>(name: &str, turns: usize, work: impl FnMut() -> T) {
    let times = times(turns, work);
    let (least, median) = (milliseconds(times[0]), milliseconds(times[turns / 2]));
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

/// A generator of numbers, which are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

/// Prints how the times of different pieces of work are distributed.
fn measure_each<T>(name: &str, count: usize, work: impl FnMut() -> T) {
    let times = times(count, work);
    let at = |index: usize| milliseconds(times[index]);
    let (median, most, worst) = (at(count / 2), at(count * 99 / 100), at(count - 1));
    println!("{name:44} {median:8.2} ms median, 99 % in {most:.2} ms, worst {worst:.2} ms");
}

fn go_to_steps(timeline: &Timeline) {
    let mut numbers = Numbers(1);
    measure_each(&format!("any of {STEPS_GONE_TO} random steps"), STEPS_GONE_TO, || {
        timeline.state_at(numbers.below(timeline.steps()))
    });
}

/// Looks for the last writes of bytes at random steps, and at the end for that of the smallest number,
/// which came to its place early.
fn last_writes(timeline: &Timeline) {
    let last = |step, vaddr| timeline.last_write(step, 0, vaddr, 1);
    let mut numbers = Numbers(1);
    measure_each("last write of a random byte", BYTES_LOOKED_FOR, || {
        last(numbers.below(timeline.steps()), HEAP + numbers.below(SORTED_BYTES))
    });
    let end = timeline.steps();
    let early = last(end, HEAP).expect("the smallest number is there").step;
    measure(&format!("last write at step {early}, from the end"), TURNS, || last(end, HEAP));
}

fn traces(timeline: &Timeline) {
    let compress = |bytes: &[u8]| {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).expect("memory takes it");
        encoder.finish().expect("memory takes it")
    };
    let differences = || differences::of(timeline);
    measure("trace, differences from step to step", TURNS, differences);
    measure("the same, compressed by deflate", TURNS, || compress(&differences()));
    measure("trace, 96 bytes for each step", LONG_TURNS, || {
        let traces = agave::register_traces(timeline);
        traces.iter().map(|it| it.files(&[], "")).collect::<Vec<_>>()
    });
    let bytes = differences();
    let megabytes = |bytes: usize| bytes as f64 / 1e6;
    let (full, small) = (megabytes(bytes.len()), megabytes(compress(&bytes).len()));
    let words = megabytes(timeline.steps() as usize * 96);
    println!("    {full:.2} MB of differences, {small:.2} MB compressed, {words:.1} MB of words");
}
