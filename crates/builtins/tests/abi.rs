//! Programs built for the input layout of another loader: how they fail, and the note that says so.

use selkie_svm::{
    Abi, Account, AccountMeta, Engine, Environment, Feature, FeatureSet, Instruction,
    InstructionResult, Loader, Options, Program, Pubkey, Purpose, elf_environment,
    input::explain::built_for, process_instruction,
};

/// Walks the accounts of an aligned input region, and returns the first byte of the instruction data.
const ALIGNED: &str = "
.globl entrypoint
entrypoint:
  ldxdw r2, [r1+0]
  add64 r1, 8
account:
  jeq r2, 0, data
  sub64 r2, 1
  ldxb r3, [r1+0]
  jne r3, 0xff, duplicate
  ldxdw r3, [r1+80]
  add64 r1, r3
  add64 r1, 10335
  and64 r1, -8
  ldxdw r4, [r1+0]
  add64 r1, 8
  ja account
duplicate:
  add64 r1, 8
  ja account
data:
  ldxdw r3, [r1+0]
  ldxb r0, [r1+8]
  exit
";

/// Does the same for an unaligned input region.
const UNALIGNED: &str = "
.globl entrypoint
entrypoint:
  ldxdw r2, [r1+0]
  add64 r1, 8
account:
  jeq r2, 0, data
  sub64 r2, 1
  ldxb r3, [r1+0]
  jne r3, 0xff, duplicate
  ldxdw r3, [r1+43]
  add64 r1, 51
  add64 r1, r3
  ldxdw r4, [r1+33]
  add64 r1, 41
  ja account
duplicate:
  add64 r1, 1
  ja account
data:
  ldxdw r3, [r1+0]
  ldxb r0, [r1+8]
  exit
";

/// Reads the balance of its first account at its aligned offset, then an unmapped address.
const UNMAPPED: &str = "
.globl entrypoint
entrypoint:
  mov64 r6, r1
  ldxdw r2, [r6+80]
  lddw r3, 0x10000000
  add64 r6, r3
  ldxdw r0, [r6+0]
  exit
";

fn program(source: &str, loader: Loader, features: FeatureSet) -> Program {
    let assembly = selkie_asm::assemble(source, &selkie_asm::Options::default()).assembly;
    let against = elf_environment(features, Purpose::Deployment);
    let program = Program::load(&assembly.unwrap().to_elf(), loader, &against).unwrap();
    program.for_features(features)
}

fn key(byte: u8) -> Pubkey {
    Pubkey::new_from_array([byte; 32])
}

/// Runs a program with accounts of these data lengths.
fn run(
    source: &str,
    loader: Loader,
    lens: &[usize],
    engine: Engine,
    features: FeatureSet,
) -> InstructionResult {
    let mut environment = Environment { features, ..Environment::default() };
    environment.programs.insert(key(99), program(source, loader, features));
    let accounts: Vec<_> = (1_u8..)
        .zip(lens)
        .map(|(byte, len)| {
            let (owner, data) = (key(50 + byte), vec![byte; *len]);
            (key(byte), Account { lamports: 1, data, owner, ..Account::default() })
        })
        .collect();
    let metas = accounts.iter().map(|(key, _)| AccountMeta::new(*key, false)).collect();
    let instruction = Instruction { program_id: key(99), accounts: metas, data: vec![0] };
    let options = Options { engine, ..Options::default() };
    process_instruction(&instruction, &accounts, &environment, &options, None).unwrap()
}

/// Runs a program with every memory layout and engine, and compares the notes beside the log.
fn check(source: &str, loader: Loader, lens: &[usize], notes: &[&str]) {
    let regions = FeatureSet::mainnet().with(Feature::VirtualAddressSpaceAdjustments);
    let direct = regions.with(Feature::AccountDataDirectMapping);
    for features in [FeatureSet::mainnet(), regions, direct] {
        for engine in [Engine::Interpreter, Engine::Auto] {
            let outcome = run(source, loader, lens, engine, features);
            assert_eq!(outcome.notes, notes, "{loader:?} {features:?}: {:#?}", outcome.logs);
            let is_note = |line: &String| notes.iter().any(|it| line.contains(it));
            assert!(!outcome.logs.iter().any(is_note));
        }
    }
}

const TOO_OLD: &str = "and the input is aligned: it was made for loader v1, and runs under another";
const TOO_NEW: &str =
    "and the input is unaligned: it was made for loader v2, v3 or v4, and runs under loader v1";

#[test]
fn programs_under_their_own_loader_run_without_a_note() {
    for lens in [&[][..], &[0], &[3, 200], &[1, 2, 3]] {
        check(UNALIGNED, Loader::V1, lens, &[]);
        for loader in [Loader::V2, Loader::V3, Loader::V4] {
            check(ALIGNED, loader, lens, &[]);
        }
    }
}

#[test]
fn an_aligned_program_under_loader_v1_is_noted() {
    // The length is read from the data, and leads to an unmapped address.
    let at = "the access is where accounts[0].rent_epoch would be in aligned input, ";
    check(ALIGNED, Loader::V1, &[200], &[&(at.to_owned() + TOO_NEW)]);
    check(ALIGNED, Loader::V1, &[200, 5], &[&(at.to_owned() + TOO_NEW)]);
}

#[test]
fn an_unaligned_program_under_later_loaders_is_noted() {
    for loader in [Loader::V2, Loader::V3] {
        // The length is read from the owner.
        let at = "the access is where accounts[0].rent_epoch would be in unaligned input, ";
        check(UNALIGNED, loader, &[7], &[&(at.to_owned() + TOO_OLD)]);
    }
}

#[test]
fn a_layout_told_only_by_the_code_is_noted_if_there_are_accounts() {
    let by = "the program reads its first account as aligned input has it, ";
    check(UNMAPPED, Loader::V1, &[7], &[&(by.to_owned() + TOO_NEW)]);
    check(UNMAPPED, Loader::V3, &[7], &[]);
    // Without accounts both layouts are the same.
    check(UNMAPPED, Loader::V1, &[], &[]);
}

#[test]
fn offsets_in_the_code_tell_the_layout_unless_they_contradict_each_other() {
    let built_for =
        |source| built_for(program(source, Loader::V3, FeatureSet::mainnet()).executable());
    assert_eq!(built_for(ALIGNED), Some(Abi::Aligned));
    assert_eq!(built_for(UNALIGNED), Some(Abi::Unaligned));
    assert_eq!(built_for(UNMAPPED), Some(Abi::Aligned));
    let none = ".globl entrypoint\nentrypoint:\n  ldxb r0, [r1+8]\n  exit\n";
    assert_eq!(built_for(none), None);
    let both = ".globl entrypoint\nentrypoint:\n  ldxdw r0, [r1+88]\n  ldxdw r0, [r1+51]\n  exit\n";
    assert_eq!(built_for(both), None);
}
