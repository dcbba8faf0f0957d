//! Measures what looking into a transaction of 1.4 million compute units takes.
//!
//! ```text
//! cargo run --release -p selkie-report --example figures
//! ```

#![allow(clippy::print_stdout, reason = "it prints a table")]

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use selkie::{Instruction, Svm, address};
use selkie_replay::{ReplayFile, Timeline};
use selkie_report::{Coverage, Profile, Programs, agave};

/// Mixes a hash into a table on the stack, by a function, until no compute units remain to do so.
const SOURCE: &str = "
.globl entrypoint
entrypoint:
    mov64 r6, 0
    lddw r7, 0x9e3779b97f4a7c15
    mov64 r9, 68000
loop:
    mov64 r1, r6
    call mix
    mov64 r2, r0
    and64 r2, 0xff8
    mov64 r3, r10
    sub64 r3, 4096
    add64 r3, r2
    ldxdw r4, [r3]
    xor64 r4, r0
    stxdw [r3], r4
    add64 r6, 1
    jne r6, r9, loop
    mov64 r0, 0
    exit
mix:
    mov64 r0, r1
    add64 r0, r7
    mov64 r2, r0
    rsh64 r2, 30
    xor64 r0, r2
    lsh64 r2, 7
    add64 r0, r2
    exit
";

fn timeline() -> Timeline {
    let options = selkie_asm::Options {
        name: "figures.s".to_owned(),
        debug_info: true,
        ..selkie_asm::Options::default()
    };
    let output = selkie_asm::assemble(SOURCE, &options);
    let mut svm = Svm::new();
    let elf = output.assembly.expect("the source has no errors").to_elf();
    svm.add_program(address("figures"), elf).expect("the program loads");
    let call = Instruction { program_id: address("figures"), accounts: vec![], data: vec![] };
    let file = ReplayFile::from(svm.record_instructions("figures", &[call], &[]));
    println!("replay file             {:>9} bytes", file.to_string().len());
    file.timeline(0).expect("the file was just written")
}

/// Returns the shortest of several times.
fn best<R>(times: usize, mut run: impl FnMut(usize) -> R) -> Duration {
    let time = |index| {
        let start = Instant::now();
        black_box(run(index));
        start.elapsed()
    };
    (0..times).map(time).min().unwrap_or_default()
}

/// Returns the longest time that it takes to go to one of many steps, each the best of three.
fn any_step(timeline: &Timeline) -> Duration {
    let steps = (0..200).map(|index| timeline.steps() * index / 200 + index * 7 % 4096);
    let times = steps.map(|step| best(3, |_| timeline.state_at(step)));
    times.max().unwrap_or_default()
}

fn main() {
    let timeline = timeline();
    println!("steps                   {:>9}", timeline.steps());
    let report = |what: &str, time: Duration| {
        println!("{what:<23} {:>9.3} ms", time.as_secs_f64() * 1e3);
    };
    let end = timeline.steps();
    report("any step, the slowest", any_step(&timeline));
    report("last write", best(5, |_| timeline.last_write(end, 0, 0x2_0000_0100, 8)));
    report("search, first step", best(5, |_| timeline.find(0..end, |it| it.pc() == 1000)));
    report("search back, last step", best(5, |_| timeline.find_last(0..end, |it| it.pc() == 18)));
    let mut programs = Programs::default();
    report(
        "profile",
        best(5, |_| {
            let mut profile = Profile::default();
            profile.add(&timeline, &mut programs);
            profile
        }),
    );
    report(
        "coverage",
        best(5, |_| {
            let mut coverage = Coverage::default();
            coverage.add(&timeline, &mut programs);
            coverage.files(&mut programs)
        }),
    );
    report("register trace", best(5, |_| agave::register_traces(&timeline)));
}
