//! Directly processed instructions, and checks of their results.

use selkie::{
    Account, AccountMeta, Check, Instruction, InstructionError, Pubkey, Replay, Svm,
    TransactionError, address, programs, system, token,
};

fn lamports(lamports: u64) -> Account {
    Account { lamports, ..Account::default() }
}

#[test]
fn given_accounts_overlay_those_of_the_chain() {
    let (alice, bob) = (address("alice"), address("bob"));
    let mut svm = Svm::new();
    svm.airdrop(&bob, 100).unwrap();
    let transfer = system::transfer(&alice, &bob, 4);
    let receipt = svm.process_instruction(&transfer, &[(alice, lamports(10))]);
    receipt.assert(Check::success().account(&alice).lamports(6).account(&bob).lamports(104));
    assert_eq!((svm.balance(&alice), svm.balance(&bob)), (0, 100));
    svm.commit(&receipt);
    assert_eq!((svm.balance(&alice), svm.balance(&bob)), (6, 104));
    svm.process_instruction(&transfer, &[]).assert(Check::success().account(&alice).lamports(2));
    let failed = svm.process_instruction(&system::transfer(&alice, &bob, 7), &[]);
    failed.assert(Check::custom(1).account(&alice).unchanged());
    failed.assert(Check::transaction_err(TransactionError::InstructionError(
        0,
        InstructionError::Custom(1),
    )));
}

#[test]
fn every_failed_expectation_is_listed() {
    let (alice, bob) = (address("alice"), address("bob"));
    let svm = Svm::new();
    let receipt =
        svm.process_instruction(&system::transfer(&alice, &bob, 4), &[(alice, lamports(4))]);
    let check = Check::err(InstructionError::InvalidArgument)
        .compute_units(1)
        .compute_units_at_most(100)
        .return_data(&[1])
        .log_contains("greetings")
        .inner_instructions(&[(2, bob)])
        .account(&alice)
        .closed()
        .account(&bob)
        .lamports(5)
        .data(&[1])
        .data_slice(0, &[1])
        .space(1)
        .owner(&alice)
        .executable(true)
        .closed()
        .rent_exempt()
        .unchanged()
        .account(&address("stranger"))
        .lamports(0);
    let failures = receipt.check(check).unwrap_err().failures;
    let shown = format!("bob ({bob})");
    assert_eq!(svm.show(&bob), shown);
    let expected = [
        "result: expected InvalidArgument, found success",
        "compute units: expected 1, found 150",
        "compute units: expected at most 100, found 150",
        "return data: expected 1 bytes, found 0; missing 0..1: 01",
        "log: no line contains `greetings`",
        &format!("inner instructions: expected [2 {shown}], found []"),
        &format!("account {shown}: lamports: expected 5, found 4"),
        &format!("account {shown}: data: expected 1 bytes, found 0; missing 0..1: 01"),
        &format!("account {shown}: data 0..1: the data have only 0 bytes"),
        &format!("account {shown}: space: expected 1, found 0"),
        &format!(
            "account {shown}: owner: expected {}, found {}",
            svm.show(&alice),
            svm.show(&system::ID)
        ),
        &format!("account {shown}: executable: expected true, found false"),
        &format!("account {shown}: expected none, found 4 lamports"),
        &format!("account {shown}: rent: needs 650240 lamports, has 4"),
        &format!("account {shown}: changed: created\n    lamports 0 -> 4 (+4)"),
        &format!("account {}: the instructions do not refer to it", svm.show(&address("stranger"))),
    ];
    assert_eq!(failures, expected);
}

#[test]
#[should_panic(expected = "compute units: expected 1, found 150")]
fn failed_assertions_panic() {
    let alice = address("alice");
    let receipt = Svm::new().process_instruction(&system::transfer(&alice, &alice, 0), &[]);
    receipt.assert(Check::success().compute_units(1));
}

#[test]
fn instruction_chains_continue_with_changed_accounts() {
    let [alice, bob, carol] = ["alice", "bob", "carol"].map(address);
    let svm = Svm::new();
    let instructions = [
        system::transfer(&alice, &bob, 4),
        system::transfer(&bob, &carol, 3),
        system::transfer(&bob, &carol, 3),
        system::transfer(&carol, &bob, 3),
    ];
    let given = [(alice, lamports(10))];
    let receipts = svm.process_instruction_chain(&instructions, &given);
    assert_eq!(receipts.len(), 3);
    receipts[1].assert(Check::success().account(&carol).lamports(3).account(&bob).lamports(1));
    receipts[2].assert(Check::custom(1));
    // Processed together, the instructions are atomic.
    let receipt = svm.process_instructions(&instructions, &given);
    receipt.assert(Check::custom(1).account(&alice).unchanged());
    assert_eq!(receipt.invocations().len(), 3);
    assert_eq!(
        receipt
            .failed_instruction
            .as_ref()
            .map(|failed_instruction| failed_instruction.instruction_index),
        Some(2)
    );
}

#[test]
fn programs_without_given_data_come_from_the_chain() {
    let svm = Svm::new();
    let [payer, mint] = ["payer", "mint"].map(address);
    let id = programs::TOKEN.id;
    let data = token::mint_data(&payer, 0, 6);
    let rent = svm.minimum_balance_for_rent_exemption(data.len());
    let given = [
        (payer, lamports(1_000_000_000)),
        (mint, Account { lamports: rent, data, owner: id, ..Account::default() }),
    ];
    let create = token::create_associated(&id, &payer, &payer, &mint);
    let account = token::associated_address(&id, &payer, &mint);
    let receipt = svm.process_instruction(&create, &given);
    receipt.assert(
        Check::success()
            .all_rent_exempt()
            .inner_instructions(&[(2, id), (2, system::ID), (2, id), (2, id)])
            .account(&account)
            .owner(&id)
            .space(token::ACCOUNT_BYTES)
            .data_slice(32, payer.as_ref())
            .rent_exempt(),
    );
    // A program account given without its programdata account falls back to the chain's program.
    let stub = Account {
        lamports: 1,
        owner: selkie::ids::bpf_loader_upgradeable::ID,
        executable: true,
        ..Account::default()
    };
    let given = [given[0].clone(), given[1].clone(), (id, stub)];
    svm.process_instruction(&create, &given).assert(Check::success());
}

#[test]
fn instructions_may_have_more_accounts_than_a_message() {
    let program = address("program");
    let mut svm = Svm::new();
    svm.add_builtin(program, "counter", |context| {
        context.consume(1)?;
        let accounts = context.instruction().accounts.len();
        context.set_return_data(accounts.to_le_bytes().to_vec());
        Ok(())
    });
    let accounts: Vec<AccountMeta> = (0..300_u16)
        .map(|n| {
            let mut key = [0; 32];
            key[..2].copy_from_slice(&n.to_le_bytes());
            AccountMeta::new_readonly(Pubkey::new_from_array(key), false)
        })
        .collect();
    let instruction = Instruction { program_id: program, accounts, data: vec![] };
    let receipt = svm.process_instruction(&instruction, &[]);
    receipt.assert(Check::success().return_data(&300_usize.to_le_bytes()));
}

#[test]
fn a_failed_assertion_writes_a_replay_that_its_message_names() {
    let (alice, bob) = (address("alice"), address("bob"));
    let mut svm = Svm::new();
    svm.airdrop(&alice, 1).expect("it is little");
    let receipt = svm.process_instruction(&system::transfer(&alice, &bob, 2), &[]);
    let message = message_of(|| {
        receipt.assert(Check::success());
    });
    let (_, path) = message.split_once("debug: selkie debug ").expect("it names the replay");
    assert!(path.contains("target/selkie-replays"), "{path}");
    let text = std::fs::read_to_string(path).expect("it was written");
    let replay = Replay::parse(text.trim()).expect("it is a replay");
    let blobs = std::path::Path::new(path).with_file_name("blobs");
    let blob = |name: &str| std::fs::read(blobs.join(format!("{name}.bin"))).ok();
    let again = Svm::replay_with(&replay, &blob).expect("it ends as before");
    assert_eq!(again.result, receipt.result);
    // One that succeeded, too.
    let receipt = svm.process_instruction(&system::transfer(&alice, &bob, 1), &[]);
    let message = message_of(|| {
        receipt.assert(Check::custom(7));
    });
    assert!(message.contains("debug: selkie debug "), "{message}");
}

/// Returns the message of a panic.
fn message_of(panics: impl FnOnce()) -> String {
    let panics = std::panic::AssertUnwindSafe(panics);
    let failed = std::panic::catch_unwind(panics).expect_err("it panics");
    *failed.downcast().expect("its message is text")
}
