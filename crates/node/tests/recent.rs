//! What is known of the transactions of recent blocks: their statuses and their prices.

mod common;

use common::{Cluster, SLOT, SOL, address, cluster, cluster_with, sign, transfer};
use selkie_node::{BlockMode, Finality, HistoryLimit, Options, SendError, SendOptions};
use solana_commitment_config::CommitmentLevel::Finalized;
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
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

/// A transfer whose compute units have a price.
fn priced(from: &Pubkey, to: &Pubkey, price: u64) -> Vec<Instruction> {
    let data = [&[3][..], &price.to_le_bytes()].concat();
    let program_id = solana_sdk_ids::compute_budget::ID;
    vec![Instruction { program_id, accounts: Vec::new(), data }, transfer(from, to, SOL / 100)]
}

/// Sends transfers, each with its price and destination, into one block.
fn block(cluster: &Cluster, transfers: &[(&Keypair, u8, u64)]) -> u64 {
    for (from, to, price) in transfers {
        let instructions = priced(&from.pubkey(), &address(*to), *price);
        let transaction = sign(cluster.blockhash(), &instructions, &[from]);
        cluster.node.send(transaction, &SKIP).unwrap();
    }
    cluster.node.mine(1).unwrap()
}

#[test]
fn prices_are_those_of_blocks_with_transactions_and_of_the_accounts_named() {
    let cluster = cluster();
    let (alice, bob) = (cluster.wallet(1), cluster.wallet(2));
    cluster.node.set_block_mode(BlockMode::Manual).unwrap();
    // Prices that are no whole number of lamports for a transaction.
    let first = block(&cluster, &[(&alice, 11, 7), (&bob, 12, 2)]);
    cluster.node.mine(3).unwrap();
    let second = block(&cluster, &[(&alice, 12, 5), (&bob, 12, 9)]);
    let fees = |accounts: &[u8]| {
        let keys: Vec<Pubkey> = accounts.iter().map(|it| address(*it)).collect();
        let fees = cluster.node.prioritization_fees(&keys);
        // Two airdrops came before.
        assert_eq!(fees.len(), 4);
        fees[2..].to_vec()
    };
    assert_eq!(fees(&[]), [(first, 2), (second, 5)]);
    assert_eq!(fees(&[11]), [(first, 7), (second, 5)]);
    assert_eq!(fees(&[12]), [(first, 2), (second, 5)]);
    assert_eq!(fees(&[11, 12]), [(first, 7), (second, 5)]);
    assert_eq!(fees(&[99]), [(first, 2), (second, 5)]);
    // Programs and sysvars are not writable.
    let system = cluster.node.prioritization_fees(&[solana_sdk_ids::system_program::ID]);
    assert_eq!(system[2..], [(first, 2), (second, 5)]);
}

#[test]
fn prices_are_those_of_confirmed_blocks() {
    let realistic = Options { finality: Finality::Realistic, ..Options::default() };
    let cluster = cluster_with(realistic);
    let landed = cluster.node.airdrop_and_wait(&address(1), SOL).unwrap();
    assert_eq!(cluster.node.prioritization_fees(&[]), []);
    cluster.clock.advance(SLOT);
    cluster.node.tick();
    assert_eq!(cluster.node.prioritization_fees(&[]), [(landed.slot, 0)]);
}
