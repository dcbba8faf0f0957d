//! How many calls the search needs for a bug of four calls with one argument each.

use selkie::{Account, AccountMeta, Instruction, Pubkey, Svm, address};
use selkie_explore::{FailsOn, Options, Target, explore};

use crate::{milliseconds, now, program};

/// Calls of actions `B(2) C(3) A(1) D(4)` in this order end in a trap; a wrong call starts over.
const STEPS: &str = include_str!("../../../../testdata/explore/steps.s");
/// Calls after which a search is given up.
const CALLS: u64 = 1_000_000;
const SEEDS: u64 = 10;

/// Prints the calls, and the processor's time, until the bug is found.
pub(crate) fn measure() {
    let start = now();
    let mut calls: Vec<u64> = (0..SEEDS).map(calls_until_found).collect();
    let time = milliseconds(now().saturating_sub(start)) / SEEDS as f64;
    calls.sort_unstable();
    let (median, most) = (calls[calls.len() / 2], calls[calls.len() - 1]);
    let name = "B(2) C(3) A(1) D(4)";
    println!("{name:44} {median:8} calls median of {SEEDS} seeds, most {most}, mean {time:.0} ms");
}

fn calls_until_found(seed: u64) -> u64 {
    let options = Options { seed, runs: Some(CALLS), ..Options::default() };
    let report = explore(&target(), &options).expect("actions succeed");
    assert_eq!(report.findings.len(), 1, "it is found with seed {seed}");
    report.progress.executions
}

fn target() -> Target {
    let letters = (0_u8..).zip(["a", "b", "c", "d"]);
    letters.fold(Target::new(chain).fails_on(FailsOn::Trap), |target, (letter, name)| {
        target.action(name, move |session| {
            let number = session.args.u64();
            let data = [&[letter][..], &number.to_le_bytes()].concat();
            let accounts = vec![AccountMeta::new(address("state"), false)];
            session.send(&[Instruction { program_id: id(), accounts, data }]);
        })
    })
}

fn chain() -> Svm {
    let mut svm = Svm::new();
    svm.add_program(id(), program(STEPS)).expect("it loads");
    let account = Account { lamports: 1_000_000, data: vec![0], owner: id(), ..Account::default() };
    svm.set_account(address("state"), account).expect("no sysvar");
    svm
}

fn id() -> Pubkey {
    address("steps")
}
