//! Programs from files, on the interpreters and the compilers of both sides.
//!
//! Nothing is random: each program is deployed once, and called with the same accounts and data in
//! the same order. These suit programs that count in an account and programs that log their input.

use std::{fs, io, path::PathBuf};

use selkie_svm::Engine;

use crate::{
    agave::{Agave, RELEASE, Runs},
    case::{Account, Case, Features, Key},
    generate::{
        encode::Bytes,
        ids::*,
        message::{Draft, Format, Instruction, Meta, r, rs, w, ws},
        world::{EPOCH, SLOT, World, install, program_data_of, rent},
    },
    observed::Observed,
    rng::Rng,
    run::{Peer, difference, guarded},
    selkie::Selkie,
};

/// The program that is called.
const PROGRAM: Key = [0x70; 32];
/// The address that it is deployed to.
const DEPLOYED: Key = [0x71; 32];
/// The buffer that it is deployed from.
const BUFFER: Key = [0x72; 32];

// Accounts of the calls; all but one belong to the program.
const COUNTER: Key = [0x81; 32];
const FULL: Key = [0x82; 32];
const FOREIGN: Key = [0x83; 32];
const EMPTY: Key = [0x84; 32];
const WIDE: Key = [0x85; 32];
const LARGE: Key = [0x86; 32];
const NOTHING: Key = [0x87; 32];

/// Whether agave compiles programs on this host.
const AGAVE_COMPILES: bool = cfg!(all(target_arch = "x86_64", not(windows)));

/// A transaction and its description.
struct Call {
    name: String,
    instructions: Vec<Instruction>,
}

impl Call {
    fn new(name: &str, instructions: Vec<Instruction>) -> Self {
        Self { name: name.to_owned(), instructions }
    }
}

/// Runs each file's program and prints a line for each. Returns whether all sides agree.
pub(crate) fn run(files: &[PathBuf]) -> io::Result<bool> {
    let world = World::bare();
    let mut is_well = true;
    for file in files {
        let elf = fs::read(file).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", file.display()))
        })?;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        match check(&world, &elf) {
            Ok(line) => println!("{name}: {line}"),
            Err(why) => {
                is_well = false;
                println!("{name}: FAILED, {why}");
            }
        }
    }
    Ok(is_well)
}

/// Returns a summary of a program's calls, or the difference found.
fn check(world: &World, elf: &[u8]) -> Result<String, String> {
    let deployment = [deployment(world, elf)];
    let mut case = case_of(world, &deployment);
    case.accounts.insert(DEPLOYED, Account::new(rent(36), LOADER_V3, vec![0; 36]));
    case.accounts.insert(BUFFER, buffer(world, elf));
    let (observed, _) = compare(&case, &deployment)?;
    if let Some(failed) = observed.iter().find(|it| it.result != "Ok") {
        return Err(format!("it cannot be deployed: {}", told(failed)));
    }
    let calls = calls(world);
    let mut case = case_of(world, &calls);
    install(&mut case.accounts, PROGRAM, LOADER_V3, elf.to_vec(), SLOT - 1000, None);
    case.accounts.extend(accounts());
    let (observed, runs) = compare(&case, &calls)?;
    report(&observed, runs)
}

/// Summarizes the calls. Fails if an engine did not run the program or no call succeeded, since all
/// engines may agree on a program that was linked wrongly.
fn report(observed: &[Observed], runs: Runs) -> Result<String, String> {
    let Runs { compiled, interpreted } = runs;
    let ran = format!("{compiled} times compiled, {interpreted} times interpreted");
    if interpreted == 0 || AGAVE_COMPILES && compiled == 0 {
        let first = observed.first().map(told).unwrap_or_default();
        return Err(format!("agave ran it {ran}: {first}"));
    }
    let good = observed.iter().filter(|it| it.result == "Ok");
    let units: Vec<u64> = good.map(|it| it.compute_units).collect();
    let (Some(least), Some(most)) = (units.iter().min(), units.iter().max()) else {
        let last = observed.last().map(told).unwrap_or_default();
        return Err(format!("no transaction succeeds, not even the last: {last}"));
    };
    let (all, good) = (observed.len(), units.len());
    let bad = all - good;
    Ok(format!(
        "{all} transactions, {good} succeeded with {least} to {most} CU, {bad} failed; agave ran \
         it {ran}"
    ))
}

/// Returns agave's results and how often it ran programs, if all engines of both sides agree.
fn compare(case: &Case, calls: &[Call]) -> Result<(Vec<Observed>, Runs), String> {
    let mut agave = Agave::forgetful();
    let expected = agave.run(case);
    let mut interpreter = Agave::interpreter();
    agree(case, calls, &expected, "agave's interpreter", &mut interpreter)?;
    let engines = [Engine::Interpreter, Engine::Jit];
    for engine in engines.into_iter().filter(|it| it.resolve().is_ok()) {
        let side = format!("selkie with `{engine}`");
        agree(case, calls, &expected, &side, &mut Selkie::new(engine, RELEASE))?;
    }
    let runs = Runs {
        compiled: agave.runs.compiled + interpreter.runs.compiled,
        interpreted: agave.runs.interpreted + interpreter.runs.interpreted,
    };
    Ok((expected, runs))
}

fn agree(
    case: &Case,
    calls: &[Call],
    expected: &[Observed],
    side: &str,
    peer: &mut dyn Peer,
) -> Result<(), String> {
    match difference(expected, &guarded(peer, case)) {
        None => Ok(()),
        Some((at, text)) => {
            let told = told(&expected[at]);
            Err(format!("{}: agave | {side}\n{text}  agave: {told}", calls[at].name))
        }
    }
}

/// Result and logs.
fn told(observed: &Observed) -> String {
    format!("{}\n    {}", observed.result, observed.logs.join("\n    "))
}

/// A case with these transactions.
fn case_of(world: &World, calls: &[Call]) -> Case {
    let payer = world.actors[0];
    let blockhash = world.blockhashes[0];
    let transaction = |call: &Call| {
        let instructions = call.instructions.clone();
        let draft = Draft { payer, instructions, blockhash, format: Format::Legacy };
        draft.message().sign(None, &mut Rng::new(0, 0))
    };
    let mut accounts = world.accounts.clone();
    accounts.insert(payer, Account::new(1_000_000_000_000, SYSTEM, Vec::new()));
    Case {
        id: "programs".to_owned(),
        slot: SLOT,
        epoch: EPOCH,
        features: Features::default(),
        sigverify: false,
        lamports_per_signature: 5000,
        blockhashes: world.blockhashes.clone(),
        already_processed: false,
        epoch_total_stake: 0,
        vote_stakes: Vec::new(),
        accounts,
        transactions: calls.iter().map(transaction).collect(),
    }
}

/// Deploys the program from the buffer.
fn deployment(world: &World, elf: &[u8]) -> Call {
    let payer = world.actors[0];
    let metas = vec![
        ws(payer),
        w(program_data_of(&DEPLOYED)),
        w(DEPLOYED),
        w(BUFFER),
        r(RENT),
        r(CLOCK),
        r(SYSTEM),
        rs(payer),
    ];
    let data = Bytes::new().u32(2).u64(elf.len() as u64);
    Call::new("deployment", vec![Instruction::new(LOADER_V3, metas, data)])
}

/// A buffer that the payer may deploy.
fn buffer(world: &World, elf: &[u8]) -> Account {
    let data = Bytes::new().u32(1).u8(1).key(&world.actors[0]).bytes(elf).0;
    Account::new(rent(data.len()), LOADER_V3, data)
}

/// All calls: every list of accounts with all data, and some with small compute unit limits.
fn calls(world: &World) -> Vec<Call> {
    let payer = world.actors[0];
    let mut calls = Vec::new();
    for (accounts, metas) in lists(payer) {
        for (data, bytes) in data() {
            let name = format!("{accounts}, {data}");
            let instruction = call(&metas, &bytes);
            calls.push(Call { name, instructions: vec![instruction] });
        }
    }
    let (counter, one) = ([w(COUNTER)], 1_u64.to_le_bytes());
    calls.push(Call::new("two instructions", vec![call(&counter, &one), call(&counter, &one)]));
    // The budget's own instruction takes 150 of them.
    for units in [150, 151, 160, 200, 300, 600, 1200, 2500, 5000, 10_000] {
        for (accounts, metas) in [("no account", &[][..]), ("a counter", &counter)] {
            let limit = budget(Bytes::new().u8(2).u32(units));
            let name = format!("{accounts}, eight bytes, {units} units");
            calls.push(Call { name, instructions: vec![limit, call(metas, &one)] });
        }
    }
    let heap = budget(Bytes::new().u8(1).u32(256 * 1024));
    calls.push(Call::new("a large heap", vec![heap, call(&[], &[1; 400])]));
    calls
}

fn call(metas: &[Meta], data: &[u8]) -> Instruction {
    Instruction { program: PROGRAM, metas: metas.to_vec(), data: data.to_vec() }
}

fn budget(data: Bytes) -> Instruction {
    Instruction::new(COMPUTE_BUDGET, Vec::new(), data)
}

fn lists(payer: Key) -> Vec<(&'static str, Vec<Meta>)> {
    let many = [w(COUNTER), r(LARGE), w(WIDE), ws(payer), r(COUNTER), w(EMPTY), r(CLOCK), w(FULL)];
    vec![
        ("no account", Vec::new()),
        ("a counter", vec![w(COUNTER)]),
        ("a read-only counter", vec![r(COUNTER)]),
        ("a counter twice", vec![w(COUNTER), w(COUNTER)]),
        ("a counter and the payer", vec![w(COUNTER), ws(payer)]),
        ("a counter that is almost full", vec![w(FULL)]),
        ("a counter of somebody else", vec![w(FOREIGN)]),
        ("an account without data", vec![w(EMPTY)]),
        ("an account that is not there", vec![w(NOTHING)]),
        ("an account of 300 bytes", vec![w(WIDE)]),
        ("a large account", vec![w(LARGE)]),
        ("the program itself", vec![r(PROGRAM)]),
        ("many accounts", many.to_vec()),
        ("a counter after others", vec![r(LARGE), w(LARGE), w(COUNTER)]),
    ]
}

fn data() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("no data", Vec::new()),
        ("a byte", vec![200]),
        ("eight bytes", 1_u64.to_le_bytes().to_vec()),
        ("eight bytes, a larger number", 5_u64.to_le_bytes().to_vec()),
        ("eight bytes, the largest number", vec![0xff; 8]),
        ("eleven bytes", (20..31).rev().collect()),
        ("300 bytes", (0..300).map(|at| (10 + at * 7 % 240) as u8).collect()),
        // One of the examples fails on it.
        ("a nine", vec![1, 9, 3]),
    ]
}

fn accounts() -> [(Key, Account); 6] {
    let account = |owner: Key, data: Vec<u8>| Account::new(rent(data.len()), owner, data);
    [
        (COUNTER, account(PROGRAM, 41_u64.to_le_bytes().to_vec())),
        (FULL, account(PROGRAM, (u64::MAX - 3).to_le_bytes().to_vec())),
        (FOREIGN, account([7; 32], vec![0; 8])),
        (EMPTY, account(PROGRAM, Vec::new())),
        (WIDE, account(PROGRAM, (0..=255).chain(0..44).collect())),
        (LARGE, account(PROGRAM, vec![3; 20_001])),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(source: &str) -> Vec<u8> {
        let output = selkie_asm::assemble(source, &selkie_asm::Options::default());
        output.assembly.expect("it is right").to_elf()
    }

    #[test]
    fn a_program_is_run_by_all() {
        let elf = elf(".globl entrypoint\nentrypoint:\nldxdw r0, [r1 + 0]\nexit\n");
        let told = check(&World::bare(), &elf).expect("it does not differ");
        assert!(told.contains("transactions, "), "{told}");
    }

    #[test]
    fn an_undeployable_file_is_an_error() {
        let why = check(&World::bare(), b"no program").expect_err("it is no program");
        assert!(why.starts_with("it cannot be deployed: InstructionError(0, "), "{why}");
    }

    #[test]
    fn a_program_that_never_succeeds_is_an_error() {
        let elf = elf(".globl entrypoint\nentrypoint:\nmov64 r0, 7\nexit\n");
        let why = check(&World::bare(), &elf).expect_err("it is of no use");
        let start = "no transaction succeeds, not even the last: InstructionError(1, Custom(7))";
        assert!(why.starts_with(start), "{why}");
    }

    #[test]
    fn a_program_that_an_engine_did_not_run_is_an_error() {
        let why = report(&[], Runs { compiled: 5, interpreted: 0 }).expect_err("not interpreted");
        assert!(why.starts_with("agave ran it 5 times compiled, 0 times interpreted"), "{why}");
    }

    #[test]
    fn a_difference_names_call_and_side() {
        struct Silent;
        impl Peer for Silent {
            fn run(&mut self, case: &Case) -> Vec<Observed> {
                let mut observed = Agave::forgetful().run(case);
                observed[0].logs.clear();
                observed
            }
        }
        let world = World::bare();
        let call = Call::new("nothing there", vec![call(&[], &[])]);
        let case = case_of(&world, std::slice::from_ref(&call));
        let mut expected = Agave::forgetful().run(&case);
        expected[0].logs.push("a line".to_owned());
        let why = agree(&case, &[call], &expected, "silent", &mut Silent).expect_err("logs differ");
        assert!(why.starts_with("nothing there: agave | silent\n  log line 0: "), "{why}");
    }
}
