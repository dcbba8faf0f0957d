//! Calls any syscall with any pointers and lengths on any memory.

#![no_main]

mod runtime;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use selkie_isa::{
    Version,
    layout::{BYTECODE_START, HEAP_START, STACK_START},
};
use selkie_svm::{AccountMeta, ComputeBudget, Instruction, Invocation, syscalls::SYSCALLS};
use selkie_vm::{MemoryMap, Region};

use crate::runtime::{account, config, environment, features, key, stand_in};

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    features: u8,
    is_old: bool,
    calls: Vec<(u8, [Argument; 5])>,
    compute_units: u32,
    heap: &'a [u8],
    rodata: &'a [u8],
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Argument {
    Small(u8),
    Heap(u16),
    Stack(u16),
    Rodata(u8),
    Input(u16),
    Any(u64),
}

impl Argument {
    fn value(self) -> u64 {
        match self {
            Self::Small(value) => value.into(),
            Self::Heap(offset) => HEAP_START + u64::from(offset),
            Self::Stack(offset) => STACK_START + u64::from(offset),
            Self::Rodata(offset) => BYTECODE_START + u64::from(offset),
            Self::Input(offset) => selkie_isa::layout::INPUT_START + u64::from(offset),
            Self::Any(value) => value,
        }
    }
}

fuzz_target!(|input: Input<'_>| {
    let features = features(input.features);
    let program = key(9);
    let mut environment = environment(features);
    environment.programs.insert(program, stand_in(features, input.is_old));
    let accounts = [(key(1), account(program, 40)), (key(2), account(key(8), 3))];
    let meta = |byte, is_writable| AccountMeta { pubkey: key(byte), is_signer: false, is_writable };
    let accounts_named = vec![meta(1, true), meta(2, true), meta(1, true)];
    let instruction =
        Instruction { program_id: program, accounts: accounts_named, data: vec![7; 9] };
    // Expensive work costs compute units, so the limit bounds the time of a run.
    let budget = ComputeBudget {
        compute_unit_limit: u64::from(input.compute_units % 300_000),
        ..ComputeBudget::default()
    };
    let Ok(mut invocation) = Invocation::enter(&instruction, &accounts, &environment, budget)
    else {
        return;
    };
    let mut heap = input.heap.to_vec();
    heap.resize(32 * 1024, 0);
    let mut stack = vec![0; 4096];
    let mut bytes = invocation.input().bytes.clone();
    let config = config(features);
    let mut regions = vec![
        Region::readonly(BYTECODE_START, input.rodata),
        Region::writable(STACK_START, &mut stack),
        Region::writable(HEAP_START, &mut heap),
    ];
    regions.extend(invocation.input_regions(&mut bytes));
    let Ok(mut memory) = MemoryMap::new(regions, &config, Version::V0) else { return };
    for (index, arguments) in input.calls.iter().take(8) {
        let syscall = &SYSCALLS[usize::from(*index) % SYSCALLS.len()];
        let _ = invocation.call(syscall, arguments.map(Argument::value), &mut memory);
    }
});
