//! What is known of the transactions of recent blocks: their statuses.

mod common;

use common::{SLOT, SOL, address, cluster, cluster_with, sign, transfer};
use selkie_node::{HistoryLimit, Options, SendError, SendOptions};
use solana_commitment_config::CommitmentLevel::Finalized;
use solana_signer::Signer;
use solana_transaction_error::TransactionError;

const SKIP: SendOptions =
    SendOptions { skip_preflight: true, preflight_commitment: Finalized, max_retries: None };

#[test]
fn a_status_is_known_as_long_as_the_transaction_cannot_land_again() {
    let few = HistoryLimit::Transactions(5);
    let cluster = cluster_with(Options { history: few, ..Options::default() });
    let alice = cluster.wallet(1);
    let ok = transfer(&alice.pubkey(), &address(2), SOL);
    let transaction = sign(cluster.blockhash(), &[ok], &[&alice]);
    let landed = cluster.node.send_and_wait(transaction.clone(), &SKIP).unwrap();
    let too_much =
        sign(cluster.blockhash(), &[transfer(&alice.pubkey(), &address(2), 99 * SOL)], &[&alice]);
    let failed = cluster.node.send_and_wait(too_much, &SKIP).unwrap();
    // The history has at least 512 blocks.
    for _ in 0..1000 {
        cluster.node.airdrop_and_wait(&address(3), SOL).unwrap();
    }
    assert_eq!(cluster.node.transaction(&landed.signature), None);
    let again = cluster.node.send(transaction, &SendOptions::default()).unwrap_err();
    let SendError::Preflight(simulation) = again else { panic!("{again}") };
    assert_eq!(simulation.result, Err(TransactionError::AlreadyProcessed));
    for landed in [&landed, &failed] {
        let status = cluster.node.statuses(&[landed.signature]).remove(0).unwrap();
        assert_eq!((status.slot, &status.result), (landed.slot, &landed.result));
        assert_eq!((status.commitment, status.confirmations), (Finalized, None));
    }
    // After 310 more heights, with blocks that push it out of the history, it is forgotten.
    for _ in 0..700 {
        cluster.clock.advance(SLOT);
        cluster.node.tick();
    }
    assert_eq!(cluster.node.statuses(&[landed.signature]), [None]);
}

#[test]
fn a_reverted_transaction_has_no_status() {
    let cluster = cluster();
    let alice = cluster.wallet(1);
    let id = cluster.node.snapshot().unwrap();
    let landed = cluster.run(&[transfer(&alice.pubkey(), &address(2), SOL)], &[&alice]).unwrap();
    assert!(cluster.node.statuses(&[landed.signature])[0].is_some());
    cluster.node.revert(id).unwrap();
    assert_eq!(cluster.node.statuses(&[landed.signature]), [None]);
}
