//! Runs any program on any memory, verified or not, by the interpreter and by the JIT: both must
//! agree in everything.

#![no_main]

mod program;

use libfuzzer_sys::fuzz_target;
use selkie_vm::{JitOptions, MachineCode, MemoryCalls, run};

use crate::program::Input;

/// Derives the JIT's options from the seed: any hardening or none.
fn options(seed: u64) -> JitOptions {
    JitOptions {
        blind_constants: seed & 1 != 0,
        noop_rate: [0, 1, 16, 256][(seed >> 1 & 3) as usize],
        pad_start: seed & 8 != 0,
        key_addresses: seed & 16 != 0,
        slots_at_once: [1, 8, 96, usize::MAX][(seed >> 5 & 3) as usize],
        runs_until_joined: 0,
        unit_slots_max: [3, 1 << 17][(seed >> 7 & 1) as usize],
        code_bytes_max: [5_000, 16 << 20][(seed >> 8 & 1) as usize],
        spans: false,
        seed: Some(seed),
        memory_calls: MemoryCalls::default(),
        counters: None,
    }
}

fuzz_target!(|input: Input<'_>| {
    let Some(program) = input.program().filter(|_| MachineCode::SUPPORTED) else { return };
    let interpreted = input.execute(&program, run);
    let code = MachineCode::compile(&program, &input.config(), &options(input.seed));
    let code = code.expect("this host runs machine code");
    // The first run must leave nothing behind that affects the second.
    for _ in 0..2 {
        let compiled = input
            .execute(&program, |program, machine, host| code.run(program, machine, &mut { host }));
        assert_eq!(compiled, interpreted);
    }
});
