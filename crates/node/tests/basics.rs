//! Airdrops, transfers, slots, blockhashes and statuses.

mod common;

use common::{SLOT, SOL, address, cluster, cluster_with, sign, transfer};
use selkie_node::{NoBlock, Options, SendError, SendOptions, SimulateOptions};
use solana_commitment_config::CommitmentLevel::{Confirmed, Finalized, Processed};
use solana_instruction::Instruction;
use solana_signer::Signer;
use solana_transaction_error::TransactionError;

#[test]
fn an_airdrop_is_a_landed_transaction() {
    let cluster = cluster();
    let to = address(7);
    let landed = cluster.node.airdrop_and_wait(&to, SOL).unwrap();
    assert_eq!(cluster.balance(&to), SOL);
    assert_eq!(landed.meta.fee, 5000);
    let status = cluster.node.statuses(&[landed.signature])[0].clone().unwrap();
    assert_eq!((status.commitment, status.confirmations), (Finalized, None));
    let block = cluster.node.block(landed.slot).unwrap();
    assert_eq!(block.transactions[0].signature, landed.signature);
    assert_eq!(block.rewards[0].lamports, 2500);
    assert!(block.accounts.iter().any(|(key, _)| *key == to));
}

#[test]
fn equal_airdrops_all_land() {
    let cluster = cluster();
    let to = address(7);
    for _ in 0..5 {
        cluster.node.airdrop_and_wait(&to, SOL).unwrap();
    }
    assert_eq!(cluster.balance(&to), 5 * SOL);
}

#[test]
fn a_transfer_lands_once() {
    let cluster = cluster();
    let alice = cluster.wallet(1);
    let transaction =
        sign(cluster.blockhash(), &[transfer(&alice.pubkey(), &address(2), SOL)], &[&alice]);
    let landed = cluster.node.send_and_wait(transaction.clone(), &SendOptions::default()).unwrap();
    assert_eq!(landed.result, Ok(()));
    assert_eq!(landed.meta.post_balances[1], SOL);
    let again = cluster.node.send(transaction, &SendOptions::default()).unwrap_err();
    let SendError::Preflight(simulation) = again else { panic!("{again}") };
    assert_eq!(simulation.result, Err(TransactionError::AlreadyProcessed));
    assert_eq!(cluster.balance(&address(2)), SOL);
}

#[test]
fn the_compute_units_of_every_transaction_can_be_set() {
    // A transfer takes 150.
    let cluster = cluster_with(Options { compute_unit_limit: Some(300), ..Options::default() });
    let alice = cluster.wallet(1);
    let transfers = [2, 3, 4].map(|number| transfer(&alice.pubkey(), &address(number), SOL));
    let landed = cluster.run(&transfers[..2], &[&alice]).unwrap();
    assert_eq!((&landed.result, landed.meta.compute_units), (&Ok(()), 300));
    let SendError::Preflight(simulation) = cluster.run(&transfers, &[&alice]).unwrap_err() else {
        panic!("the third is too much")
    };
    let error = simulation.result.clone().unwrap_err();
    assert_eq!(error.to_string(), "Error processing Instruction 2: Computational budget exceeded");
}

#[test]
fn slots_follow_the_clock_when_they_are_looked_at() {
    let cluster = cluster();
    let view = cluster.node.view(Finalized);
    assert_eq!(view.slot(), 1);
    cluster.clock.advance(SLOT * 10);
    let later = cluster.node.view(Finalized);
    assert_eq!(later.slot(), 11);
    assert_eq!(later.block_height(), view.block_height() + 1);
    assert_ne!(later.blockhash(), view.blockhash());
    assert_eq!(later.clock().unix_timestamp, view.clock().unix_timestamp + 2);
    assert_eq!(later.clock().slot, 11);
    assert_eq!(cluster.node.block(5).unwrap_err(), NoBlock::Skipped);
    assert_eq!(cluster.node.block(12).unwrap_err(), NoBlock::NotYet);
    assert_eq!(cluster.node.block(11).unwrap().block_time, later.clock().unix_timestamp);
}

#[test]
fn blocks_that_come_faster_than_slots_do_not_age_blockhashes() {
    let cluster = cluster();
    let first = cluster.node.view(Finalized);
    let mut seen = vec![first.blockhash()];
    for _ in 0..200 {
        cluster.node.airdrop_and_wait(&address(7), SOL).unwrap();
        seen.push(cluster.blockhash());
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 201);
    let last = cluster.node.view(Finalized);
    assert_eq!(last.slot(), first.slot() + 200);
    assert!(last.block_height() <= first.block_height() + 1);
    assert!(last.is_blockhash_valid(&first.blockhash()));
    for _ in 0..151 {
        cluster.clock.advance(SLOT);
        cluster.node.tick();
    }
    let old = cluster.node.view(Finalized);
    assert!(!old.is_blockhash_valid(&first.blockhash()));
    assert!(old.block_height() > first.last_valid_block_height());
}

#[test]
fn preflight_reports_what_fails() {
    let cluster = cluster();
    let alice = cluster.wallet(1);
    let too_much = [transfer(&alice.pubkey(), &address(2), 100 * SOL)];
    let error = cluster.run(&too_much, &[&alice]).unwrap_err();
    let SendError::Preflight(simulation) = error else { panic!("{error}") };
    assert!(simulation.result.is_err() && simulation.is_processed);
    assert!(simulation.meta.logs.iter().any(|line| line.contains("insufficient lamports")));
    let transaction = sign(cluster.blockhash(), &too_much, &[&alice]);
    let options = SendOptions { skip_preflight: true, ..SendOptions::default() };
    let landed = cluster.node.send_and_wait(transaction, &options).unwrap();
    assert!(landed.result.is_err());
    assert_eq!(landed.meta.post_balances[0], 10 * SOL - 5000);
}

#[test]
fn a_program_that_the_node_lacks_is_named_by_notes() {
    let cluster = cluster();
    let alice = cluster.wallet(1);
    let token_extras = "TokExjvjJmhKaRBShsBAsbSvEWMA1AgUNK7ps4SAc2p".parse().unwrap();
    let call = |program_id| {
        let missing = Instruction { program_id, accounts: Vec::new(), data: Vec::new() };
        let there = transfer(&alice.pubkey(), &address(2), SOL);
        let error = cluster.run(&[there, missing], &[&alice]).unwrap_err();
        let SendError::Preflight(simulation) = error else { panic!("{error}") };
        assert_eq!(simulation.result, Err(TransactionError::ProgramAccountNotFound));
        simulation.meta.notes
    };
    let known = call(token_extras);
    assert!(known.len() == 1 && known[0].contains("Metaplex's Token Extras"), "{known:?}");
    let unknown = call(address(99));
    assert!(unknown.len() == 1 && unknown[0].contains(&address(99).to_string()), "{unknown:?}");
}

#[test]
fn signatures_are_verified() {
    let cluster = cluster();
    let alice = cluster.wallet(1);
    let mut transaction =
        sign(cluster.blockhash(), &[transfer(&alice.pubkey(), &address(2), SOL)], &[&alice]);
    transaction.signatures[0] = [1; 64].into();
    let error = cluster.node.send(transaction.clone(), &SendOptions::default()).unwrap_err();
    let SendError::Preflight(simulation) = error else { panic!("{error}") };
    assert_eq!(simulation.result, Err(TransactionError::SignatureFailure));
    let view = cluster.node.view(Processed);
    let simulation = view.simulate(&transaction, &SimulateOptions::default());
    assert_eq!(simulation.result, Ok(()));
    let key = alice.pubkey();
    cluster.node.impersonate(key, true).unwrap();
    transaction.signatures[0] = Default::default();
    let landed = cluster.node.send_and_wait(transaction, &SendOptions::default()).unwrap();
    assert_ne!(landed.signature, Default::default());
    assert_eq!(cluster.balance(&address(2)), SOL);
}

#[test]
fn a_simulation_can_replace_the_blockhash() {
    let cluster = cluster();
    let alice = cluster.wallet(1);
    let transaction =
        sign(Default::default(), &[transfer(&alice.pubkey(), &address(2), SOL)], &[&alice]);
    let view = cluster.node.view(Confirmed);
    let simulation = view.simulate(&transaction, &SimulateOptions::default());
    assert_eq!(simulation.result, Err(TransactionError::BlockhashNotFound));
    let options = SimulateOptions { replace_blockhash: true, verify_signatures: false };
    let simulation = view.simulate(&transaction, &options);
    assert_eq!(simulation.result, Ok(()));
    let replacement = (view.blockhash(), view.last_valid_block_height());
    assert_eq!(simulation.replacement_blockhash, Some(replacement));
    assert_eq!(simulation.meta.compute_units, 150);
}

#[test]
fn the_genesis_has_mainnets_programs_and_features() {
    use selkie_programs::MAINNET;
    use selkie_svm::Feature;
    let cluster = cluster();
    let view = cluster.node.view(Finalized);
    for program in MAINNET {
        assert!(view.account(&program.id).is_some(), "{}", program.name);
    }
    let features = view.program_accounts(&solana_sdk_ids::feature::ID);
    assert_eq!(features.len(), 252);
    let has = |address: &str| {
        let address = address.parse().unwrap();
        features.iter().any(|(key, _)| *key == address)
    };
    assert!(has("5cC3foj77CWun58pC51ebHFUWavHWKarWyR5UUik7dnC"), "sBPF V3");
    assert!(!has(&Feature::DisableSbpfV0V1V2Deployment.address().to_string()));
    assert_eq!(view.rent().lamports_per_byte * 128, view.minimum_balance(0));
}

#[test]
fn a_cluster_that_has_not_migrated_has_no_clock_of_alpenglow() {
    let has_clock = |is_alpenglow| {
        let cluster = cluster_with(Options { is_alpenglow, ..Options::default() });
        cluster.node.airdrop_and_wait(&address(7), SOL).unwrap();
        let view = cluster.node.view(Finalized);
        (
            view.account(&selkie_bank::alpenglow::CLOCK).is_some(),
            view.genesis_certificate().is_some(),
        )
    };
    assert_eq!([true, false].map(has_clock), [(true, true), (false, false)]);
}
