//! `selkie_replayTransaction`: what landed on a node is replayed with the same result, compute units,
//! logs and accounts.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    sync::Arc,
};

use selkie::{
    Account, Instruction, Keypair, Pubkey, Signer as _, VersionedMessage, VersionedTransaction,
    address, keypair, message::AddressLookupTableAccount, programs::TOKEN, system, token, v0,
};
use selkie_case::Replay;
use selkie_node::{BlockMode, Landed, Options, SendOptions};
use selkie_rpc::LocalNode;
use solana_commitment_config::CommitmentLevel::Processed;

const SOL: u64 = 1_000_000_000;

/// A node with a mint, whose authority has lamports.
fn start(options: Options) -> (LocalNode, Keypair) {
    let local = LocalNode::start(options).unwrap();
    let payer = keypair("payer");
    local.node().airdrop_and_wait(&payer.pubkey(), 10 * SOL).unwrap();
    let data = token::mint_data(&payer.pubkey(), 0, 6);
    let mint = Account { lamports: SOL, data, owner: TOKEN.id, ..Account::default() };
    local.node().set_account(address("mint"), mint).unwrap();
    (local, payer)
}

fn sign(local: &LocalNode, instructions: &[Instruction], payer: &Keypair) -> VersionedTransaction {
    let blockhash = local.node().view(Processed).blockhash();
    let message = v0::Message::try_compile(&payer.pubkey(), instructions, &[], blockhash).unwrap();
    VersionedTransaction::try_new(VersionedMessage::V0(message), &[payer]).unwrap()
}

/// Lands instructions, whether they fail or not.
fn land(local: &LocalNode, instructions: &[Instruction], payer: &Keypair) -> Arc<Landed> {
    let options = SendOptions { skip_preflight: true, ..SendOptions::default() };
    local.node().send_and_wait(sign(local, instructions, payer), &options).unwrap()
}

/// Sends a body and returns the answer's body.
fn post(local: &LocalNode, body: &str) -> String {
    let mut stream = TcpStream::connect(local.addresses().rpc).unwrap();
    let headers = "host: localhost\r\nconnection: close\r\ncontent-type: application/json";
    write!(stream, "POST / HTTP/1.1\r\n{headers}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

fn replay_of(local: &LocalNode, signature: &str) -> serde_json::Value {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"selkie_replayTransaction","params":["{signature}"]}}"#
    );
    serde_json::from_str(&post(local, &body)).unwrap()
}

/// Replays a transaction, which fails if anything differs from what was recorded.
#[track_caller]
fn check(local: &LocalNode, landed: &Landed) {
    let answer = replay_of(local, &landed.signature.to_string());
    let text = answer["result"].as_str().unwrap_or_else(|| panic!("{answer}"));
    let replay = Replay::parse(text).unwrap();
    let processed = replay.case(&|_| None).unwrap().run_once().unwrap();
    let differences = replay.differences(Ok(&processed), &|_| None).unwrap();
    assert_eq!(differences, Vec::<String>::new());
    assert_eq!(processed.result, landed.result);
    assert_eq!(processed.compute_units, landed.meta.compute_units);
    assert_eq!(processed.logs, landed.meta.logs);
}

fn create_and_mint(payer: &Pubkey, amount: u64) -> [Instruction; 2] {
    let (mint, account) = (address("mint"), associated(payer));
    [
        token::create_associated(&TOKEN.id, payer, payer, &mint),
        token::mint_to(&TOKEN.id, &mint, &account, payer, amount),
    ]
}

fn associated(owner: &Pubkey) -> Pubkey {
    token::associated_address(&TOKEN.id, owner, &address("mint"))
}

#[test]
fn successes_and_failures_of_invoked_programs_are_replayed() {
    let (local, payer) = start(Options::default());
    let key = payer.pubkey();
    let created = land(&local, &create_and_mint(&key, 70), &payer);
    assert!(created.result.is_ok() && !created.meta.inner_instructions.is_empty());
    // The account exists already: the program that creates it is told so by the one that it invokes.
    let again = land(&local, &create_and_mint(&key, 71), &payer);
    assert!(again.result.is_err());
    let other = [system::transfer(&key, &address("bob"), 1_000_000_000_000)];
    let poor = land(&local, &other, &payer);
    assert!(poor.result.is_err());
    // What comes later does not matter.
    land(
        &local,
        &[token::transfer(&TOKEN.id, &associated(&key), &associated(&key), &key, 5)],
        &payer,
    );
    for landed in [&created, &again, &poor] {
        check(&local, landed);
    }
}

#[test]
fn each_transaction_of_a_block_has_the_state_that_the_one_before_left() {
    let (local, payer) = start(Options::default());
    let key = payer.pubkey();
    local.node().set_block_mode(BlockMode::Manual).unwrap();
    let (mint, account) = (address("mint"), associated(&key));
    let mut transactions = vec![sign(&local, &create_and_mint(&key, 1), &payer)];
    for amount in 2..6 {
        let more = [token::mint_to(&TOKEN.id, &mint, &account, &key, amount)];
        transactions.push(sign(&local, &more, &payer));
    }
    let options = SendOptions { skip_preflight: true, ..SendOptions::default() };
    for transaction in &transactions {
        local.node().send(transaction.clone(), &options).unwrap();
    }
    let slot = local.node().mine(1).unwrap();
    let block = local.node().block(slot).unwrap();
    assert_eq!(block.transactions.len(), 5);
    for landed in &block.transactions {
        assert_eq!(landed.result, Ok(()));
        check(&local, landed);
    }
}

#[test]
fn lookup_tables_upgrades_and_the_limits_of_the_node_are_part_of_the_state() {
    let options = Options {
        compute_unit_limit: Some(1_400_000),
        log_bytes_max: Some(200),
        ..Options::default()
    };
    let (local, payer) = start(options);
    let (key, to) = (payer.pubkey(), address("bob"));
    // A table, set as it would be after its extension.
    let mut data = [&1_u32.to_le_bytes()[..], &u64::MAX.to_le_bytes(), &[0; 9], &[0; 35]].concat();
    data.extend(to.as_ref());
    let owner = selkie::ids::address_lookup_table::ID;
    let table = Account { lamports: SOL, data, owner, ..Account::default() };
    local.node().set_account(address("table"), table).unwrap();
    local.node().mine(1).unwrap();
    let tables = [AddressLookupTableAccount { key: address("table"), addresses: vec![to] }];
    let calls = [&create_and_mint(&key, 7)[..], &[system::transfer(&key, &to, SOL)]].concat();
    let blockhash = local.node().view(Processed).blockhash();
    let message = v0::Message::try_compile(&key, &calls, &tables, blockhash).unwrap();
    let transaction =
        VersionedTransaction::try_new(VersionedMessage::V0(message), &[&payer]).unwrap();
    let landed = local.node().send_and_wait(transaction, &SendOptions::default()).unwrap();
    assert_eq!(landed.meta.compute_unit_limit, 1_400_000);
    assert_eq!(landed.meta.loaded_addresses.writable, [to]);
    assert!(landed.meta.logs.iter().any(|line| line == "Log truncated"));
    // Another file in the program's place does not change what has run.
    local.node().set_program(TOKEN.id, selkie::programs::MEMO.elf().to_vec(), None).unwrap();
    check(&local, &landed);
}

#[test]
fn signatures_of_impersonated_signers_are_not_verified() {
    let (local, payer) = start(Options::default());
    let rich = address("rich");
    local.node().set_balance(rich, 5 * SOL).unwrap();
    local.node().impersonate(rich, true).unwrap();
    let call = system::transfer(&rich, &payer.pubkey(), SOL);
    let blockhash = local.node().view(Processed).blockhash();
    let message = v0::Message::try_compile(&rich, &[call], &[], blockhash).unwrap();
    let signatures = vec![selkie::Signature::default()];
    let transaction = VersionedTransaction { signatures, message: VersionedMessage::V0(message) };
    let landed = local.node().send_and_wait(transaction, &SendOptions::default()).unwrap();
    check(&local, &landed);
}

#[test]
fn transactions_that_are_not_there_have_no_replay() {
    let (local, payer) = start(Options::default());
    let landed = land(&local, &create_and_mint(&payer.pubkey(), 1), &payer);
    let mut dump = Vec::new();
    local.node().dump(&mut dump).unwrap();
    let unknown = replay_of(&local, &selkie::Signature::from([7; 64]).to_string());
    assert_eq!(unknown["result"], serde_json::Value::Null);
    // A dump has the history, but not the states before its transactions.
    local.node().load(&mut dump.as_slice()).unwrap();
    let answer = replay_of(&local, &landed.signature.to_string());
    let message = answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}"));
    assert!(message.starts_with("the state before the transaction is not kept"), "{message}");
}
