//! Names in receipts and replays, and explanations that name the accounts at fault.

use std::{fs, path::PathBuf};

use selkie::{
    Account, AccountMeta, ErrorSources, Instruction, InstructionError, Pubkey, Receipt, Replay,
    Signer, Svm, TransactionError, address, custom_error, ids, keypair, programs, system, token,
};

const SOL: u64 = 1_000_000_000;
/// An address that is made of no name.
const PLAIN: Pubkey = Pubkey::new_from_array([9; 32]);

fn assemble(source: &str) -> Vec<u8> {
    let output = selkie_asm::assemble(source, &selkie_asm::Options::default());
    let found = output.render(false);
    output.assembly.unwrap_or_else(|| panic!("{found}")).to_elf()
}

/// A program that returns an error of the runtime, as r0 has it, or a custom one.
fn returning(r0: u64) -> Vec<u8> {
    assemble(&format!("lddw r0, {r0:#x}\nexit"))
}

/// Calls a program that returns a value in r0 with these accounts.
fn failed(r0: u64, metas: &[AccountMeta], accounts: &[(Pubkey, Account)]) -> Receipt {
    let (program, mut svm) = (address("the program"), Svm::new());
    svm.add_program(program, returning(r0)).unwrap();
    let instruction = Instruction { program_id: program, accounts: metas.to_vec(), data: vec![] };
    svm.process_instruction(&instruction, accounts)
}

fn account(owner: Pubkey, len: usize) -> Account {
    Account { lamports: SOL, data: vec![0; len], owner, ..Account::default() }
}

#[track_caller]
fn check(receipt: &Receipt, expected: &[String]) {
    assert_eq!(receipt.explanations(), expected, "{receipt}");
    for sentence in expected {
        assert!(receipt.to_string().contains(&format!("note: {sentence}")), "{receipt}");
    }
}

#[test]
fn receipts_show_names_beside_addresses() {
    let (alice, bob) = (keypair("alice"), address("bob"));
    let (payer, mut svm) = (alice.pubkey(), Svm::new());
    svm.airdrop(&payer, SOL).unwrap();
    svm.set_name(PLAIN, "vault");
    let transfers = [&bob, &PLAIN].map(|to| system::transfer(&payer, to, SOL / 100));
    let receipt = svm.send_instructions(&transfers, &[&alice]).unwrap();
    let diff = receipt.diff();
    for line in [format!("alice ({payer})"), format!("bob ({bob})"), format!("vault ({PLAIN})")] {
        assert!(diff.contains(&line), "{diff}");
    }
    assert!(receipt.call_tree().starts_with("#0 system (11111111111111111111111111111111)"));
    // The log itself is what the runtime wrote.
    assert_eq!(receipt.logs[0], "Program 11111111111111111111111111111111 invoke [1]");
    let shown = "Program 11111111111111111111111111111111 (system) invoke [1]";
    assert!(receipt.to_string().contains(shown), "{receipt}");
}

#[test]
fn programs_have_the_names_of_their_files() {
    let folder = std::env::temp_dir().join(format!("selkie-names-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path: PathBuf = folder.join("counter.so");
    fs::write(&path, returning(0)).unwrap();
    let mut svm = Svm::new();
    svm.add_program(PLAIN, &path).unwrap();
    assert_eq!(svm.show(&PLAIN), format!("counter ({PLAIN})"));
    // A call of another address tells where the program is.
    let alice = keypair("alice");
    svm.airdrop(&alice.pubkey(), SOL).unwrap();
    let wrong = Instruction { program_id: address("counter"), accounts: vec![], data: vec![] };
    let failed = svm.send_instructions(&[wrong], &[&alice]).unwrap_err();
    let wrong = address("counter");
    check(
        &failed.receipt,
        &[
            format!("instruction #0 calls counter ({wrong}): no account is there"),
            format!("programs from files are counter ({PLAIN})"),
        ],
    );
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn names_survive_into_replays() {
    let alice = keypair("alice");
    let mut svm = Svm::new();
    svm.airdrop(&alice.pubkey(), SOL).unwrap();
    svm.set_name(PLAIN, "vault");
    let transaction =
        svm.sign(&[system::transfer(&alice.pubkey(), &PLAIN, SOL / 2)], &[&alice]).unwrap();
    let with_names = svm.send(&transaction).unwrap();
    let text = svm.record("names", &transaction).to_string();
    assert!(text.contains(&format!("\"{PLAIN}\":\"vault\"")), "{text}");
    // Well-known names are known everywhere.
    assert!(!text.contains("\"11111111111111111111111111111111\":"), "{text}");
    drop(with_names);

    let line = text.replace("\"vault\"", "\"\\u001b[2J\"");
    let replayed = |line: &str| Svm::of_replay(&Replay::parse(line).unwrap(), &|_| None).unwrap().0;
    assert_eq!(replayed(&text).show(&PLAIN), format!("vault ({PLAIN})"));
    assert_eq!(replayed(&line).show(&PLAIN), PLAIN.to_string());
    // A replay without names is as before.
    let start = text.find("\"names\":{").unwrap();
    let end = start + text[start..].find("},").unwrap() + 2;
    let old = format!("{}{}", &text[..start], &text[end..]);
    assert_eq!(replayed(&old).show(&PLAIN), PLAIN.to_string());
}

#[test]
fn custom_errors_have_names() {
    let (alice, mint, from) = (keypair("alice").pubkey(), address("mint"), address("from"));
    let id = programs::TOKEN.id;
    let source = Account {
        lamports: SOL,
        data: token::account_data(&mint, &alice, 5),
        owner: id,
        ..Account::default()
    };
    let to = address("to");
    let other =
        Account { data: token::account_data(&address("another mint"), &alice, 5), ..source };
    let transfer = token::transfer(&id, &from, &to, &alice, 1);
    let receipt = Svm::new().process_instruction(&transfer, &[(from, source), (to, other)]);
    let text = receipt.to_string();
    assert!(text.contains("custom program error: 0x3 MintMismatch (token)\n"), "{text}");
    assert_eq!(receipt.error_name().unwrap().name, "MintMismatch");
    // An error of a program of which nothing is known has none.
    let receipt = failed(3, &[], &[]);
    assert_eq!(receipt.error_name(), None);
    assert!(receipt.to_string().contains("custom program error: 0x3\n"), "{receipt}");
}

#[test]
fn descriptions_beside_a_program_name_its_errors_and_accounts() {
    let target = std::env::temp_dir().join(format!("selkie-interface-{}", std::process::id()));
    for folder in ["deploy", "idl"] {
        fs::create_dir_all(target.join(folder)).unwrap();
    }
    let idl = r#"{
        "instructions": [{ "name": "open", "discriminator": [1], "accounts": [
            { "name": "vault" }, { "name": "owner", "signer": true }
        ]}],
        "errors": [{ "code": 6001, "name": "Full", "msg": "the vault is full" }]
    }"#;
    let path = target.join("idl/jar.json");
    fs::write(&path, idl).unwrap();
    let call = |r0: u64, data: Vec<u8>| {
        let file = target.join("deploy/jar.so");
        fs::write(&file, returning(r0)).unwrap();
        let mut svm = Svm::new();
        svm.add_program(PLAIN, &file).unwrap();
        let accounts = [address("a"), address("b")];
        let accounts = accounts.map(|key| AccountMeta::new(key, false)).to_vec();
        let instruction = Instruction { program_id: PLAIN, accounts, data };
        svm.process_instruction(&instruction, &[])
    };
    let receipt = call(6001, vec![]);
    let name = format!("Full: the vault is full ({})", path.display());
    assert_eq!(receipt.error_name().unwrap().to_string(), name);
    assert!(receipt.to_string().contains(&format!("0x1771 {name}")), "{receipt}");
    // Anchor's own errors are those of a program that has such a description.
    assert_eq!(call(2006, vec![]).error_name().unwrap().to_string(), "ConstraintSeeds (anchor)");
    let owner = address("b");
    check(&call(8 << 32, vec![1]), &[format!("account #1 `owner` b ({owner}) did not sign")]);
    let sources = ErrorSources { path: Some(&target.join("deploy/jar.so")), ..Default::default() };
    assert_eq!(custom_error(&PLAIN, 6002, &sources), None);
    fs::remove_dir_all(target).unwrap();
}

#[test]
fn accounts_at_fault_are_named() {
    let (alice, vault, gone) = (address("alice"), address("vault"), address("gone"));
    let program = address("the program");
    let metas = [
        AccountMeta::new(alice, true),
        AccountMeta::new(vault, false),
        AccountMeta::new_readonly(gone, false),
    ];
    let given = [(alice, account(system::ID, 0)), (vault, account(programs::TOKEN.id, 9))];
    let named = |index: usize, name: &str| format!("#{index} {name} ({})", address(name));
    let (vault, gone) = (named(1, "vault"), named(2, "gone"));
    check(
        &failed(8 << 32, &metas, &given),
        &[format!("these accounts did not sign: {vault}, {gone}")],
    );
    check(&failed(8 << 32, &metas[..2], &given), &[format!("account {vault} did not sign")]);
    check(
        &failed(23 << 32, &metas[..2], &given),
        &[format!(
            "the program the program ({program}) does not own account {vault} of token ({})",
            programs::TOKEN.id
        )],
    );
    check(&failed(10 << 32, &metas, &given), &[format!("account {gone} does not exist")]);
    check(&failed(11 << 32, &metas, &given), &["the instruction was given 3 accounts".to_owned()]);
    // What says nothing about accounts is not explained by them.
    check(&failed(2 << 32, &metas, &given), &[]);
    check(&failed(7, &metas, &given), &[]);
    // The sender of a transfer that is too high.
    let transfer = system::transfer(&alice, &address("bob"), 2 * SOL);
    let receipt = Svm::new().process_instruction(&transfer, &given[..1]);
    check(&receipt, &[format!("account #0 alice ({alice}) has {SOL} lamports")]);
}

#[test]
fn dropped_transactions_name_their_payer() {
    let (alice, mut svm) = (keypair("alice"), Svm::new());
    let payer = alice.pubkey();
    let transfer = [system::transfer(&payer, &address("bob"), 1)];
    // Of the two addresses that a name makes, the other one has the lamports.
    svm.airdrop(&address("alice"), SOL).unwrap();
    let dropped = svm.send_instructions(&transfer, &[&alice]).unwrap_err();
    assert_eq!(dropped.error, TransactionError::AccountNotFound);
    let text = dropped.to_string();
    assert!(text.contains(&format!("note: there is no account at alice ({payer})")), "{text}");
    let other = format!("another address of the name alice, {}", address("alice"));
    assert!(text.contains(&other), "{text}");

    svm.airdrop(&payer, 4999).unwrap();
    let dropped = svm.send_instructions(&transfer, &[&alice]).unwrap_err();
    assert_eq!(dropped.error, TransactionError::InsufficientFundsForFee);
    let note = format!("the fee payer alice ({payer}) has 4999 lamports, and the fee is 5000");
    assert_eq!(dropped.receipt.notes, [note]);

    let mut owned = account(ids::vote::ID, 0);
    owned.lamports = SOL;
    svm.set_account(payer, owned).unwrap();
    let dropped = svm.send_instructions(&transfer, &[&alice]).unwrap_err();
    assert_eq!(dropped.error, TransactionError::InvalidAccountForFee);
    let note = format!("the fee payer alice ({payer}) is owned by vote ({})", ids::vote::ID);
    assert!(dropped.receipt.notes[0].starts_with(&note), "{dropped}");

    let mut transaction = svm.sign(&transfer, &[&alice]).unwrap();
    transaction.signatures[0] = Default::default();
    let dropped = svm.send(&transaction).unwrap_err();
    assert_eq!(dropped.error, TransactionError::SignatureFailure);
    assert_eq!(dropped.receipt.notes, [format!("the signature of alice ({payer}) is missing")]);
}

#[test]
fn transactions_with_too_many_accounts_name_the_limit() {
    let (alice, mut svm) = (keypair("alice"), Svm::new());
    svm.airdrop(&alice.pubkey(), SOL).unwrap();
    let many =
        (0..64).map(|it| AccountMeta::new_readonly(Pubkey::new_from_array([it + 1; 32]), false));
    let call = Instruction { program_id: system::ID, accounts: many.collect(), data: vec![] };
    let dropped = svm.send_instructions(&[call], &[&alice]).unwrap_err();
    assert_eq!(dropped.error, TransactionError::TooManyAccountLocks);
    assert_eq!(dropped.receipt.notes, ["the transaction has 66 accounts, and the limit is 64"]);
}

#[test]
fn limits_are_named_with_what_exceeds_them() {
    let (alice, mut svm) = (keypair("alice"), Svm::new());
    let payer = alice.pubkey();
    svm.airdrop(&payer, SOL).unwrap();
    let poor = system::transfer(&payer, &address("poor"), 1);
    let failed = svm.send_instructions(&[poor], &[&alice]).unwrap_err();
    assert_eq!(failed.error, TransactionError::InsufficientFundsForRent { account_index: 1 });
    let note = format!(
        "account {} (poor) would have 1 lamports, and with 0 bytes of data it needs 650240 or none",
        address("poor")
    );
    assert!(failed.to_string().contains(&note), "{failed}");

    let limit = Instruction {
        program_id: ids::compute_budget::ID,
        accounts: vec![],
        data: [&[4][..], &1000_u32.to_le_bytes()].concat(),
    };
    svm.set_account(address("big"), account(system::ID, 900)).unwrap();
    let transfer = system::transfer(&payer, &address("big"), SOL / 10);
    let failed = svm.send_instructions(&[limit, transfer], &[&alice]).unwrap_err();
    assert_eq!(failed.error, TransactionError::MaxLoadedAccountsDataSizeExceeded);
    let note = "loading stopped at 1028 bytes of accounts and programs, and the transaction's limit is \
                1000";
    assert_eq!(failed.receipt.notes, [note]);
    assert_eq!(failed.receipt.instruction_error(), None::<&InstructionError>);
}
