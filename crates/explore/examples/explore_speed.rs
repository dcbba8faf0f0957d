//! Measures executions per second of a transfer of SPL tokens, and what counting branches costs.
//!
//! `cargo run --release -p selkie-explore --example explore_speed`

#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::time::Instant;

use selkie::{Pubkey, Svm, address, token};
use selkie_explore::{Options, Target, explore};

const TOKEN: Pubkey = Pubkey::from_str_const("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA");
const RUNS: u32 = 1_000_000;

fn chain() -> Svm {
    let (mint, alice, bob) = (address("mint"), address("alice"), address("bob"));
    let mut svm = Svm::new().with_history(0);
    svm.set_mint(mint, &TOKEN, &alice, 6).expect("no sysvar");
    svm.set_token_account(address("from"), &TOKEN, &mint, &alice, 1 << 40).expect("no sysvar");
    svm.set_token_account(address("to"), &TOKEN, &mint, &bob, 0).expect("no sysvar");
    svm
}

fn transfer(amount: u64) -> selkie::Instruction {
    token::transfer(&TOKEN, &address("from"), &address("to"), &address("alice"), amount)
}

fn main() {
    let target = Target::new(chain).action("transfer", |session| {
        let amount = session.args.range(0, 10);
        session.send(&[transfer(amount)]);
    });
    let start = Instant::now();
    let options = Options { runs: Some(RUNS.into()), ..Options::default() };
    let report = explore(&target, &options).expect("transfers succeed");
    let rate = f64::from(RUNS) / start.elapsed().as_secs_f64();
    println!("{rate:.0} executions/s, {} branch directions", report.progress.coverage);
    for (name, mut svm) in [("without", chain()), ("with", chain().with_branch_counters())] {
        let instruction = [transfer(1)];
        let mut best = f64::MAX;
        for _ in 0..10 {
            let start = Instant::now();
            for _ in 0..RUNS / 10 {
                let receipt = svm.process_instructions(&instruction, &[]);
                svm.commit(&receipt);
            }
            best = best.min(start.elapsed().as_secs_f64() / f64::from(RUNS / 10));
        }
        println!("{:.0} ns per transfer {name} counters", best * 1e9);
    }
}
