//! Account files and fixtures: written, read, replayed.

use selkie::{
    Account, AddressLookupTableAccount, Inspector, Keypair, Pubkey, Signer, Stage, Svm,
    TransactionError, VersionedMessage, VersionedTransaction, address,
    fixture::{Fixture, FixtureError, InstructionFixture, TransactionFixture},
    ids, keypair, programs, system, token, v0,
};
use selkie_fixture::TransactionEffects;
use solana_account::ReadableAccount;

/// Observes nothing.
struct Nothing;

impl Inspector for Nothing {}

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

/// Decodes a transaction fixture.
fn read(file: &[u8]) -> selkie_fixture::TransactionFixture {
    match selkie_fixture::Fixture::read(file) {
        Ok(selkie_fixture::Fixture::Transaction(fixture)) => fixture,
        other => panic!("{other:?}"),
    }
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
        let line = Fixture::record(&svm, "test/recorded", &transaction).to_string();
        let replayed = Fixture::parse(&line).unwrap().replay().unwrap();
        let sent = svm.simulate(&transaction).unwrap_or_else(|failed| failed.receipt);
        assert_eq!((&replayed.logs, &replayed.result), (&sent.logs, &sent.result));
        let file = TransactionFixture::record(&svm, &transaction).unwrap().to_bytes();
        let replayed = TransactionFixture::parse(&file).unwrap().replay().unwrap();
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
    let record = |svm: &Svm| TransactionFixture::record(svm, &transaction).unwrap().to_bytes();
    let replay = |file: &[u8]| TransactionFixture::parse(file).unwrap().replay();
    let receipt = replay(&record(&svm)).unwrap();
    assert_eq!(receipt.account(&address("carol")).unwrap().after().unwrap().lamports(), 1_000_000);
    svm.set_account(address("table"), Account::default()).unwrap();
    let receipt = replay(&record(&svm)).unwrap();
    assert_eq!(receipt.result, Err(TransactionError::AddressLookupTableNotFound));
    for _ in 0..300 {
        svm.expire_blockhash();
    }
    let receipt = replay(&record(&svm)).unwrap();
    assert_eq!(receipt.stage, Stage::Dropped);

    svm.advance_blockhash();
    let pay = system::transfer(&payer.pubkey(), &address("bob"), 1_000_000);
    let transaction = svm.sign(&[pay], &[&payer]).unwrap();
    svm.send(&transaction).unwrap();
    let why = TransactionFixture::record(&svm, &transaction).unwrap_err().to_string();
    assert!(why.contains("processed before"), "{why}");
    assert!(matches!(TransactionFixture::parse(b"?"), Err(FixtureError::Format(_))));
    let transfer = system::transfer(&payer.pubkey(), &address("bob"), 1);
    let instruction = InstructionFixture::record(&svm, &transfer, &[]).to_bytes();
    let why = TransactionFixture::parse(&instruction).unwrap_err().to_string();
    assert_eq!(why, "not a valid fixture: it is not a transaction fixture");
}

/// Fixtures of other projects may omit builtin programs, signatures and blockhashes.
#[test]
fn replay_accepts_fixtures_without_builtins_signatures_and_blockhashes() {
    let (svm, payer) = funded();
    let pay = system::transfer(&payer.pubkey(), &address("bob"), 1_000_000);
    let transaction = svm.sign(&[pay], &[&payer]).unwrap();
    let file = TransactionFixture::record(&svm, &transaction).unwrap().to_bytes();
    let mut fixture = read(&file);
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
    TransactionFixture::parse(&fixture.to_firedancer()).unwrap().replay().unwrap();
}

#[test]
fn replay_compares_every_recorded_effect() {
    let (svm, payer) = funded();
    let pay = |amount| system::transfer(&payer.pubkey(), &address("bob"), amount);
    let right = svm.sign(&[pay(1_000_000)], &[&payer]).unwrap();
    let wrong = svm.sign(&[pay(1 << 60)], &[&payer]).unwrap();
    let [right, wrong] =
        [right, wrong].map(|it| read(&TransactionFixture::record(&svm, &it).unwrap().to_bytes()));
    type Change = fn(&mut TransactionEffects);
    let changes: [(_, Change); 11] = [
        (&right, |it| it.is_executed = false),
        (&right, |it| it.error = 1),
        (&wrong, |it| it.instruction_error += 1),
        (&wrong, |it| it.instruction_index += 1),
        (&wrong, |it| it.custom_error += 1),
        (&right, |it| it.return_data.push(0)),
        (&right, |it| it.compute_units += 1),
        (&right, |it| it.fees = Some((5_000, 1))),
        (&right, |it| it.loaded_bytes += 1),
        (&right, |it| it.accounts[1].lamports += 1),
        (&wrong, |it| it.rollback.clear()),
    ];
    for (index, (fixture, change)) in changes.into_iter().enumerate() {
        let mut fixture = fixture.clone();
        change(&mut fixture.output);
        let replayed = TransactionFixture::parse(&fixture.to_firedancer()).unwrap().replay();
        let differs = matches!(&replayed, Err(FixtureError::Differs(all)) if all.len() == 1);
        assert!(differs, "{index}: {replayed:?}");
    }
}

/// Old fixtures lack what the format did not have yet.
#[test]
fn what_a_fixture_does_not_record_is_not_compared() {
    let (svm, payer) = funded();
    let pay = svm.sign(&[system::transfer(&payer.pubkey(), &address("bob"), 1 << 60)], &[&payer]);
    let file = TransactionFixture::record(&svm, &pay.unwrap()).unwrap().to_bytes();
    let mut fixture = read(&file);
    fixture.output.fees = None;
    fixture.output.loaded_bytes = 0;
    fixture.output.rollback.clear();
    TransactionFixture::from(fixture).replay().unwrap();
}

#[test]
fn a_later_rule_explains_differences_of_fixtures_without_its_feature() {
    let (svm, payer) = funded();
    let pay = svm.sign(&[system::transfer(&payer.pubkey(), &address("bob"), 7)], &[&payer]);
    let file = TransactionFixture::record(&svm, &pay.unwrap()).unwrap().to_bytes();
    let mut fixture = read(&file);
    fixture.output.fees = Some((5_000, 1));
    let rule_of = |fixture: &selkie_fixture::TransactionFixture| {
        let fixture = TransactionFixture::from(fixture.clone());
        let receipt = fixture.prepare().run(&mut Nothing);
        fixture.later_rule(&fixture.differences(&receipt))
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
    let line = Fixture::record(&svm, "test/changed", &transaction).to_string();
    let replay = |from: &str, to: &str| {
        assert!(line.contains(from), "{line}");
        Fixture::parse(&line.replace(from, to)).unwrap().replay()
    };
    for (from, to) in [
        ("\"cu\":150", "\"cu\":151"),
        ("\"result_str\":\"Ok\"", "\"result_str\":\"AccountInUse\""),
        ("\"l\":1000000,", "\"l\":1000001,"),
        ("success\"", "failure\""),
    ] {
        let differs = matches!(replay(from, to), Err(FixtureError::Differs(all)) if all.len() == 1);
        assert!(differs, "{from}");
    }
    assert!(matches!(replay("\"tx\"", "\"xt\""), Err(FixtureError::Format(_))));
    let dropped = replay("\"already_processed\":false", "\"already_processed\":true").unwrap_err();
    let text = format!("found \"{:?}\"", TransactionError::AlreadyProcessed);
    assert!(dropped.to_string().contains(&text), "{dropped}");
}

/// Vectors recorded from mainnet's runtime.
#[test]
fn conformance_vectors_replay_as_fixtures() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../conform/tests/data/svm.jsonl");
    let text = std::fs::read_to_string(file).unwrap();
    let fixtures = text.lines().map(|line| Fixture::parse(line).unwrap());
    let whole = fixtures.filter(|fixture| !fixture.to_string().contains("\"blob:"));
    let mut count = 0;
    for fixture in whole {
        count += 1;
        if let Err(error) = fixture.replay() {
            panic!("{}: {error}", fixture.id());
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
        let file = InstructionFixture::record(&svm, &instruction, &accounts).to_bytes();
        let fixture = InstructionFixture::parse(&file).unwrap();
        let replayed = fixture.replay().unwrap();
        let processed = svm.process_instruction(&instruction, &accounts);
        assert_eq!((&replayed.result, &replayed.logs), (&processed.result, &processed.logs));
    }
    assert!(matches!(InstructionFixture::parse(b"?"), Err(FixtureError::Format(_))));
}
