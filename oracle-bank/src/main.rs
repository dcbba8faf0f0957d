//! Steps chains of Selkie's banks beside agave's own `Bank`, of 4.4 or 4.5, and compares them in every block:
//! transactions, bank hash, blockhash, capitalization, sysvars, records of rewards, and every account that
//! changed; at the start of an epoch all accounts and their hash.
//!
//! ```text
//! oracle-bank [SEEDS] [SLOTS] [FIRST]
//! ```
//!
//! Each seed is a cluster of its own: with votes, with Alpenglow since genesis, or one that migrates on the
//! way. Slots are skipped at random, and forks grow until one of them becomes the root. Transactions move
//! lamports and stakes; vote accounts earn credits, by footers as well, commissions, collectors and balances
//! change, features become active, and epochs of 64 slots end.

mod agave;
mod compare;
mod edits;
mod release;
#[allow(dead_code, reason = "the other differential tests use more of it")]
#[path = "../../oracle/src/rng.rs"]
mod rng;
mod run;
mod transactions;

fn main() {
    let mut numbers = std::env::args().skip(1).map(|it| it.parse::<u64>());
    let mut next = |default| numbers.next().map_or(default, |it| it.expect("a number"));
    let (seeds, slots, first) = (next(30), next(300), next(0));
    let (mut failures, mut sum) = (0, run::Counts::default());
    for seed in first..first + seeds {
        match run::run(seed, slots) {
            Ok(counts) => sum.add(&counts),
            Err(difference) => {
                eprintln!("seed {seed}: {difference}");
                failures += 1;
            }
        }
    }
    println!("{sum}");
    println!("{seeds} clusters of {slots} slots, {failures} differ");
    std::process::exit(i32::from(failures > 0));
}
