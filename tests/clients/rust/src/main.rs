//! Agave's clients in Rust against `selkie node`: solana-rpc-client, solana-pubsub-client and
//! solana-tpu-client-next. The argument is the program to test.

mod cluster;
mod pubsub;
mod rpc;
mod tpu;

use std::{future::Future, process::ExitCode, time::Duration};

use anyhow::{Context as _, Result};

use cluster::Cluster;

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let program = std::env::args_os().nth(1).context("the argument is the program to test")?;
    let cluster = Cluster::start(program)?;
    let failed = [
        check("rpc: airdrop and transfer", rpc::transfers(&cluster)).await,
        check("rpc: life cycle of a token", rpc::life_of_a_token(&cluster)).await,
        check("rpc: errors", rpc::errors(&cluster)).await,
        check("rpc: simulation", rpc::simulates(&cluster)).await,
        check("rpc: history and blocks", rpc::history(&cluster)).await,
        check("rpc: facts about the cluster", rpc::facts(&cluster)).await,
        check("rpc: the blocking client", rpc::blocks(&cluster)).await,
        check("pubsub: every subscription", pubsub::every_subscription(&cluster)).await,
        check("pubsub: the blocking client", pubsub::blocks(&cluster)).await,
        check("tpu: transactions over QUIC", tpu::sends(&cluster)).await,
    ];
    let is_good = !failed.contains(&true);
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs a case for at most half a minute, and returns whether it failed.
async fn check(name: &str, case: impl Future<Output = Result<()>>) -> bool {
    let outcome = tokio::time::timeout(Duration::from_secs(30), case).await;
    match outcome.context("it does not end").flatten() {
        Ok(()) => println!("ok     {name}"),
        Err(error) => {
            println!("FAILED {name}\n{error:#}");
            return true;
        }
    }
    false
}
