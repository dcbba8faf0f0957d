//! Values of version 2 that go to the chain and come back: addresses, hashes, signatures, accounts, errors.

use selkie_litesvm_2::LiteSVM;
use solana_account::{Account, ReadableAccount};
use solana_clock::Clock;
use solana_instruction::{AccountMeta, Instruction, error::InstructionError};
use solana_keypair::Keypair;
use solana_message::Message;
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use solana_transaction::Transaction;
use solana_transaction_error::TransactionError;

fn transfer(from: &Pubkey, to: &Pubkey, lamports: u64) -> Instruction {
    // The system program's instruction number 2.
    let data = [&2_u32.to_le_bytes()[..], &lamports.to_le_bytes()].concat();
    let accounts = vec![AccountMeta::new(*from, true), AccountMeta::new(*to, false)];
    Instruction { program_id: solana_sdk_ids::system_program::ID, accounts, data }
}

fn signed(svm: &LiteSVM, payer: &Keypair, instruction: Instruction) -> Transaction {
    let message = Message::new(&[instruction], Some(&payer.pubkey()));
    Transaction::new(&[payer], message, svm.latest_blockhash())
}

#[test]
fn a_transfer_has_the_addresses_and_the_signature_of_its_transaction() {
    let (mut svm, payer, to) = (LiteSVM::new(), Keypair::new(), Pubkey::new_unique());
    svm.airdrop(&payer.pubkey(), 1_000_000_000).expect("an airdrop");
    let transaction = signed(&svm, &payer, transfer(&payer.pubkey(), &to, 10_000_000));
    let signature = transaction.signatures[0];
    let simulated = svm.simulate_transaction(transaction.clone()).expect("it succeeds");
    let after = simulated.post_accounts.iter().map(|(key, it)| (*key, it.lamports()));
    let expected = [(payer.pubkey(), 989_995_000), (to, 10_000_000)];
    assert_eq!(after.collect::<Vec<_>>(), expected);
    let metadata = svm.send_transaction(transaction).expect("it succeeds");
    assert_eq!((metadata.signature, svm.get_balance(&to)), (signature, Some(10_000_000)));
    assert_eq!(svm.get_transaction(&signature), Some(&Ok(metadata)));

    let too_much = signed(&svm, &payer, transfer(&payer.pubkey(), &to, u64::MAX));
    let failed = svm.send_transaction(too_much).expect_err("there is not so much");
    let error = InstructionError::Custom(1);
    assert_eq!(failed.err, TransactionError::InstructionError(0, error));
}

#[test]
fn an_account_without_data_may_keep_fewer_lamports_than_rent_asks_for() {
    let (mut svm, payer, to) = (LiteSVM::new(), Keypair::new(), Pubkey::new_unique());
    svm.airdrop(&payer.pubkey(), 10_000).expect("an airdrop");
    let transaction = signed(&svm, &payer, transfer(&payer.pubkey(), &to, 64));
    svm.send_transaction(transaction).expect("it succeeds");
    assert_eq!((svm.get_balance(&payer.pubkey()), svm.get_balance(&to)), (Some(4936), Some(64)));
}

#[test]
fn accounts_and_sysvars_come_back_as_they_were_set() {
    let (mut svm, key, owner) = (LiteSVM::new(), Pubkey::new_unique(), Pubkey::new_unique());
    let account =
        Account { lamports: 1, data: vec![2], owner, executable: false, rent_epoch: u64::MAX };
    svm.set_account(key, account.clone()).expect("it is no sysvar");
    assert_eq!(svm.get_account(&key), Some(account.clone()));
    assert_eq!(svm.get_program_accounts(&owner), [(key, account)]);
    let clock = Clock { slot: 5, unix_timestamp: 6, ..Clock::default() };
    svm.set_sysvar(&clock);
    assert_eq!(svm.get_sysvar::<Clock>(), clock);
}
