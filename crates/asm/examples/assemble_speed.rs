//! Measures the assembler: `cargo run --release -p selkie-asm --example assemble_speed`.
//!
//! Prints time, CPU time and peak memory for a source of 200,000 instructions in each dialect.

#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::{fmt::Write, time::Instant};

use selkie_asm::{Options, assemble};
use selkie_isa::Version;

const INSTRUCTIONS: usize = 200_000;
/// Runs per measurement, of which the fastest counts, since other load only makes a run slower.
const ROUNDS: usize = 5;

fn main() {
    let blocks = INSTRUCTIONS / 8;
    for (dialect, block) in [("mnemonics", MNEMONICS), ("pseudo-C", PSEUDO)] {
        let mut source = String::from(".equ OFFSET, 16\n.globl entrypoint\nentrypoint:\n");
        for index in 0..blocks {
            let _ = writeln!(source, "block_{index}:");
            let next = (index + 1).min(blocks - 1);
            source.push_str(&block.replace("NEXT", &format!("block_{next}")));
        }
        for version in [Version::V0, Version::V3] {
            let options = Options { version, ..Options::default() };
            let (mut best, mut best_cpu) = (f64::MAX, f64::MAX);
            let mut output = assemble(&source, &options);
            for _ in 0..ROUNDS {
                drop(output);
                let (start, start_cpu) = (Instant::now(), cpu_seconds());
                output = assemble(&source, &options);
                best = best.min(start.elapsed().as_secs_f64());
                best_cpu = best_cpu.min(cpu_seconds() - start_cpu);
            }
            let assembly = output.assembly.expect("the source has no errors");
            println!(
                "{dialect} {version}: {} instructions in {:.1} ms ({:.1} ms of CPU), {} bytes of source, peak {} KiB",
                assembly.text.len() / 8,
                best * 1e3,
                best_cpu * 1e3,
                source.len(),
                peak_kib().unwrap_or(0),
            );
        }
    }
}

const MNEMONICS: &str = "    ldxdw r2, [r1 + OFFSET]
    add64 r2, 0x10 ; a comment
    mov64 r3, r2
    stxdw [r10 - 8], r3
    jne r2, 9, NEXT
    lsh64 r3, 4
    call sol_log_64_
    exit
";

const PSEUDO: &str = "\tr2 = *(u64 *)(r1 + OFFSET)
\tr2 += 16
\tr3 = r2
\t*(u64 *)(r10 - 8) = r3
\tif r2 != 9 goto NEXT
\tr3 <<= 4
\tcall sol_log_64_
\texit
";

/// Returns the CPU time of this process, on systems that report it. Other load makes the wall time
/// longer.
fn cpu_seconds() -> f64 {
    let schedule = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanoseconds: Option<f64> = schedule.split(' ').next().and_then(|word| word.parse().ok());
    nanoseconds.unwrap_or(f64::NAN) / 1e9
}

/// Returns the peak resident memory of this process, on systems that report it.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
