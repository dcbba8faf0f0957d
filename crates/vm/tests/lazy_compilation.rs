//! Programs of many functions are compiled when their functions are called, by several threads.

use core::fmt::Write as _;
use std::{sync::Barrier, thread};

use selkie_asm::{Options, assemble};
use selkie_elf::{Environment, load};
use selkie_isa::{Version, layout::STACK_START};
use selkie_vm::{
    Config, JitOptions, Machine, MachineCode, MemoryMap, NoHost, Program, Region, Verified, run,
};

/// Returns a program with more functions than there can be units, which call one another.
fn program() -> Verified {
    let mut source = String::from(".globl entrypoint\nentrypoint:\nmov64 r6, 3\nround:\n");
    for number in 0..150 {
        let _ = writeln!(source, "call f{number}");
    }
    source.push_str("sub64 r6, 1\njne r6, 0, round\nexit\n");
    for number in 0..150 {
        let _ = writeln!(source, "f{number}:\nadd64 r0, {number}");
        for step in 0..number {
            let _ = writeln!(source, "xor64 r1, r0\nmul64 r0, {}\nadd64 r7, r0", step | 1);
        }
        if number > 0 {
            let _ = writeln!(source, "jset r0, 1, f{number}_out\ncall f0\nf{number}_out:");
        }
        source.push_str("exit\n");
    }
    let output = assemble(&source, &Options { version: Version::V3, ..Options::default() });
    let elf = output.assembly.expect("the source is right").to_elf();
    let executable = load(&elf, &Environment::default()).expect("so is the file");
    Verified::new(executable).expect("and the program")
}

fn machine<'a>(
    program: &Program,
    config: &Config,
    stack: &'a mut [u8],
    budget: u64,
) -> Machine<'a> {
    let stack = Region::writable(STACK_START, stack);
    let memory = MemoryMap::new(vec![stack], config, program.executable().version());
    Machine::new(program.executable(), config, memory.expect("it is alone"), budget)
}

#[test]
fn functions_are_compiled_when_threads_first_call_them() {
    if !MachineCode::SUPPORTED {
        return;
    }
    let program = program();
    let config = Config::default();
    let mut results = Vec::new();
    for budget in [u64::MAX >> 1, 200_000, 54_321, 777] {
        let mut other_stack = vec![0; config.stack_bytes()];
        let mut interpreted = machine(&program, &config, &mut other_stack, budget);
        let expected = run(&program, &mut interpreted, &mut NoHost);
        let is_ok = expected.result.is_ok();
        let expected = (format!("{expected:?}"), *interpreted.registers(), interpreted.pc());
        for threads in [1, 2, 8] {
            let plain = JitOptions { runs_until_joined: 1, ..JitOptions::plain() };
            let scarce = JitOptions { code_bytes_max: 30_000, ..plain.clone() };
            for options in [plain, JitOptions::default(), scarce] {
                for slots_at_once in [1, 96, usize::MAX] {
                    let options = JitOptions { slots_at_once, ..options.clone() };
                    let code =
                        MachineCode::compile(&program, &config, &options).expect("it compiles");
                    let check = || {
                        let mut stack = vec![0; config.stack_bytes()];
                        let mut compiled = machine(&program, &config, &mut stack, budget);
                        assert!(code.fits(&compiled));
                        let outcome = code.run(&program, &mut compiled, &mut NoHost);
                        let (registers, pc) = (*compiled.registers(), compiled.pc());
                        assert_eq!((format!("{outcome:?}"), registers, pc), expected);
                    };
                    thread::scope(|scope| {
                        for _ in 0..threads {
                            scope.spawn(check);
                        }
                    });
                }
            }
        }
        results.push(is_ok);
    }
    assert_eq!(results, [true, true, false, false]);
}

/// Runs a program that is not compiled yet on threads that start at once, and returns how many slots
/// were compiled.
fn slots_compiled(program: &Verified, threads: usize) -> u64 {
    let config = Config::default();
    // Joining would compile everything once more, after a number of runs.
    let options = JitOptions { runs_until_joined: u32::MAX, ..JitOptions::plain() };
    let code = MachineCode::compile(program, &config, &options).expect("it compiles");
    let start = Barrier::new(threads);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut stack = vec![0; config.stack_bytes()];
                let mut machine = machine(program, &config, &mut stack, u64::MAX >> 1);
                start.wait();
                code.run(program, &mut machine, &mut NoHost).result.expect("it succeeds");
            });
        }
    });
    code.work().slots
}

#[test]
fn threads_that_start_cold_compile_nothing_twice() {
    if !MachineCode::SUPPORTED {
        return;
    }
    let program = program();
    let alone = slots_compiled(&program, 1);
    for threads in [2, 16] {
        for _ in 0..20 {
            assert_eq!(slots_compiled(&program, threads), alone, "{threads} threads");
        }
    }
}
