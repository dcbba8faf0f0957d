//! Account files and fixtures: written, read, replayed.

use selkie::{
    Account, AddressLookupTableAccount, ComputeBudget, Keypair, Pubkey, Replay, ReplayError,
    Signer, Svm, TransactionError, VersionedMessage, VersionedTransaction, address, ids, keypair,
    programs, runtime::Processed, system, token, v0,
};
use selkie_case::firedancer::{
    Inexpressible, features, instruction_case, instruction_differences, instruction_fixture,
    later_rule, transaction_case, transaction_differences, transaction_fixture,
};
use selkie_fixture::{Fixture, TransactionEffects, TransactionFixture};
use solana_account::ReadableAccount;

#[test]
fn account_files_round_trip() {
    let folder = std::env::temp_dir().join(format!("selkie-accounts-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("account.json");
    let account = Account {
        lamports: 7,
        data: (0..=255).collect(),
        owner: address("owner"),
        executable: true,
        rent_epoch: u64::MAX,
    };
    let mut svm = Svm::new();
    svm.set_account(address("alice"), account.clone()).unwrap();
    svm.save_account_file(&address("alice"), &path).unwrap();
    let mut other = Svm::new();
    assert_eq!(other.load_account_file(&path).unwrap(), address("alice"));
    assert_eq!(other.account(&address("alice")), Some(account));
    std::fs::remove_dir_all(&folder).unwrap();
    let error = other.load_account_file(&path).unwrap_err().to_string();
    assert!(error.starts_with("cannot use "), "{error}");
}

#[test]
fn account_files_of_other_tools_are_read() {
    let mut svm = Svm::new();
    // As `solana account` prints it, with the rent epoch rounded by JavaScript tools.
    let text = r#"{"pubkey": "SysvarC1ock11111111111111111111111111111112",
        "account": {"lamports": 5, "data": ["AQI=", "base64"], "space": 2,
        "owner": "11111111111111111111111111111111", "executable": false,
        "rentEpoch": 1.8446744073709552e19}}"#;
    let key = svm.load_account_json(text).unwrap();
    let account = svm.account(&key).unwrap();
    assert_eq!((account.data, account.rent_epoch), (vec![1, 2], u64::MAX));
    for (from, to, why) in [
        ("base64", "base58", "encoding Some(\"base58\")"),
        ("\"pubkey\"", "\"key\"", "`pubkey` is missing"),
        ("\"lamports\": 5", "\"lamports\": -5", "`lamports` is not a number"),
        ("AQI=", "A", "bad base64"),
        ("{", "", "trailing characters"),
    ] {
        let error = svm.load_account_json(&text.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

/// Returns a chain and a funded payer.
fn funded() -> (Svm, Keypair) {
    let payer = keypair("payer");
    let mut svm = Svm::new();
    svm.airdrop(&payer.pubkey(), 1_000_000_000).unwrap();
    (svm, payer)
}

/// Writes a transaction and reads it again.
fn record(svm: &Svm, transaction: &VersionedTransaction) -> TransactionFixture {
    let file = transaction_fixture(&svm.case(transaction)).unwrap().to_firedancer();
    match Fixture::read(&file) {
        Ok(Fixture::Transaction(fixture)) => fixture,
        other => panic!("{other:?}"),
    }
}

/// Runs a fixture that ends as recorded.
fn replay(fixture: &TransactionFixture) -> Result<Box<Processed>, TransactionError> {
    let ended = transaction_case(&fixture.input).run_once();
    assert_eq!(transaction_differences(fixture, ended.as_deref()), []);
    ended
}

#[test]
fn recorded_transactions_replay_with_the_same_result() {
    let (mut svm, payer) = funded();
    let mut transactions = vec![
        svm.sign(&[system::transfer(&payer.pubkey(), &address("bob"), 1_000_000)], &[&payer]),
        svm.sign(&[system::transfer(&payer.pubkey(), &address("bob"), 1 << 60)], &[&payer]),
    ];
    let id = programs::TOKEN.id;
    let data = token::mint_data(&payer.pubkey(), 0, 6);
    let lamports = svm.minimum_balance_for_rent_exemption(data.len());
    let mint = Account { lamports, data, owner: id, ..Account::default() };
    svm.set_account(address("mint"), mint).unwrap();
    let create = token::create_associated(&id, &payer.pubkey(), &payer.pubkey(), &address("mint"));
    transactions.push(svm.sign(&[create], &[&payer]));
    for transaction in transactions {
        let transaction = transaction.unwrap();
        let line = svm.record("test/recorded", &transaction).to_string();
        let replayed = Svm::replay(&Replay::parse(&line).unwrap()).unwrap();
        let sent = svm.simulate(&transaction).unwrap_or_else(|failed| failed.receipt);
        assert_eq!((&replayed.logs, &replayed.result), (&sent.logs, &sent.result));
        let replayed = replay(&record(&svm, &transaction)).unwrap();
        assert_eq!((&replayed.logs, &replayed.result), (&sent.logs, &sent.result));
    }
}

/// Returns a transaction with two transfers whose recipients are in a lookup table.
fn by_table(svm: &mut Svm, payer: &Keypair) -> VersionedTransaction {
    let addresses = vec![address("bob"), address("carol")];
    let mut data = vec![1, 0, 0, 0];
    data.extend(u64::MAX.to_le_bytes());
    data.resize(56, 0);
    data.extend(addresses.iter().flat_map(|key| key.to_bytes()));
    let (lamports, owner) = (10_000_000, ids::address_lookup_table::ID);
    svm.set_account(address("table"), Account { lamports, data, owner, ..Account::default() })
        .unwrap();
    let table = AddressLookupTableAccount { key: address("table"), addresses };
    let pay = |to| system::transfer(&payer.pubkey(), &address(to), 1_000_000);
    let blockhash = svm.latest_blockhash();
    let message =
        v0::Message::try_compile(&payer.pubkey(), &["bob", "carol"].map(pay), &[table], blockhash);
    VersionedTransaction::try_new(VersionedMessage::V0(message.unwrap()), &[payer]).unwrap()
}

#[test]
fn fixtures_record_lookup_tables_and_dropped_transactions() {
    let (mut svm, payer) = funded();
    let transaction = by_table(&mut svm, &payer);
    let again = |svm: &Svm| replay(&record(svm, &transaction));
    let processed = again(&svm).unwrap();
    let carol = processed.accounts.iter().find(|it| it.key == address("carol")).unwrap();
    assert_eq!(carol.after().unwrap().lamports(), 1_000_000);
    svm.set_account(address("table"), Account::default()).unwrap();
    assert_eq!(again(&svm), Err(TransactionError::AddressLookupTableNotFound));
    for _ in 0..300 {
        svm.expire_blockhash();
    }
    assert!(again(&svm).is_err());

    svm.advance_blockhash();
    let pay = system::transfer(&payer.pubkey(), &address("bob"), 1_000_000);
    let transaction = svm.sign(&[pay], &[&payer]).unwrap();
    svm.send(&transaction).unwrap();
    let case = svm.case(&transaction);
    assert_eq!(transaction_fixture(&case).unwrap_err(), Inexpressible::Processed);
    assert_eq!(instruction_fixture(&case).unwrap_err(), Inexpressible::Input);
}

/// Fixtures of other projects may omit builtin programs, signatures and blockhashes.
#[test]
fn replay_accepts_fixtures_without_builtins_signatures_and_blockhashes() {
    let (svm, payer) = funded();
    let pay = system::transfer(&payer.pubkey(), &address("bob"), 1_000_000);
    let transaction = svm.sign(&[pay], &[&payer]).unwrap();
    let mut fixture = record(&svm, &transaction);
    let input = &mut fixture.input;
    input.signatures.clear();
    input.header[0] = 0;
    input.blockhash = [0; 32];
    input.blockhashes.clear();
    input.accounts.retain(|account| account.owner != ids::native_loader::ID);
    // Of two accounts with the same address the first one counts.
    let mut other = input.accounts[0].clone();
    other.lamports = 1;
    input.accounts.push(other);
    replay(&fixture).unwrap();
}

#[test]
fn replay_compares_every_recorded_effect() {
    let (svm, payer) = funded();
    let pay = |amount| system::transfer(&payer.pubkey(), &address("bob"), amount);
    let right = svm.sign(&[pay(1_000_000)], &[&payer]).unwrap();
    let wrong = svm.sign(&[pay(1 << 60)], &[&payer]).unwrap();
    let [right, wrong] = [right, wrong].map(|it| record(&svm, &it));
    type Change = fn(&mut TransactionEffects);
    let changes: [(_, Change); 11] = [
        (&right, |it| it.is_executed = false),
        (&right, |it| it.error = 1),
        (&wrong, |it| it.instruction_error += 1),
        (&wrong, |it| it.instruction_index += 1),
        (&wrong, |it| it.custom_error += 1),
        (&right, |it| it.return_data = vec![0].into()),
        (&right, |it| it.compute_units += 1),
        (&right, |it| it.fees = Some((5_000, 1))),
        (&right, |it| it.loaded_bytes += 1),
        (&right, |it| it.accounts[1].lamports += 1),
        (&wrong, |it| it.rollback.clear()),
    ];
    for (index, (fixture, change)) in changes.into_iter().enumerate() {
        let mut fixture = fixture.clone();
        change(&mut fixture.output);
        let ended = transaction_case(&fixture.input).run_once();
        let differences = transaction_differences(&fixture, ended.as_deref());
        assert_eq!(differences.len(), 1, "{index}: {differences:?}");
    }
}

/// Old fixtures lack what the format did not have yet.
#[test]
fn what_a_fixture_does_not_record_is_not_compared() {
    let (svm, payer) = funded();
    let pay = svm.sign(&[system::transfer(&payer.pubkey(), &address("bob"), 1 << 60)], &[&payer]);
    let mut fixture = record(&svm, &pay.unwrap());
    fixture.output.fees = None;
    fixture.output.loaded_bytes = 0;
    fixture.output.rollback.clear();
    replay(&fixture).unwrap();
}

#[test]
fn a_later_rule_explains_differences_of_fixtures_without_its_feature() {
    let (svm, payer) = funded();
    let pay = svm.sign(&[system::transfer(&payer.pubkey(), &address("bob"), 7)], &[&payer]);
    let mut fixture = record(&svm, &pay.unwrap());
    fixture.output.fees = Some((5_000, 1));
    let rule_of = |fixture: &TransactionFixture| {
        let ended = transaction_case(&fixture.input).run_once();
        later_rule(fixture, &transaction_differences(fixture, ended.as_deref()))
    };
    assert_eq!(rule_of(&fixture), None);
    let feature = Pubkey::from_str_const("C9oAhLxDBm3ssWtJx1yBGzPY55r2rArHmN1pbQn6HogH");
    let number = u64::from_le_bytes(*feature.as_array().first_chunk().unwrap());
    fixture.input.features.retain(|it| *it != number);
    let text = rule_of(&fixture).unwrap();
    assert!(text.contains("SIMD-0170"), "{text}");
}

#[test]
fn replay_reports_each_difference() {
    let (svm, payer) = funded();
    let transfer = system::transfer(&payer.pubkey(), &address("bob"), 1_000_000);
    let transaction = svm.sign(&[transfer], &[&payer]).unwrap();
    let line = svm.record("test/changed", &transaction).to_string();
    let replay = |from: &str, to: &str| {
        assert!(line.contains(from), "{line}");
        Svm::replay(&Replay::parse(&line.replace(from, to)).unwrap())
    };
    for (from, to) in [
        ("\"cu\":150", "\"cu\":151"),
        ("\"result_str\":\"Ok\"", "\"result_str\":\"AccountInUse\""),
        ("\"l\":1000000,", "\"l\":1000001,"),
        ("success\"", "failure\""),
    ] {
        let differs = matches!(replay(from, to), Err(ReplayError::Differs(all)) if all.len() == 1);
        assert!(differs, "{from}");
    }
    assert!(matches!(replay("\"tx\"", "\"xt\""), Err(ReplayError::Format(_))));
    let dropped = replay("\"already_processed\":false", "\"already_processed\":true").unwrap_err();
    let text = format!("found \"{:?}\"", TransactionError::AlreadyProcessed);
    assert!(dropped.to_string().contains(&text), "{dropped}");
}

#[test]
fn replays_keep_the_compute_budget_of_the_chain() {
    let (svm, payer) = funded();
    let budget = ComputeBudget { compute_unit_limit: 149, heap_bytes: 32 * 1024 };
    let svm = svm.with_transaction_budget(Some(budget));
    let transfer = system::transfer(&payer.pubkey(), &address("bob"), 1_000_000);
    let transaction = svm.sign(&[transfer], &[&payer]).unwrap();
    let line = svm.record("test/short", &transaction).to_string();
    let replayed = Svm::replay(&Replay::parse(&line).unwrap()).unwrap();
    assert_eq!((replayed.compute_unit_limit, replayed.is_ok()), (149, false));
    assert_eq!(svm.case(&transaction).run_once().unwrap().result, replayed.result);
}

/// Vectors recorded from mainnet's runtime.
#[test]
fn conformance_vectors_are_replays() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../conform/tests/data/svm.jsonl");
    let text = std::fs::read_to_string(file).unwrap();
    let mut count = 0;
    for line in text.lines().filter(|line| !line.contains("\"blob:")) {
        count += 1;
        let vector = Replay::parse(line).unwrap();
        if let Err(error) = Svm::replay(&vector) {
            panic!("{}: {error}", vector.id());
        }
    }
    assert!(count > 5, "{count}");
}

#[test]
fn recorded_instructions_replay_with_the_same_result() {
    let [owner, mint, from, to] = ["owner", "mint", "from", "to"].map(address);
    let svm = Svm::new();
    let rich = Account { lamports: 10_000_000_000, ..Account::default() };
    let mut cases = vec![
        (system::transfer(&from, &to, 4), vec![(from, rich.clone())]),
        (system::transfer(&from, &to, 1 << 60), vec![(from, rich.clone())]),
    ];
    let id = programs::TOKEN.id;
    let of = |data| Account { lamports: 10_000_000, data, owner: id, ..Account::default() };
    let account = |amount| of(token::account_data(&mint, &owner, amount));
    let accounts = vec![(from, account(9)), (to, account(0))];
    cases.push((token::transfer(&id, &from, &to, &owner, 3), accounts.clone()));
    cases.push((token::transfer(&id, &from, &to, &owner, 10), accounts));
    let mint_account = of(token::mint_data(&owner, 0, 6));
    let create = token::create_associated(&id, &owner, &owner, &mint);
    cases.push((create, vec![(owner, rich), (mint, mint_account)]));
    for (instruction, accounts) in cases {
        let case = svm.instructions_case(core::slice::from_ref(&instruction), &accounts);
        let file = instruction_fixture(&case).unwrap().to_firedancer();
        let Ok(Fixture::Instruction(fixture)) = Fixture::read(&file) else { panic!("{file:?}") };
        let replayed =
            instruction_case(&fixture.input, features(&fixture.input.features)).run_once().unwrap();
        assert_eq!(instruction_differences(&fixture, &replayed), []);
        let processed = svm.process_instruction(&instruction, &accounts);
        assert_eq!((&replayed.result, &replayed.logs), (&processed.result, &processed.logs));
    }
}
