//! Measures the interpreter: `cargo run --release -p selkie-vm --example interpreter_speed`. `cargo
//! xtask ports --speed` compares wasm32 with this machine.
//!
//! Prints a line for each loop: its name, a tab, and the picoseconds that an instruction takes.

#![allow(clippy::print_stdout, reason = "it is what this is for")]

use std::time::{Duration, Instant};

use selkie_asm::{Options, assemble};
use selkie_elf::{Environment, load};
use selkie_isa::{Version, layout::STACK_START};
use selkie_vm::{Config, Machine, MemoryMap, NoHost, Program, Region, run};

/// How often each loop goes round.
const ROUNDS: u32 = 20_000;

/// How often each program runs; the fastest run counts.
const RUNS: usize = 20;

const LOOPS: [(&str, &str); 5] = [
    (
        "arithmetic",
        "
        mov64 r1, r0
        lsh64 r1, 13
        xor64 r0, r1
        add64 r2, 7
        mul64 r2, r0
        rsh64 r2, 3
        sub32 r3, r2
        or64 r3, 5
        ",
    ),
    (
        "division",
        "
        add64 r0, 1000003
        mov64 r1, r0
        or64 r1, 1
        div64 r0, 7
        mod64 r1, 13
        ",
    ),
    (
        "memory",
        "
        stxdw [r10 - 8], r0
        ldxdw r1, [r10 - 8]
        stxw [r10 - 16], r1
        ldxw r2, [r10 - 16]
        add64 r0, r2
        ldxb r3, [r10 - 5]
        ",
    ),
    (
        "branches",
        "
        add64 r0, 1
        mov64 r1, r0
        and64 r1, 3
        jeq r1, 0, +2
        jgt r1, 2, +1
        add64 r2, 1
        ja +0
        ",
    ),
    (
        "calls",
        "
        add64 r0, 1
        call double
        call double
        ",
    ),
];

fn main() -> Result<(), Box<dyn core::error::Error>> {
    for (name, body) in LOOPS {
        let source = format!(
            ".globl entrypoint\nentrypoint:\nmov64 r9, {ROUNDS}\ntop:\n{body}\nsub64 r9, 1\n\
             jne r9, 0, top\nexit\ndouble:\nadd64 r0, r0\nexit\n"
        );
        let options = Options { version: Version::V3, ..Options::default() };
        let output = assemble(&source, &options);
        let text = output.render(false);
        let elf = output.assembly.ok_or(text)?.to_elf();
        let program = Program::new(load(&elf, &Environment::default())?);
        let runs = (0..RUNS).map(|_| time(&program)).collect::<Result<Vec<_>, _>>()?;
        let (consumed, fastest) =
            runs.into_iter().min_by_key(|(_, took)| *took).unwrap_or_default();
        println!("{name}\t{}", fastest.as_nanos() * 1000 / u128::from(consumed.max(1)));
    }
    Ok(())
}

/// Runs a program; returns how many compute units it consumed, one for each instruction, and how long
/// that took.
fn time(program: &Program) -> Result<(u64, Duration), Box<dyn core::error::Error>> {
    let config = Config::default();
    let mut stack = vec![0; config.stack_bytes()];
    let regions = vec![Region::writable(STACK_START, &mut stack)];
    let executable = program.executable();
    let memory = MemoryMap::new(regions, &config, executable.version())?;
    let mut machine = Machine::new(executable, &config, memory, u64::MAX >> 1);
    let begun = Instant::now();
    let outcome = run(program, &mut machine, &mut NoHost);
    let took = begun.elapsed();
    outcome.result.map_err(|trap| trap.to_string())?;
    Ok((outcome.consumed, took))
}
