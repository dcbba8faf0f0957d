//! Results of instructions: errors, compute units, logs, accounts.

mod common;

use common::{INPUT, PROGRAM, Setup, call, exit, key, lddw, load, poke, program, store, word};
use selkie_svm::{
    Account, AccountMeta, ComputeBudget, Detail, Engine, Environment, Inspector, Instruction,
    InstructionError, InstructionResult, InvokeContext, Loader, Machine, Next, Options, Pubkey,
    Run, SyscallError, process_instruction,
};
use selkie_vm::{MachineCode, Trap};

/// Offsets of the first account of an input for the current loaders.
const LAMPORTS: i16 = 0x50;
const DATA_LEN: i16 = 0x58;
const DATA: i16 = 0x60;
const OWNER: i16 = 0x30;

/// `mov64 r0, value; exit`
fn end(value: i32) -> Vec<u8> {
    [word(0xb7, 0, 0, 0, value), exit()].concat()
}

/// One account owned by the program: 10 lamports, 8 bytes of zeros, writable.
fn own_account() -> Setup {
    let account = Account { lamports: 10, data: vec![0; 8], owner: PROGRAM, ..Account::default() };
    Setup {
        metas: vec![AccountMeta::new(key(1), false)],
        accounts: vec![(key(1), account)],
        ..Setup::default()
    }
}

fn with(change: impl FnOnce(&mut Setup)) -> Setup {
    let mut setup = own_account();
    change(&mut setup);
    setup
}

fn readonly() -> Setup {
    with(|setup| setup.metas = vec![AccountMeta::new_readonly(key(1), false)])
}

fn foreign() -> Setup {
    with(|setup| setup.accounts[0].1.owner = key(8))
}

/// Runs stores to the input, then returns 0, and compares the result. Nothing may change if it is
/// an error.
fn check_stores(setup: &Setup, stores: &[(i16, i32)], expected: Result<(), InstructionError>) {
    let text: Vec<_> = stores.iter().map(|(off, imm)| store(1, *off, *imm)).collect();
    let receipt = setup.run(&[text.concat(), end(0)]);
    assert_eq!(receipt.result, expected, "{:#?}", receipt.logs);
    if expected.is_err() {
        assert_eq!(receipt.accounts, setup.accounts);
        assert!(receipt.notes.iter().any(|it| it.contains("accounts[0]")), "{:?}", receipt.notes);
    }
}

#[test]
fn permitted_changes_are_applied() {
    let receipt = own_account().run(&[store(1, DATA, 7), end(0)]);
    assert_eq!(receipt.result, Ok(()));
    assert_eq!(receipt.accounts[0].1.data, [7, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!((receipt.compute_units, receipt.return_data.is_none()), (3, true));
    let run = receipt.run.unwrap();
    assert_eq!((run.result.unwrap(), run.pc, run.compute_units), (0, 2, 3));
}

#[test]
fn a_failed_program_changes_no_account() {
    let setup = own_account();
    let receipt = setup.run(&[store(1, DATA, 7), end(1)]);
    assert_eq!(receipt.result, Err(InstructionError::Custom(1)));
    assert_eq!(receipt.accounts, setup.accounts);
}

#[test]
fn changes_are_checked_lamports_before_data_before_owner() {
    use InstructionError as E;
    let all = [(LAMPORTS, 9), (DATA, 1), (OWNER, 1)];
    check_stores(&readonly(), &all, Err(E::ReadonlyLamportChange));
    check_stores(&readonly(), &all[1..], Err(E::ReadonlyDataModified));
    check_stores(&readonly(), &all[2..], Err(E::ModifiedProgramId));
    check_stores(&foreign(), &all, Err(E::ExternalAccountLamportSpend));
    check_stores(&foreign(), &all[1..], Err(E::ExternalAccountDataModified));
    check_stores(&foreign(), &all[2..], Err(E::ModifiedProgramId));
    check_stores(&own_account(), &all[1..], Err(E::ModifiedProgramId));
    check_stores(&own_account(), &all[2..], Ok(()));
    // The owner may be changed together with zeroing the data.
    let full = with(|setup| setup.accounts[0].1.data = vec![1; 8]);
    check_stores(&full, &[(DATA, 0), (OWNER, 1)], Ok(()));
}

#[test]
fn lamports_must_balance() {
    let setup = own_account();
    let receipt = setup.run(&[store(1, LAMPORTS, 9), end(0)]);
    assert_eq!(receipt.result, Err(InstructionError::UnbalancedInstruction));
    assert_eq!(receipt.accounts, setup.accounts);
    assert_eq!(receipt.logs.last(), Some(&format!("Program {PROGRAM} success")));
}

#[test]
fn accounts_grow_by_at_most_10_kib() {
    let grow = |len: i32, expected| check_stores(&own_account(), &[(DATA_LEN, len)], expected);
    grow(8 + 10_240, Ok(()));
    grow(8 + 10_241, Err(InstructionError::InvalidRealloc));
    grow(-1, Err(InstructionError::InvalidRealloc));
    grow(0, Ok(()));
    let receipt = own_account().run(&[store(1, DATA_LEN, 3), end(0)]);
    assert_eq!(receipt.accounts[0].1.data, [0; 3]);
}

#[test]
fn accounts_of_other_programs_may_only_gain_lamports() {
    check_stores(&foreign(), &[(DATA_LEN, 9)], Err(InstructionError::ExternalAccountDataModified));
    let both = Setup {
        metas: vec![AccountMeta::new(key(1), false), AccountMeta::new(key(2), false)],
        accounts: vec![
            (key(1), Account { lamports: 10, owner: PROGRAM, ..Account::default() }),
            (key(2), Account { lamports: 1, owner: key(8), ..Account::default() }),
        ],
        ..Setup::default()
    };
    let second = LAMPORTS + 0x2860;
    let receipt = both.run(&[store(1, LAMPORTS, 3), store(1, second, 8), end(0)]);
    assert_eq!(receipt.result, Ok(()));
    let lamports: Vec<_> = receipt.accounts.iter().map(|(_, it)| it.lamports).collect();
    assert_eq!(lamports, [3, 8]);
}

#[test]
fn changes_of_keys_and_flags_are_ignored() {
    let receipt = own_account().run(&[store(1, 0x10, 1), store(1, 8, 0), end(0)]);
    assert_eq!(receipt.result, Ok(()));
    assert_eq!(receipt.accounts, own_account().accounts);
}

#[test]
fn duplicates_are_one_account() {
    let setup = with(|setup| {
        setup.metas =
            vec![AccountMeta::new_readonly(key(1), true), AccountMeta::new(key(1), false)];
    });
    let receipt = setup.run(&[store(1, DATA, 7), load(0, 1, 0), exit()]);
    assert_eq!(receipt.result, Err(InstructionError::Custom(2)), "two accounts");
    let receipt = setup.run(&[store(1, DATA, 7), end(0)]);
    assert_eq!(receipt.accounts.len(), 1);
    assert_eq!(receipt.accounts[0].1.data[0], 7, "rights of all mentions count");
}

#[test]
fn loader_v1_ignores_changes_of_length_and_owner() {
    let setup = with(|setup| setup.loader = Loader::V1);
    let (data_len, data) = (8 + 43, 8 + 51);
    let owner = data + 8;
    let stores = [store(1, data_len, 3), store(1, data, 7), store(1, owner, 1)];
    let receipt = setup.run(&[stores.concat(), end(0)]);
    assert_eq!(receipt.result, Ok(()));
    assert_eq!(receipt.accounts[0].1.data, [7, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(receipt.accounts[0].1.owner, PROGRAM);
}

#[test]
fn r1_r2_and_r10_are_set_at_entry() {
    let setup = Setup { data: vec![1, 2, 3], ..Setup::default() };
    // ldxb r0, [r2 + 2]
    let receipt = setup.run(&[word(0x71, 0, 2, 2, 0), exit()]);
    assert_eq!(receipt.result, Err(InstructionError::Custom(3)));
    let registers = receipt.run.unwrap().registers;
    assert_eq!(registers[1..3], [INPUT, INPUT + 16]);
    assert_eq!(registers[10], 0x2_0000_1000);
}

#[test]
fn accounts_that_are_not_passed_have_the_state_of_a_cluster() {
    let rent = solana_sdk_ids::sysvar::rent::ID;
    let metas = [rent, PROGRAM, key(9)].map(|key| AccountMeta::new_readonly(key, false)).to_vec();
    let receipt = Setup { metas, ..Setup::default() }.run(&[end(0)]);
    let lens: Vec<_> =
        receipt.accounts.iter().map(|(_, it)| (it.data.len(), it.executable)).collect();
    assert_eq!(lens, [(17, false), (0, true), (0, false)]);
    assert_eq!(receipt.accounts[1].1.owner, Loader::V3.address());
}

fn log_after_invoke(receipt: &InstructionResult) -> Vec<String> {
    let id = PROGRAM.to_string();
    assert_eq!(receipt.logs[0], format!("Program {id} invoke [1]"));
    receipt.logs[1..].iter().map(|line| line.replace(&id, "X")).collect()
}

#[test]
fn a_success_logs_invoke_consumed_and_success() {
    let receipt = own_account().run(&[end(0)]);
    let lines = ["Program X consumed 2 of 200000 compute units", "Program X success"];
    assert_eq!(log_after_invoke(&receipt), lines);
}

#[test]
fn return_data_is_logged_before_success() {
    let text = [poke(0x3_0000_0000, 0x6261), lddw(1, 0x3_0000_0000), word(0xb7, 2, 0, 0, 2)];
    let receipt = own_account().run(&[text.concat(), call("sol_set_return_data"), exit()]);
    let returned = receipt.return_data.as_ref().unwrap();
    assert_eq!((returned.program_id, &*returned.data), (PROGRAM, &b"ab"[..]));
    assert_eq!(
        log_after_invoke(&receipt),
        [
            "Program X consumed 107 of 200000 compute units",
            "Program return: X YWI=",
            "Program X success",
        ]
    );
}

#[test]
fn a_trap_consumes_all_compute_units() {
    let receipt = own_account().run(&[lddw(1, 0), load(0, 1, 0), exit()]);
    assert_eq!(receipt.result, Err(InstructionError::ProgramFailedToComplete));
    assert_eq!(receipt.compute_units, 200_000);
    assert_eq!(
        log_after_invoke(&receipt),
        [
            "Program X consumed 2 of 200000 compute units",
            "Program X failed: Access violation reading 8 bytes at address 0x0 (in unallocated region)",
        ]
    );
    let run = receipt.run.unwrap();
    assert_eq!(run.pc, 2);
    let trap = run.result.unwrap_err();
    assert!(matches!(*trap, Trap::AccessViolation { vaddr: 0, len: 8, .. }));
}

#[test]
fn a_failed_syscall_leaves_the_remaining_compute_units() {
    let receipt = own_account().run(&[call("abort"), exit()]);
    assert_eq!(receipt.result, Err(InstructionError::ProgramFailedToComplete));
    assert_eq!(receipt.compute_units, 1);
    assert_eq!(
        log_after_invoke(&receipt),
        ["Program X consumed 1 of 200000 compute units", "Program X failed: SBF program panicked",]
    );
    let trap = receipt.run.unwrap().result.unwrap_err();
    let Trap::Syscall(error) = &*trap else { panic!("no syscall") };
    assert_eq!(error.downcast_ref(), Some(&SyscallError::Abort));
}

#[test]
fn an_endless_loop_exhausts_the_compute_units() {
    // ja -1
    let receipt = own_account().run(&[word(0x05, 0, 0, -1, 0), exit()]);
    assert_eq!((receipt.result.is_err(), receipt.compute_units), (true, 200_000));
    let last = "Program X failed: exceeded CUs meter at BPF instruction";
    assert_eq!(log_after_invoke(&receipt).last().unwrap(), last);
}

#[test]
fn heap_beyond_the_default_is_charged() {
    let with_heap = |units, heap_bytes| {
        let options = Options {
            budget: ComputeBudget { compute_unit_limit: units, heap_bytes },
            ..Options::default()
        };
        Setup { options, ..own_account() }.run(&[end(0)])
    };
    let receipt = with_heap(58, 256 * 1024);
    assert_eq!((&receipt.result, receipt.compute_units), (&Ok(()), 58));
    assert_eq!(log_after_invoke(&receipt)[0], "Program X consumed 2 of 58 compute units");
    let receipt = with_heap(55, 256 * 1024);
    assert_eq!(receipt.result, Err(InstructionError::ProgramEnvironmentSetupFailure));
    assert_eq!(
        log_after_invoke(&receipt),
        [
            "Failed to create SBF VM: Computational budget exceeded",
            "Program X failed: Failed to create program execution environment",
        ]
    );
    assert!(receipt.run.is_none());
}

#[test]
fn calls_of_missing_syscalls_end_the_program() {
    let note = |name: &str| {
        let receipt = own_account().run(&[call(name), exit()]);
        let last = log_after_invoke(&receipt).pop().unwrap();
        assert_eq!(last, "Program X failed: unsupported BPF instruction");
        assert_eq!(receipt.compute_units, 200_000);
        receipt.notes.join("\n")
    };
    assert_eq!(note("sol_nonsense"), "");
}

#[test]
fn an_instruction_of_a_missing_program_fails() {
    let mut setup = own_account();
    setup.environment = selkie_svm::Environment::default();
    let instruction =
        selkie_svm::Instruction { program_id: key(77), accounts: vec![], data: vec![] };
    let receipt = selkie_svm::process_instruction(
        &instruction,
        &setup.accounts,
        &setup.environment,
        &setup.options,
        None,
    )
    .unwrap();
    assert_eq!(receipt.result, Err(InstructionError::UnsupportedProgramId));
    assert_eq!((receipt.compute_units, receipt.logs.len(), receipt.notes.len()), (0, 0, 1));
}

#[test]
fn observers_see_every_instruction() {
    struct Trace(Vec<usize>);
    impl Inspector for Trace {
        fn detail(&self) -> Detail {
            Detail::Instructions
        }
        fn instruction(&mut self, _: &InvokeContext<'_>, machine: &mut Machine<'_>) -> Next {
            self.0.push(machine.pc());
            Next::Execute
        }
    }
    let program = common::program(Loader::V3, &[word(0x05, 0, 0, 1, 0), exit(), end(0)]);
    let mut environment = Environment::default();
    environment.programs.insert(PROGRAM, program);
    let instruction = Instruction { program_id: PROGRAM, accounts: vec![], data: vec![] };
    let mut trace = Trace(Vec::new());
    let inspector: Option<&mut dyn Inspector> = Some(&mut trace);
    let receipt =
        process_instruction(&instruction, &[], &environment, &Options::default(), inspector);
    assert_eq!(receipt.unwrap().compute_units, 3);
    assert_eq!(trace.0, [0, 2, 3]);
}

/// Runs a program that counts to 5000, three times over, each time with an engine.
fn check_engines(engines: [Engine; 3], expected: [Engine; 3]) {
    // mov64 r0, 5000; sub64 r0, 1; jne r0, 0, -2; exit
    let text = [word(0xb7, 0, 0, 0, 5000), word(0x17, 0, 0, 0, 1), word(0x55, 0, 0, -2, 0), exit()];
    let mut environment = Environment::default();
    environment.programs.insert(PROGRAM, program(Loader::V3, &text));
    let instruction = Instruction { program_id: PROGRAM, accounts: vec![], data: vec![] };
    let ran = engines.map(|engine| {
        let options = Options { engine, ..Options::default() };
        let ran = common::run(&instruction, &[], &environment, &options);
        assert_eq!((&ran.result, ran.compute_units), (&Ok(()), 10_002));
        assert_eq!(ran.notes, [""; 0]);
        ran.run.unwrap().engine
    });
    assert_eq!(ran, expected);
}

#[test]
fn auto_compiles_programs_that_are_worth_it() {
    use Engine::{Auto, Interpreter, Jit};
    check_engines([Interpreter; 3], [Interpreter; 3]);
    if MachineCode::SUPPORTED {
        check_engines([Auto; 3], [Interpreter, Interpreter, Jit]);
        check_engines([Interpreter, Interpreter, Auto], [Interpreter, Interpreter, Jit]);
        check_engines([Jit, Auto, Interpreter], [Jit, Jit, Interpreter]);
    }
}

#[test]
fn unsupported_engines_are_an_error() {
    assert_eq!(Engine::Interpreter.resolve(), Ok(Engine::Interpreter));
    if MachineCode::SUPPORTED {
        assert_eq!(Engine::Auto.resolve(), Ok(Engine::Auto));
        assert_eq!(Engine::Jit.resolve(), Ok(Engine::Jit));
    } else {
        assert_eq!(Engine::Auto.resolve(), Ok(Engine::Interpreter));
        let error = Engine::Jit.resolve().unwrap_err().to_string();
        assert!(error.starts_with("engine `jit` cannot run programs here: "), "{error}");
    }
}

#[test]
fn observed_programs_are_interpreted() {
    struct Steps(u64, Option<Engine>);
    impl Inspector for Steps {
        fn detail(&self) -> Detail {
            Detail::Instructions
        }
        fn instruction(&mut self, _: &InvokeContext<'_>, _: &mut Machine<'_>) -> Next {
            self.0 += 1;
            Next::Execute
        }
        fn run_end(&mut self, _: &InvokeContext<'_>, run: &Run, _: &[u8]) {
            self.1 = Some(run.engine);
        }
    }
    let engine = if MachineCode::SUPPORTED { Engine::Jit } else { Engine::Auto };
    let options = Options { engine, ..Options::default() };
    let mut environment = Environment::default();
    environment.programs.insert(PROGRAM, program(Loader::V3, &[end(0)]));
    let instruction = Instruction { program_id: PROGRAM, accounts: vec![], data: vec![] };
    let mut steps = Steps(0, None);
    let receipt =
        process_instruction(&instruction, &[], &environment, &options, Some(&mut steps)).unwrap();
    assert_eq!((steps.0, steps.1), (2, Some(Engine::Interpreter)));
    assert_eq!(receipt.notes.len(), usize::from(engine == Engine::Jit), "{:?}", receipt.notes);
}

#[test]
fn a_trap_has_the_return_addresses_of_its_callers() {
    // callx r3, to slot 4
    let calls = [lddw(3, 0x1_0000_0000 + 4 * 8), word(0x8d, 0, 0, 0, 3), exit()];
    let receipt = own_account().run(&[calls.concat(), lddw(1, 0), load(0, 1, 0), exit()]);
    let run = receipt.run.unwrap();
    assert_eq!((run.pc, run.return_pcs), (6, vec![3]));
}

#[test]
fn more_than_255_accounts_fail() {
    let metas = vec![AccountMeta::new_readonly(key(1), false); 100_000];
    let accounts: Vec<_> = (0..100_000_u32)
        .map(|index| {
            let mut key = [0; 32];
            key[..4].copy_from_slice(&index.to_le_bytes());
            (Pubkey::new_from_array(key), Account::default())
        })
        .collect();
    let receipt = Setup { metas, accounts, ..Setup::default() }.run(&[end(0)]);
    assert_eq!(receipt.result, Err(InstructionError::MaxAccountsExceeded));
    let last = "Program X failed: Max accounts exceeded";
    assert_eq!(log_after_invoke(&receipt), [last]);
}
