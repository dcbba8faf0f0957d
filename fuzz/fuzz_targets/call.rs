//! Invokes a program by CPI with arbitrary bytes as its instruction, accounts and seeds, in both
//! conventions.

#![no_main]

mod runtime;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use selkie_isa::{
    Version,
    layout::{HEAP_START, INPUT_START, STACK_START},
};
use selkie_svm::{
    AccountMeta, Builtin, ComputeBudget, Instruction, InstructionError, Invocation, syscalls,
};
use selkie_vm::{MemoryMap, Region};

use crate::runtime::{account, config, environment, features, key, stand_in};

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    features: u8,
    is_old: bool,
    is_c: bool,
    writable: [bool; 3],
    bytes: [u8; 3],
    infos_count: u8,
    seeds_count: u8,
    /// The callee's changes of its first account.
    lamports: i8,
    len: u16,
    heap: &'a [u8],
}

const HEAP_BYTES: usize = 4096;

/// Writes bytes below 0x80 as they are, and a pointer for each other byte, so that more inputs are
/// meaningful.
fn heap(given: &[u8], layout: &selkie_svm::Layout) -> Vec<u8> {
    let mut heap = vec![0; HEAP_BYTES];
    let fields: Vec<usize> =
        layout.accounts().flat_map(|(_, at)| [at.key, at.owner, at.lamports, at.data]).collect();
    for (at, pair) in given.chunks(2).enumerate() {
        let Some(word) = heap.get_mut(at * 8..).and_then(|rest| rest.first_chunk_mut::<8>()) else {
            break;
        };
        let (kind, value) = (pair[0], u64::from(*pair.get(1).unwrap_or(&0)));
        let field = fields.get(usize::from(value as u8) % fields.len().max(1));
        *word = match kind >> 6 {
            0 => value,
            1 => HEAP_START + value * 8,
            2 => field.map_or(0, |field| INPUT_START + *field as u64),
            _ => u64::from(kind) << 56 | value,
        }
        .to_le_bytes();
    }
    heap
}

fuzz_target!(|input: Input<'_>| {
    let features = features(input.features);
    let (program, callee) = (key(9), key(7));
    let mut environment = environment(features);
    environment.programs.insert(program, stand_in(features, input.is_old));
    let (lamports, len) = (input.lamports, usize::from(input.len));
    environment.builtins.insert(
        callee,
        Builtin::new("callee", move |context| {
            context.consume(10)?;
            if context.check_accounts(1).is_err() {
                return Ok(());
            }
            let mut account = context.borrow(0)?;
            let changed = account.lamports().saturating_add_signed(lamports.into());
            account.set_lamports(changed)?;
            if account.can_change_data().is_ok() {
                account.set_data_len(len)?;
            }
            Ok::<(), InstructionError>(())
        }),
    );
    let owners = [program, callee, key(8)];
    let mut accounts = vec![];
    let mut metas = vec![];
    for (place, owner) in owners.into_iter().enumerate() {
        let address = key(place as u8 + 1);
        accounts.push((address, account(owner, input.bytes[place])));
        metas.push(AccountMeta {
            pubkey: address,
            is_signer: place == 0,
            is_writable: input.writable[place],
        });
    }
    metas.push(AccountMeta { pubkey: callee, is_signer: false, is_writable: false });
    let instruction = Instruction { program_id: program, accounts: metas, data: vec![1, 2, 3] };
    let budget = ComputeBudget::default();
    let Ok(mut invocation) = Invocation::enter(&instruction, &accounts, &environment, budget)
    else {
        return;
    };
    let name = if input.is_c { "sol_invoke_signed_c" } else { "sol_invoke_signed_rust" };
    let syscall = syscalls::find(name).expect("it is always there");
    let mut heap = heap(input.heap, &invocation.input().layout);
    let mut stack = vec![0; 4096];
    let mut bytes = invocation.input().bytes.clone();
    let config = config(features);
    let mut regions =
        vec![Region::writable(STACK_START, &mut stack), Region::writable(HEAP_START, &mut heap)];
    regions.extend(invocation.input_regions(&mut bytes));
    let Ok(mut memory) = MemoryMap::new(regions, &config, Version::V0) else { return };
    let arguments = [
        HEAP_START,
        HEAP_START + 1024,
        u64::from(input.infos_count % 8),
        HEAP_START + 2048,
        u64::from(input.seeds_count % 4),
    ];
    // Any result is fine, but no panic, also for a second run on the resulting state.
    let _ = invocation.call(syscall, arguments, &mut memory);
    let _ = invocation.call(syscall, arguments, &mut memory);
});
