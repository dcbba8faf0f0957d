//! Custom syscalls, and programs that call them.

use selkie::{
    Check, Engine, Feature, Instruction, InstructionError, Signer, Svm, address, ids, keypair,
};

fn assemble(source: &str) -> Vec<u8> {
    let output = selkie_asm::assemble(source, &selkie_asm::Options::default());
    assert!(output.assembly.is_some(), "{:?}", output.diagnostics);
    output.assembly.unwrap().to_elf()
}

fn call() -> Instruction {
    Instruction { program_id: address("program"), accounts: vec![], data: vec![] }
}

/// Returns a chain whose `sol_log_64_` writes the answer to the address in r1.
fn cluster() -> Svm {
    Svm::new().with_syscall("sol_log_64_", |context, [out, ..]| {
        context.consume(7)?;
        let height = context.context().stack_height() as u64;
        context.write(out, &(41 + height).to_le_bytes())?;
        let written = context.read(out, 8)?.to_vec();
        context.log(format!("wrote {written:?}"));
        Ok(u64::from(written[0]))
    })
}

const PROGRAM: &str = "
    .globl entrypoint
entrypoint:
    mov64 r1, r10
    add64 r1, -8
    call sol_log_64_
    ldxdw r1, [r10 - 8]
    sub64 r0, r1
    exit
";

#[test]
fn custom_syscalls_can_be_called() {
    for engine in [Engine::Auto, Engine::Interpreter] {
        let mut svm = cluster().with_engine(engine);
        svm.add_program(address("program"), assemble(PROGRAM)).unwrap();
        let receipt = svm.process_instruction(&call(), &[]);
        receipt.assert(
            Check::success().compute_units(13).log_contains("wrote [42, 0, 0, 0, 0, 0, 0, 0]"),
        );
        // They persist when programs are reloaded.
        svm.activate_feature(Feature::Blake3);
        svm.clone().process_instruction(&call(), &[]).assert(Check::success().compute_units(13));
    }
}

#[test]
fn failures_of_custom_syscalls_fail_the_program() {
    let mut svm = cluster();
    let elsewhere = PROGRAM.replace("mov64 r1, r10", "mov64 r1, 64");
    svm.add_program(address("program"), assemble(&elsewhere)).unwrap();
    svm.process_instruction(&call(), &[]).assert(
        Check::err(InstructionError::ProgramFailedToComplete).log_contains("Access violation"),
    );
    let mut svm =
        Svm::new().with_syscall("sol_log_64_", |_, _| Err(InstructionError::InvalidRealloc.into()));
    svm.add_program(address("program"), assemble(PROGRAM)).unwrap();
    svm.process_instruction(&call(), &[]).assert(Check::err(InstructionError::InvalidRealloc));
}

#[test]
fn syscalls_may_have_unknown_names() {
    let elf =
        assemble(&format!(".syscall my_answer\n{}", PROGRAM.replace("sol_log_64_", "my_answer")));
    let mut svm = Svm::new().with_syscall("my_answer", |context, [out, ..]| {
        context.write(out, &1_u64.to_le_bytes())?;
        Ok(1)
    });
    svm.add_program(address("program"), &elf).unwrap();
    svm.process_instruction(&call(), &[]).assert(Check::success().compute_units(6));
    // Without the option the name is unknown.
    let mut svm = Svm::new();
    svm.add_program(address("program"), &elf).unwrap();
    svm.process_instruction(&call(), &[])
        .assert(Check::err(InstructionError::ProgramFailedToComplete));
}

#[test]
fn programs_see_the_clock_that_was_set() {
    // Returns the timestamp as a custom error code.
    let source = "
    .globl entrypoint
entrypoint:
    mov64 r1, r10
    add64 r1, -40
    call sol_get_clock_sysvar
    ldxdw r0, [r10 - 8]
    exit
";
    let payer = keypair("payer");
    let mut svm = Svm::new();
    svm.airdrop(&payer.pubkey(), 1_000_000_000).unwrap();
    svm.add_program(address("program"), assemble(source)).unwrap();
    let mut clock = svm.clock();
    clock.unix_timestamp = 77;
    svm.set_clock(&clock);
    let failed = svm.send_instructions(&[call()], &[&payer]).unwrap_err();
    assert_eq!(failed.custom(), Some(77), "{failed}");
    svm.warp_by_slots(50);
    let failed = svm.send_instructions(&[call()], &[&payer]).unwrap_err();
    assert_eq!(failed.custom(), Some(87), "{failed}");
    let data = svm.account(&ids::sysvar::clock::ID).unwrap().data;
    assert_eq!(data[32..], 87_u64.to_le_bytes());
}
