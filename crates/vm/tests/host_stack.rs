//! Programs use little of the host's stack, however long they run, in optimized and unoptimized
//! builds.
//!
//! `cargo xtask ci` runs this a second time with `opt-level = 0` for the virtual machine, where a loop takes
//! the place of the interpreter's handlers.

// The stacks that it measures are those of threads.
#![cfg(not(target_family = "wasm"))]

use std::thread;

use selkie_asm::{Options, assemble};
use selkie_elf::{Environment, load};
use selkie_isa::{
    Version,
    layout::{HEAP_START, STACK_START},
};
use selkie_vm::{
    Config, JitOptions, Machine, MachineCode, MemoryMap, NoHost, Program, Region, run,
};

/// A quarter of the default for threads in Rust.
const HOST_STACK_BYTES: usize = 512 * 1024;

/// Runs a program until its compute units are used up, on the interpreter and as machine code.
fn check(source: &str) {
    const BUDGET: u64 = 1_000_000;
    let output = assemble(source, &Options { version: Version::V0, ..Options::default() });
    let file = output.assembly.as_ref().unwrap_or_else(|| panic!("{}", output.render(false)));
    let executable = load(&file.to_elf(), &Environment::default()).expect("the file is right");
    let program = Program::new(executable);
    let runs = || {
        let config = Config::default();
        for compiled in [false, MachineCode::SUPPORTED] {
            let mut heap = [0; 4096];
            let mut stack = vec![0; config.stack_bytes()];
            let regions = vec![
                Region::writable(STACK_START, &mut stack).gapped(config.stack_frame_bytes),
                Region::writable(HEAP_START, &mut heap),
            ];
            let memory = MemoryMap::new(regions, &config, Version::V0).expect("nothing overlaps");
            let mut machine = Machine::new(program.executable(), &config, memory, BUDGET);
            machine.registers_mut()[6] = HEAP_START;
            let outcome = if compiled {
                let code = MachineCode::compile(&program, &config, &JitOptions::plain());
                code.expect("it is supported").run(&program, &mut machine, &mut NoHost)
            } else {
                run(&program, &mut machine, &mut NoHost)
            };
            let trap = outcome.result.expect_err("it has no end");
            assert_eq!(trap.to_string(), "exceeded CUs meter at BPF instruction");
            assert_eq!(outcome.consumed, BUDGET);
        }
    };
    thread::scope(|scope| {
        let small = thread::Builder::new().stack_size(HOST_STACK_BYTES).spawn_scoped(scope, runs);
        small.expect("a thread starts").join().expect("no overflow");
    });
}

#[test]
fn a_long_loop_fits_a_small_host_stack() {
    check("entrypoint:\n add64 r3, 1\n ja entrypoint");
    check("entrypoint:\n add64 r3, 1\n jne r3, 0, entrypoint\n exit");
}

#[test]
fn memory_accesses_fit_a_small_host_stack() {
    check(
        "entrypoint:\n ldxdw r1, [r6+8]\n stxdw [r10-8], r1\n stxb [r6+4000], r1\n stw [r6], 7\n \
         ldxb r2, [r10-3]\n ldxh r3, [r6+1]\n mul64 r3, r2\n be64 r3\n ja entrypoint",
    );
}

#[test]
fn calls_and_divisions_fit_a_small_host_stack() {
    check(
        "entrypoint:\n mov64 r1, 60\n call down\n mov64 r4, 1000\n div64 r4, 7\n ja entrypoint\n\
         down:\n jeq r1, 0, up\n sub64 r1, 1\n call down\n up:\n lddw r2, 0x123456789abc\n exit",
    );
}

#[test]
fn straight_code_fits_a_small_host_stack() {
    let step = " add64 r3, r4\n lsh32 r4, 3\n neg64 r5\n";
    check(&format!("entrypoint:\n{}ja entrypoint", step.repeat(5000)));
}
