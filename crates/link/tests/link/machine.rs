//! Loading and running of linked programs.

use selkie_isa::Version;
use selkie_link::{Input, Linked, Options, link};
use selkie_svm::{
    ComputeBudget, Engine, Environment, FeatureSet, Instruction, Loader, Program, Pubkey, Purpose,
    elf_environment, process_instruction,
};
use selkie_vm::{verify, verify_calls};

pub(crate) const VERSIONS: [Version; 2] = [Version::V0, Version::V3];

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) result: Result<(), String>,
    pub(crate) data: Vec<u8>,
    pub(crate) logs: Vec<String>,
}

/// Links objects, which must succeed.
pub(crate) fn linked(objects: &[(&str, &[u8])], version: Version) -> Linked {
    let inputs: Vec<Input<'_>> =
        objects.iter().map(|&(name, bytes)| Input { name, bytes }).collect();
    let options = Options { version, ..Options::default() };
    link(&inputs, &options).unwrap_or_else(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        panic!("{version}: {}", errors.join("\n"))
    })
}

/// The instructions of a program, if a deployment would accept it.
pub(crate) fn loads(elf: &[u8]) -> Option<Vec<u8>> {
    let environment = elf_environment(FeatureSet::mainnet(), Purpose::Deployment);
    let executable = selkie_elf::load(elf, &environment).ok()?;
    verify(&executable).ok()?;
    verify_calls(&executable).ok()?;
    Some(executable.text().to_vec())
}

/// Loads a program as a deployment would, verifies it, and runs it on both engines, with frames
/// apart and without gaps.
pub(crate) fn run(elf: &[u8], data: &[u8]) -> Run {
    let environment = elf_environment(FeatureSet::mainnet(), Purpose::Deployment);
    let executable = selkie_elf::load(elf, &environment).expect("a deployment accepts the file");
    verify(&executable).expect("the verifier accepts the program");
    verify_calls(&executable).expect("every call goes somewhere");
    let exact = run_with(elf, data, FeatureSet::all(), Engine::Interpreter);
    let fast = run_with(elf, data, FeatureSet::mainnet(), Engine::Auto);
    assert_eq!((&fast.result, &fast.data), (&exact.result, &exact.data));
    exact
}

/// Runs a program that may look at its frames.
pub(crate) fn run_apart(elf: &[u8]) -> Run {
    run_with(elf, &[], FeatureSet::all(), Engine::Auto)
}

fn run_with(elf: &[u8], data: &[u8], features: FeatureSet, engine: Engine) -> Run {
    let id = Pubkey::new_from_array([7; 32]);
    let against = elf_environment(FeatureSet::mainnet(), Purpose::Deployment);
    let executable = selkie_elf::load(elf, &against).expect("loaded before");
    let program = Program::new(executable, Loader::V3).expect("verified before");
    let mut environment =
        Environment { features, log_bytes_max: 1 << 20, ..Environment::default() };
    environment.programs.insert(id, program);
    let instruction = Instruction { program_id: id, accounts: vec![], data: data.to_vec() };
    let budget = ComputeBudget { compute_unit_limit: 100_000_000, ..ComputeBudget::default() };
    let options = selkie_svm::Options { budget, engine };
    let receipt = process_instruction(&instruction, &[], &environment, &options, None);
    let receipt = receipt.expect("the engine runs here");
    Run {
        result: receipt.result.map_err(|error| format!("{error:?}; {:?}", receipt.logs)),
        data: receipt.return_data.map(|it| it.data).unwrap_or_default(),
        logs: receipt.logs,
    }
}
