//! Programs that were made for the layout of another loader: what they come to, and that it is told.

use selkie_svm::{
    Abi, Account, AccountMeta, Engine, Environment, Feature, FeatureSet, Instruction,
    InstructionResult, Loader, Options, Program, Pubkey, Purpose, elf_environment,
    input::explain::built_for, process_instruction,
};

/// Goes through its accounts and its instruction data as aligned input has them, by way of what it
/// finds there, and returns the first byte of the data.
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

/// The same for unaligned input.
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

/// Reads the balance of its first account where aligned input has it, and what lies behind all.
const LOST: &str = "
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

/// Calls a program with accounts that hold so many bytes each.
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

/// Runs a program in all ways there are, and compares what is told besides the log.
fn check(source: &str, loader: Loader, lens: &[usize], told: &[&str]) {
    let regions = FeatureSet::mainnet().with(Feature::VirtualAddressSpaceAdjustments);
    let direct = regions.with(Feature::AccountDataDirectMapping);
    for features in [FeatureSet::mainnet(), regions, direct] {
        for engine in [Engine::Interpreter, Engine::Auto] {
            let receipt = run(source, loader, lens, engine, features);
            assert_eq!(receipt.notes, told, "{loader:?} {features:?}: {:#?}", receipt.logs);
            let is_in_log = |line: &String| told.iter().any(|it| line.contains(it));
            assert!(!receipt.logs.iter().any(is_in_log));
        }
    }
}

const TOO_OLD: &str = "and the input is aligned: it was made for loader v1, and runs under another";
const TOO_NEW: &str =
    "and the input is unaligned: it was made for loader v2, v3 or v4, and runs under loader v1";

#[test]
fn programs_run_under_their_own_loaders() {
    for lens in [&[][..], &[0], &[3, 200], &[1, 2, 3]] {
        check(UNALIGNED, Loader::V1, lens, &[]);
        for loader in [Loader::V2, Loader::V3, Loader::V4] {
            check(ALIGNED, loader, lens, &[]);
        }
    }
}

#[test]
fn an_aligned_program_under_loader_v1() {
    // The length is read from the data, which lead far away.
    let at = "the access is where accounts[0].rent_epoch would be in aligned input, ";
    check(ALIGNED, Loader::V1, &[200], &[&(at.to_owned() + TOO_NEW)]);
    check(ALIGNED, Loader::V1, &[200, 5], &[&(at.to_owned() + TOO_NEW)]);
}

#[test]
fn an_unaligned_program_under_other_loaders() {
    for loader in [Loader::V2, Loader::V3] {
        // The length is read from the owner.
        let at = "the access is where accounts[0].rent_epoch would be in unaligned input, ";
        check(UNALIGNED, loader, &[7], &[&(at.to_owned() + TOO_OLD)]);
    }
}

#[test]
fn a_program_that_is_known_by_its_code() {
    let by = "the program reads its first account as aligned input has it, ";
    check(LOST, Loader::V1, &[7], &[&(by.to_owned() + TOO_NEW)]);
    check(LOST, Loader::V3, &[7], &[]);
    // Where there is no account, both layouts are one.
    check(LOST, Loader::V1, &[], &[]);
}

#[test]
fn code_tells_a_layout_by_its_numbers() {
    let built_for =
        |source| built_for(program(source, Loader::V3, FeatureSet::mainnet()).executable());
    assert_eq!(built_for(ALIGNED), Some(Abi::Aligned));
    assert_eq!(built_for(UNALIGNED), Some(Abi::Unaligned));
    assert_eq!(built_for(LOST), Some(Abi::Aligned));
    let none = ".globl entrypoint\nentrypoint:\n  ldxb r0, [r1+8]\n  exit\n";
    assert_eq!(built_for(none), None);
    let both = ".globl entrypoint\nentrypoint:\n  ldxdw r0, [r1+88]\n  ldxdw r0, [r1+51]\n  exit\n";
    assert_eq!(built_for(both), None);
}
