//! The target that both fuzzers search: a program with a bug that takes four calls in order,
//! B(2), C(3), A(1), D(4).

use selkie::{Account, AccountMeta, Instruction, Pubkey, Svm, address};
use selkie_explore::{FailsOn, Target};

const STEPS: &str = include_str!("../../../testdata/explore/steps.s");

fn id() -> Pubkey {
    address("steps")
}

fn chain() -> Svm {
    let output = selkie_asm::assemble(STEPS, &selkie_asm::Options::default());
    let program = output.assembly.expect("it has no errors").to_elf();
    let mut svm = Svm::new();
    svm.add_program(id(), program.as_slice()).expect("it loads");
    let account = Account { lamports: 1_000_000, data: vec![0], owner: id(), ..Account::default() };
    svm.set_account(address("state"), account).expect("it is no sysvar");
    svm
}

fn step(letter: u8, number: u64) -> Instruction {
    let data = [&[letter][..], &number.to_le_bytes()].concat();
    let accounts = vec![AccountMeta::new(address("state"), false)];
    Instruction { program_id: id(), accounts, data }
}

/// Returns the target: an action for each letter, which takes a number.
#[must_use]
pub fn target() -> Target {
    let letters = (0..).zip(["a", "b", "c", "d"]);
    letters.fold(Target::new(chain).fails_on(FailsOn::Trap), |target, (letter, name)| {
        target.action(name, move |session| {
            let number = session.args.u64();
            session.send(&[step(letter, number)]);
        })
    })
}
