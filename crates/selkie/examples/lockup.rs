//! A lockup with a deadline in seconds, in slots of 200 ms: which block is the first that may pay.
//! `cargo run -p selkie --example lockup`; `crates/selkie/tests/rewards.rs` runs it as a test.

#![allow(clippy::print_stdout, reason = "it shows what happens")]

use std::error::Error;

use selkie::{
    Account, AccountMeta, Instruction, InstructionError, Pubkey, Signer, Svm, TransactionError,
    address, alpenglow, keypair,
};

const SOL: u64 = 1_000_000_000;
const SECONDS: i64 = 2;
const LOCKED: TransactionError = TransactionError::InstructionError(0, InstructionError::Custom(4));

/// Returns the time at which the block before ended, in nanoseconds.
fn nanoseconds(svm: &Svm) -> Result<i64, Box<dyn Error>> {
    let account = svm.account(&alpenglow::CLOCK).ok_or("the cluster has not migrated")?;
    Ok(i64::from_le_bytes(account.data[..].try_into()?))
}

/// Sets an account of the program with a deadline and a beneficiary.
fn lock(
    svm: &mut Svm,
    program: Pubkey,
    beneficiary: &Pubkey,
    deadline: i64,
) -> Result<Pubkey, Box<dyn Error>> {
    let lockup = address("lockup");
    let data = [&deadline.to_le_bytes()[..], beneficiary.as_ref()].concat();
    let account = Account { lamports: 5 * SOL, data, owner: program, ..Account::default() };
    svm.set_account(lockup, account)?;
    Ok(lockup)
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let source = include_str!("../../../examples/lockup.s");
    let assembled = selkie_asm::assemble(source, &selkie_asm::Options::default());
    let elf = assembled.assembly.ok_or("it does not assemble")?.to_elf();
    let mut svm = Svm::new();
    let (payer, program, bob) = (keypair("payer"), address("program"), address("bob"));
    svm.airdrop(&payer.pubkey(), SOL)?;
    svm.add_program(program, elf.as_slice())?;
    let deadline = svm.clock().unix_timestamp + SECONDS;
    let lockup = lock(&mut svm, program, &bob, deadline)?;
    let withdraw = Instruction {
        program_id: program,
        accounts: vec![AccountMeta::new(lockup, false), AccountMeta::new(bob, false)],
        data: vec![],
    };
    loop {
        let (slot, clock, elapsed) = (svm.slot(), svm.clock(), nanoseconds(&svm)?);
        let sent = svm.send_instructions(core::slice::from_ref(&withdraw), &[&payer]);
        let paid = sent.map(|_| ()).map_err(|failed| failed.error);
        // Programs see whole seconds of the nanoseconds at which the block before ended.
        assert_eq!(clock.unix_timestamp, elapsed / 1_000_000_000);
        if paid.is_ok() {
            println!("slot {slot}: paid, {} s after the start", SECONDS);
            assert_eq!((clock.unix_timestamp, elapsed), (deadline, deadline * 1_000_000_000));
            // Block 9 ended two seconds after the start: ten blocks of 200 ms.
            assert_eq!(slot, 10);
            break;
        }
        assert_eq!((paid, svm.balance(&bob)), (Err(LOCKED), 0), "slot {slot}");
        println!(
            "slot {slot}: locked for another {} s by the clock",
            deadline - clock.unix_timestamp
        );
        svm.warp_by_slots(1);
    }
    assert_eq!((svm.balance(&bob), svm.balance(&lockup)), (5 * SOL, 0));
    Ok(())
}
