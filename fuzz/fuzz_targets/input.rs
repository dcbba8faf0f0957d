//! Runs a program that stores any bytes anywhere in its input, in both layouts and with every mapping
//! of account data. Accounts that it may not change must not change, and both engines must agree.

#![no_main]

mod runtime;

use std::sync::OnceLock;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use selkie_svm::{
    AccountMeta, Engine, Instruction, Options, Program, Purpose, elf_environment,
    process_instruction,
};

use crate::runtime::{account, environment, features, key, loader};

/// Stores by its instruction data: an offset in the input, in two bytes, and the byte to store.
const STORES: &str = "
.globl entrypoint
entrypoint:
    ldxdw r3, [r2-8]
next:
    jlt r3, 3, done
    ldxh r4, [r2+0]
    ldxb r5, [r2+2]
    mov64 r6, r1
    add64 r6, r4
    stxb [r6+0], r5
    add64 r2, 3
    sub64 r3, 3
    ja next
done:
    mov64 r0, 0
    exit
";

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    features: u8,
    is_old: bool,
    /// Owner, privileges and data length of each account.
    accounts: [(bool, bool, u8); 3],
    repeats: bool,
    stores: &'a [u8],
}

fn elf() -> &'static [u8] {
    static ELF: OnceLock<Vec<u8>> = OnceLock::new();
    ELF.get_or_init(|| {
        let options =
            selkie_asm::Options { version: selkie_isa::Version::V0, ..Default::default() };
        let assembly = selkie_asm::assemble(STORES, &options).assembly;
        assembly.expect("the program is right").to_elf()
    })
}

fuzz_target!(|input: Input<'_>| {
    let features = features(input.features);
    let loader = loader(input.is_old);
    let program = key(9);
    let against = elf_environment(features, Purpose::Execution);
    let made = Program::load(elf(), loader, &against).expect("the program is right");
    let mut environment = environment(features);
    environment.programs.insert(program, made.for_features(features));
    let (mut metas, mut accounts) = (vec![], vec![]);
    for (byte, (is_own, is_writable, bytes)) in (1..).zip(input.accounts) {
        accounts.push((key(byte), account(if is_own { program } else { key(8) }, bytes)));
        metas.push(AccountMeta { pubkey: key(byte), is_signer: false, is_writable });
    }
    if input.repeats {
        metas.insert(1, metas[0].clone());
    }
    let data = input.stores[..input.stores.len().min(3 * 300)].to_vec();
    let instruction = Instruction { program_id: program, accounts: metas, data };
    let run = |engine| {
        let options = Options { engine, ..Options::default() };
        process_instruction(&instruction, &accounts, &environment, &options, None).ok()
    };
    let Some(expected) = run(Engine::Interpreter) else { return };
    if let Some(other) = run(Engine::Jit) {
        assert_eq!(
            (&expected.result, expected.compute_units),
            (&other.result, other.compute_units)
        );
        assert_eq!(expected.accounts, other.accounts);
    }
    for ((_, before), (_, after)) in accounts.iter().zip(&expected.accounts) {
        if before.owner != program {
            assert!(after.lamports >= before.lamports && after.owner == before.owner);
            assert_eq!(after.data, before.data);
        }
    }
    for ((_, after), (_, is_writable, _)) in expected.accounts.iter().zip(input.accounts) {
        let before = accounts.iter().find(|(_, before)| before == after);
        assert!(is_writable || before.is_some(), "a read-only account was changed");
    }
});
