//! Crashes are told from errors that programs mean, and sequences run on what programs leave.

use selkie::{
    Account, AccountMeta, Crash, Instruction, Pubkey, Sequence, Svm, address, ids::system_program,
};

fn assemble(source: &str) -> Vec<u8> {
    let output = selkie_asm::assemble(source, &selkie_asm::Options::default());
    let found = output.render(false);
    output.assembly.unwrap_or_else(|| panic!("{found}")).to_elf()
}

/// Transfers lamports by CPI: accounts are the payer, the recipient and the system program.
const PAY: &str = include_str!("../../../examples/pay/pay.s");

/// A chain with the program, with one that pays, and with an account of the program.
fn chain(body: &str) -> Svm {
    let mut svm = Svm::new();
    let program = assemble(&format!(".globl entrypoint\nentrypoint:\n{body}\n"));
    svm.add_program(address("program"), program).unwrap();
    // The system program's account has data, so the input is longer than the example expects.
    let pay = PAY.replace("ldxdw r2, [r2 + INSTRUCTION_DATA]", "lddw r2, 2000000");
    svm.add_program(address("pay"), assemble(&pay)).unwrap();
    let data = Account { lamports: 1_000_000, data: vec![0; 8], ..Account::default() };
    svm.set_account(address("data"), Account { owner: address("program"), ..data }).unwrap();
    svm.airdrop(&address("payer"), 1_000_000).unwrap();
    svm
}

fn crash(body: &str) -> Option<Crash> {
    let accounts = vec![AccountMeta::new_readonly(address("data"), false)];
    let call = Instruction { program_id: address("program"), accounts, data: vec![7] };
    let receipt = chain(body).process_instruction(&call, &[]);
    assert!(!receipt.is_ok(), "{receipt}");
    receipt.crash()
}

#[test]
fn what_a_program_means_is_no_crash() {
    for (body, what) in [
        ("mov64 r0, 7\nexit", "a custom error"),
        ("mov64 r0, 2\nlsh64 r0, 32\nexit", "an error of the runtime's list"),
        // The account's lamports: it is read-only, which the runtime finds at the end.
        ("stdw [r1 + 0x50], 5\nmov64 r0, 0\nexit", "a change that the runtime refuses"),
    ] {
        assert_eq!(crash(body), None, "{what}");
    }
}

#[test]
fn an_error_of_a_callee_is_no_crash_of_the_caller() {
    let key = |name| AccountMeta::new(address(name), name == "payer");
    let system = AccountMeta::new_readonly(system_program::ID, false);
    let pay = |signs: bool| Instruction {
        program_id: address("pay"),
        accounts: vec![AccountMeta::new(address("payer"), signs), key("recipient"), system.clone()],
        data: vec![],
    };
    // The payer has too little; and the caller asks for a signature that it was not given.
    for signs in [true, false] {
        let receipt = chain("exit").process_instruction(&pay(signs), &[]);
        assert!(!receipt.is_ok() && receipt.stopped.is_some(), "{receipt}");
        assert_eq!(receipt.crash(), None, "{receipt}");
    }
}

#[test]
fn crashes_are_told_apart() {
    for (body, expected) in [
        ("call abort", Crash::Panic),
        ("mov64 r1, 0\nmov64 r2, 0\nmov64 r3, 1\nmov64 r4, 2\ncall sol_panic_", Crash::Panic),
        ("mov64 r1, 0\nldxdw r0, [r1 + 0]\nexit", Crash::AccessViolation),
        ("mov64 r1, 0\nmov64 r2, 8\ncall sol_log_\nexit", Crash::AccessViolation),
        ("mov64 r0, 1\nmov64 r1, 0\ndiv64 r0, r1\nexit", Crash::DivideByZero),
        ("call again\nexit\nagain:\nmov64 r0, 0\ncall again\nexit", Crash::CallDepth),
        ("again:\nja again", Crash::ComputeUnits),
        // It is no text.
        (
            "stb [r10 - 1], 0xff\nmov64 r1, r10\nsub64 r1, 1\nmov64 r2, 1\ncall sol_log_\nexit",
            Crash::Syscall,
        ),
    ] {
        assert_eq!(crash(body), Some(expected), "{body}");
    }
}

/// Adds 1 to the first byte of the account, and panics at 3.
const COUNT: &str = "
    ldxb r3, [r1 + 0x60]
    add64 r3, 1
    jne r3, 3, fine
    call abort
fine:
    stxb [r1 + 0x60], r3
    mov64 r0, 0
    exit";

#[test]
fn a_sequence_runs_on_what_the_calls_before_left() {
    let mut svm = chain(COUNT);
    let accounts = vec![AccountMeta::new(address("data"), false)];
    let call = Instruction { program_id: address("program"), accounts, data: vec![1] };
    let mut text = "{\"selkie_replay\":1}\n".to_owned();
    for number in 0..3 {
        let id = format!("call {number}");
        let replay = svm.record_instructions(&id, core::slice::from_ref(&call), &[]);
        text.push_str(&format!("{replay}\n"));
        let receipt = svm.process_instruction(&call, &[]);
        if receipt.is_ok() {
            svm.commit(&receipt);
        }
    }
    let crashes = |sequence: Sequence| -> Vec<Option<Crash>> {
        sequence.run().iter().map(selkie::Receipt::crash).collect()
    };
    let sequence = Sequence::parse(&text).unwrap();
    assert_eq!(crashes(sequence), [None, None, Some(Crash::Panic)]);
    // A program that adds nothing does not get there, whatever the recorded states are.
    let mut sequence = Sequence::parse(&text).unwrap();
    let repaired = assemble(&format!(
        ".globl entrypoint\nentrypoint:{}",
        COUNT.replace("add64 r3, 1", "add64 r3, 0")
    ));
    let program: Pubkey = address("program");
    sequence.svm.add_program(program, repaired).unwrap();
    assert_eq!(crashes(sequence), [None, None, None]);
    assert!(Sequence::parse("{\"selkie_replay\":1}\n").is_err());
    assert!(Sequence::parse("nothing").is_err());
}
