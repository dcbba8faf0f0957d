//! The chain around execution: fees, lookup tables, features, loaders, history, failures that pay.

use selkie::{
    Account, AccountMeta, AddressLookupTableAccount, Check, Engine, Feature, FeatureSet,
    Instruction, Loader, Signer, Stage, Svm, TransactionError, VersionedMessage,
    VersionedTransaction, address, ids, keypair, system, v0,
};

const SOL: u64 = 1_000_000_000;

fn funded() -> Svm {
    let mut svm = Svm::new();
    svm.airdrop(&keypair("payer").pubkey(), 10 * SOL).unwrap();
    svm
}

fn budget(kind: u8, value: u64, bytes: usize) -> Instruction {
    let data = [&[kind][..], &value.to_le_bytes()[..bytes]].concat();
    Instruction { program_id: ids::compute_budget::ID, accounts: vec![], data }
}

#[test]
fn fees_include_signatures_and_priority() {
    let (payer, other) = (keypair("payer"), keypair("other"));
    let mut svm = funded().with_lamports_per_signature(7000);
    svm.airdrop(&other.pubkey(), SOL).unwrap();
    let instructions = [
        budget(2, 1000, 4),
        budget(3, 2_000_001, 8),
        system::transfer(&other.pubkey(), &address("bob"), SOL),
    ];
    let receipt = svm.send_instructions(&instructions, &[&payer, &other]).unwrap();
    assert_eq!((receipt.fee.signatures, receipt.fee.priority), (14_000, 2001));
    assert_eq!(svm.balance(&payer.pubkey()), 10 * SOL - 16_001);
    assert_eq!((receipt.compute_units, receipt.compute_unit_limit), (450, 1000));
}

#[test]
fn transactions_that_fail_to_load_pay_fees() {
    let payer = keypair("payer");
    let mut svm = funded();
    svm.airdrop(&address("no program"), SOL).unwrap();
    let instruction =
        Instruction { program_id: address("no program"), accounts: vec![], data: vec![] };
    let failed = svm.send_instructions(&[instruction], &[&payer]).unwrap_err();
    assert_eq!(failed.error, TransactionError::InvalidProgramForExecution);
    assert_eq!(failed.receipt.stage, Stage::FeesOnly);
    assert_eq!(svm.balance(&payer.pubkey()), 10 * SOL - 5000);
    assert!(failed.to_string().contains("paid its fee without being executed"), "{failed}");
    assert!(svm.transaction(&failed.receipt.signature()).is_some());
    let poor = keypair("poor");
    let transfer = system::transfer(&poor.pubkey(), &address("bob"), 1);
    let failed = svm.send_instructions(&[transfer], &[&poor]).unwrap_err();
    assert_eq!(
        (failed.error, failed.receipt.stage),
        (TransactionError::AccountNotFound, Stage::Dropped)
    );
}

#[test]
fn lookup_tables_resolve_addresses() {
    let payer = keypair("payer");
    let mut svm = funded();
    let addresses = vec![address("bob"), address("carol")];
    let mut data = vec![1, 0, 0, 0];
    data.extend(u64::MAX.to_le_bytes());
    data.resize(56, 0);
    data.extend(addresses.iter().flat_map(|key| key.to_bytes()));
    let lamports = svm.minimum_balance_for_rent_exemption(data.len());
    let owner = ids::address_lookup_table::ID;
    svm.set_account(address("table"), Account { lamports, data, owner, ..Account::default() })
        .unwrap();
    let table = AddressLookupTableAccount { key: address("table"), addresses };
    let transfers = ["bob", "carol"].map(|to| system::transfer(&payer.pubkey(), &address(to), SOL));
    let blockhash = svm.latest_blockhash();
    let message =
        v0::Message::try_compile(&payer.pubkey(), &transfers, &[table], blockhash).unwrap();
    assert_eq!(message.address_table_lookups.len(), 1);
    let transaction =
        VersionedTransaction::try_new(VersionedMessage::V0(message), &[&payer]).unwrap();
    let receipt = svm
        .send_and_assert(&transaction, Check::success().account(&address("carol")).lamports(SOL));
    assert_eq!(receipt.invocations()[1].accounts[1], address("carol"));
    // A table that does not exist is not found.
    svm.set_account(address("table"), Account::default()).unwrap();
    svm.advance_blockhash();
    let again = svm.simulate(&transaction).unwrap_err();
    assert_eq!(again.error, TransactionError::AddressLookupTableNotFound);
}

#[test]
fn features_can_be_activated_between_transactions() {
    let features = FeatureSet::mainnet().without(Feature::TransactionV1);
    let mut svm = Svm::new().with_features(features);
    assert!(!svm.features().has(Feature::TransactionV1));
    let snapshot = svm.snapshot();
    svm.activate_feature(Feature::TransactionV1);
    assert!(svm.features().has(Feature::TransactionV1));
    let account = svm.account(&Feature::TransactionV1.address()).unwrap();
    assert_eq!((account.owner, account.data), (ids::feature::ID, vec![1, 1, 0, 0, 0, 0, 0, 0, 0]));
    svm.restore(&snapshot).unwrap();
    assert!(!svm.features().has(Feature::TransactionV1));
    assert!(svm.account(&Feature::TransactionV1.address()).is_none());
}

#[test]
fn added_builtins_survive_feature_changes() {
    let mut svm = funded();
    svm.add_builtin(address("mine"), "mine", |context| context.consume(1));
    svm.activate_feature(Feature::Blake3);
    svm.deactivate_feature(Feature::TransactionV1);
    let instruction = Instruction { program_id: address("mine"), accounts: vec![], data: vec![] };
    svm.process_instruction(&instruction, &[]).assert(Check::success().compute_units(1));
}

/// Returns a small program that returns 0.
fn noop() -> Vec<u8> {
    std::fs::read(selkie_testdata::elf("2dab999bce6c")).unwrap()
}

#[test]
fn programs_run_under_every_loader_and_engine() {
    let elf = noop();
    for loader in [Loader::V1, Loader::V2, Loader::V3] {
        for engine in [Engine::Auto, Engine::Interpreter] {
            let mut svm = funded().with_engine(engine);
            svm.add_program_with_loader(address("noop"), &elf, loader).unwrap();
            let instruction = Instruction {
                program_id: address("noop"),
                accounts: vec![AccountMeta::new_readonly(address("bob"), false)],
                data: vec![],
            };
            let receipt = svm.send_instructions(&[instruction], &[&keypair("payer")]);
            assert!(receipt.unwrap().compute_units > 0, "{loader:?}");
        }
    }
}

#[test]
fn closing_a_program_requires_its_authority() {
    let elf = noop();
    let (payer, id) = (keypair("payer"), address("noop"));
    let mut svm = funded();
    svm.add_upgradeable_program(id, &elf, &payer.pubkey()).unwrap();
    let call = Instruction { program_id: id, accounts: vec![], data: vec![] };
    svm.send_instructions(std::slice::from_ref(&call), &[&payer]).unwrap();
    let data = selkie::program_data_key(&id);
    let close = Instruction {
        program_id: ids::bpf_loader_upgradeable::ID,
        accounts: vec![
            AccountMeta::new(data, false),
            AccountMeta::new(payer.pubkey(), false),
            AccountMeta::new_readonly(payer.pubkey(), true),
            AccountMeta::new(id, false),
        ],
        data: 5_u32.to_le_bytes().to_vec(),
    };
    let before = svm.snapshot();
    svm.send_instructions(&[close], &[&payer]).unwrap();
    assert!(svm.account(&data).is_none_or(|account| account.data.len() < elf.len()));
    assert!(!svm.has_program(&id));
    assert!(svm.send_instructions(std::slice::from_ref(&call), &[&payer]).is_err());
    svm.restore(&before).unwrap();
    svm.send_instructions(&[call], &[&payer]).unwrap();
}

#[test]
fn program_accounts_are_filtered_and_sorted() {
    let mut svm = Svm::new();
    let owner = address("owner");
    for n in 0..10_u8 {
        let data = vec![n; 1 + usize::from(n % 2)];
        let account = Account { lamports: 1, data, owner, ..Account::default() };
        svm.set_account(address(&n.to_string()), account).unwrap();
    }
    assert_eq!(svm.program_accounts(&owner, &[]).len(), 10);
    let found = svm.program_accounts(&owner, &[selkie::AccountFilter::DataSize(2)]);
    assert_eq!(found.len(), 5);
    assert!(found.is_sorted_by_key(|(key, _)| *key));
    let filters = [selkie::AccountFilter::Memcmp(1, &[7]), selkie::AccountFilter::DataSize(2)];
    assert_eq!(svm.program_accounts(&owner, &filters)[0].0, address("7"));
}

#[test]
fn history_is_bounded() {
    let payer = keypair("payer");
    let mut svm = funded().with_history(2);
    let receipts: Vec<_> = (1..4)
        .map(|n| {
            let transfer = system::transfer(&payer.pubkey(), &address("bob"), n * SOL);
            svm.send_instructions(&[transfer], &[&payer]).unwrap()
        })
        .collect();
    assert!(svm.transaction(&receipts[0].signature()).is_none());
    assert!(svm.transaction(&receipts[2].signature()).is_some());
    assert_eq!(svm.transactions().count(), 2);
    let mut svm = svm.with_history(0);
    svm.send_instructions(&[system::transfer(&payer.pubkey(), &address("bob"), 1)], &[&payer])
        .unwrap();
    assert_eq!(svm.transactions().count(), 0);
}

/// Evicted receipts are reused for later transactions.
#[test]
fn reused_receipts_do_not_leak_earlier_results() {
    let payer = keypair("payer");
    let fails = Instruction { program_id: ids::system_program::ID, accounts: vec![], data: vec![] };
    let unknown = Instruction { program_id: address("nobody"), accounts: vec![], data: vec![] };
    let returns = Instruction { program_id: address("returns"), accounts: vec![], data: vec![] };
    let transfer = system::transfer(&payer.pubkey(), &address("bob"), SOL / 10);
    let sent = [
        vec![transfer.clone(), returns.clone()],
        vec![fails.clone()],
        vec![transfer.clone()],
        vec![unknown],
        vec![returns.clone(), returns, transfer.clone(), fails],
        vec![transfer.clone(), transfer],
    ];
    let all = |history| {
        let mut svm = funded().with_history(history);
        svm.add_builtin(address("returns"), "returns", |context| {
            context.log("something to read");
            context.set_return_data(vec![7; 9]);
            context.consume(1)
        });
        let mut receipts = Vec::new();
        for (index, instructions) in sent.iter().cycle().take(60).enumerate() {
            let unique = budget(2, 100_000 + index as u64, 4);
            let instructions = [&instructions[..], &[unique]].concat();
            let receipt = svm.send_instructions(&instructions, &[&payer]);
            let receipt = receipt.unwrap_or_else(|failed| failed.receipt);
            let text = format!("{receipt:?}");
            // Receipts that are held must not change.
            receipts.push((text, (index % 4 == 0).then_some(receipt)));
            if index % 5 == 2 {
                let dropped = svm.send_instructions(&instructions, &[&keypair("poor")]);
                receipts.push((format!("{:?}", dropped.unwrap_err().receipt), None));
            }
        }
        for (text, receipt) in &receipts {
            assert!(receipt.as_ref().is_none_or(|receipt| format!("{receipt:?}") == *text));
        }
        receipts.into_iter().map(|(text, _)| text).collect::<Vec<_>>()
    };
    let expected = all(0);
    for history in [1, 3] {
        for (index, (text, expected)) in all(history).iter().zip(&expected).enumerate() {
            assert_eq!(text, expected, "{index}");
        }
    }
}

#[test]
fn logs_are_truncated_at_mainnets_limit() {
    let call = Instruction { program_id: address("chatty"), accounts: vec![], data: vec![] };
    let lines = |svm: Svm| {
        let mut svm = svm;
        svm.add_builtin(address("chatty"), "chatty", |context| {
            (0..100).for_each(|_| context.log("x".repeat(1000)));
            context.consume(1)
        });
        svm.process_instruction(&call, &[]).logs.len()
    };
    assert!(lines(Svm::new()) < 15);
    assert_eq!(lines(Svm::new().with_log_bytes_limit(None)), 102);
}

#[test]
fn an_svm_can_move_to_another_thread() {
    let svm = funded();
    let balance = std::thread::scope(|scope| {
        scope.spawn(|| svm.balance(&keypair("payer").pubkey())).join().unwrap()
    });
    let moved = std::thread::spawn(move || svm.balance(&keypair("payer").pubkey()));
    assert_eq!((balance, moved.join().unwrap()), (10 * SOL, 10 * SOL));
}
