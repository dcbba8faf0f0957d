//! Steps a chain of Selkie's banks beside agave's own `Bank` of 4.4 and compares them after every block:
//! bank hash, blockhash, capitalization, and every account with all sysvars.
//!
//! ```text
//! oracle-bank [SEEDS] [SLOTS]
//! ```
//!
//! Each seed is a cluster of its own: with votes, with Alpenglow since genesis, or one that migrates on the
//! way. Slots are skipped at random; vote accounts earn credits, stakes are delegated and deactivated,
//! commissions and balances change, and epochs of 64 slots end.

mod agave;
#[allow(dead_code, reason = "the other differential tests use more of it")]
#[path = "../../oracle/src/rng.rs"]
mod rng;
mod run;

fn main() {
    let mut numbers = std::env::args().skip(1).map(|it| it.parse::<u64>());
    let mut next = |default| numbers.next().map_or(default, |it| it.expect("a number"));
    let (seeds, slots) = (next(30), next(300));
    let mut failures = 0;
    for seed in 0..seeds {
        if let Err(difference) = run::run(seed, slots) {
            eprintln!("seed {seed}: {difference}");
            failures += 1;
        }
    }
    println!("{seeds} clusters of {slots} slots, {failures} differ");
    std::process::exit(i32::from(failures > 0));
}
