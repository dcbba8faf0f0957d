//! Transactions of the system program: signatures, blockhashes, snapshots, time, nonces.

use selkie::{
    Account, InstructionError, Pubkey, Signer, Stage, Svm, TransactionError, address, keypair,
    system,
};

const SOL: u64 = 1_000_000_000;

fn funded(names: &[&str]) -> Svm {
    let mut svm = Svm::new();
    for name in names {
        svm.airdrop(&keypair(name).pubkey(), 10 * SOL).unwrap();
    }
    svm
}

#[test]
fn transfers_move_lamports_and_charge_the_payer() {
    let (alice, bob) = (keypair("alice"), keypair("bob"));
    let mut svm = funded(&["alice"]);
    let transfer = system::transfer(&alice.pubkey(), &bob.pubkey(), SOL);
    let receipt = svm.send_instructions(&[transfer], &[&alice]).unwrap();
    assert_eq!(svm.balance(&bob.pubkey()), SOL);
    assert_eq!(svm.balance(&alice.pubkey()), 9 * SOL - 5000);
    assert_eq!(receipt.pre_balances()[..2], [10 * SOL, 0]);
    assert_eq!(receipt.post_balances()[..2], [9 * SOL - 5000, SOL]);
    assert_eq!((receipt.compute_units, receipt.stage), (150, Stage::Executed));
    assert!(receipt.diff().contains("created\n  lamports 0 -> 1000000000 (+1000000000)"));
    assert_eq!(svm.transaction(&receipt.signature()).unwrap().compute_units, 150);
}

#[test]
fn a_processed_transaction_is_dropped() {
    let (alice, bob) = (keypair("alice"), address("bob"));
    let mut svm = funded(&["alice"]);
    let transfer = system::transfer(&alice.pubkey(), &bob, SOL);
    let transaction = svm.sign(std::slice::from_ref(&transfer), &[&alice]).unwrap();
    svm.send(&transaction).unwrap();
    let failed = svm.send(&transaction).unwrap_err();
    assert_eq!(failed.error, TransactionError::AlreadyProcessed);
    assert_eq!((failed.receipt.stage, failed.receipt.fee.total()), (Stage::Dropped, 0));
    assert!(failed.to_string().contains("help: call `advance_blockhash`"), "{failed}");
    svm.send_instructions(&[transfer], &[&alice]).unwrap();
    assert_eq!(svm.balance(&bob), 2 * SOL);
}

#[test]
fn failures_name_the_instruction_and_program() {
    let (alice, bob) = (keypair("alice"), address("bob"));
    let mut svm = funded(&["alice"]);
    let transfers =
        [SOL, 100 * SOL].map(|lamports| system::transfer(&alice.pubkey(), &bob, lamports));
    let failed = svm.send_instructions(&transfers, &[&alice]).unwrap_err();
    assert_eq!(failed.error, TransactionError::InstructionError(1, InstructionError::Custom(1)));
    assert_eq!((failed.custom(), svm.balance(&bob)), (Some(1), 0));
    assert_eq!(svm.balance(&alice.pubkey()), 10 * SOL - 5000);
    let text = failed.to_string();
    let expected = "instruction #1, depth 1, program system (11111111111111111111111111111111): \
                    custom program error: 0x1 ResultWithNegativeLamports (system)";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("insufficient lamports 8999995000, need 100000000000"), "{text}");
}

#[test]
fn a_missing_signer_is_named() {
    let (alice, bob) = (keypair("alice"), keypair("bob"));
    let mut svm = funded(&["alice", "bob"]);
    let transfer = system::transfer(&bob.pubkey(), &alice.pubkey(), SOL);
    let failed = svm.send_instructions(&[transfer], &[&alice]).unwrap_err();
    assert_eq!(failed.error, TransactionError::SignatureFailure);
    let bob = bob.pubkey();
    let note = format!(
        "note: bob ({bob}) did not sign: it is account #0 of instruction #0, of program system \
         (11111111111111111111111111111111)"
    );
    assert!(failed.to_string().contains(&note), "{failed}");
}

#[test]
fn simulations_change_nothing() {
    let (alice, bob) = (keypair("alice"), address("bob"));
    let mut svm = funded(&["alice"]);
    let transaction = svm.sign(&[system::transfer(&alice.pubkey(), &bob, SOL)], &[&alice]).unwrap();
    let simulated = svm.simulate(&transaction).unwrap();
    assert_eq!((svm.balance(&bob), svm.transactions().count()), (0, 0));
    let sent = svm.send(transaction).unwrap();
    assert_eq!(
        (&sent.logs, sent.compute_units, sent.post_balances()),
        (&simulated.logs, simulated.compute_units, simulated.post_balances())
    );
}

#[test]
fn signature_and_blockhash_checks_can_be_disabled() {
    let (alice, bob) = (keypair("alice"), address("bob"));
    let mut svm = funded(&["alice"]);
    let mut transaction =
        svm.sign(&[system::transfer(&alice.pubkey(), &bob, SOL)], &[&alice]).unwrap();
    transaction.signatures[0] = Default::default();
    let error = svm.send(&transaction).unwrap_err().error;
    assert_eq!(error, TransactionError::SignatureFailure);
    svm.expire_blockhash();
    let mut svm = svm.with_signature_checks(false);
    let error = svm.send(&transaction).unwrap_err().error;
    assert_eq!(error, TransactionError::BlockhashNotFound);
    let mut svm = svm.with_blockhash_checks(false);
    svm.send(&transaction).unwrap();
    svm.send(&transaction).unwrap();
    assert_eq!(svm.balance(&bob), 2 * SOL);
}

#[test]
fn a_blockhash_expires_after_150_newer_ones() {
    let mut svm = Svm::new();
    let first = svm.latest_blockhash();
    (0..150).for_each(|_| {
        svm.advance_blockhash();
    });
    assert!(svm.is_blockhash_valid(&first));
    svm.advance_blockhash();
    assert!(!svm.is_blockhash_valid(&first));
}

#[test]
fn wire_bytes_can_be_sent() {
    let (alice, bob) = (keypair("alice"), address("bob"));
    let mut svm = funded(&["alice"]);
    let transaction = svm.sign(&[system::transfer(&alice.pubkey(), &bob, SOL)], &[&alice]).unwrap();
    let message = transaction.message.serialize();
    let wire = [&[1][..], transaction.signatures[0].as_ref(), &message].concat();
    svm.send(&wire).unwrap();
    let failed = svm.send(&wire[1..]).unwrap_err();
    assert_eq!(failed.error, TransactionError::SanitizeFailure);
    assert_eq!(svm.balance(&bob), SOL);
}

#[test]
fn snapshots_nest() {
    let key = |n: u8| Pubkey::new_from_array([n; 32]);
    let mut svm = Svm::new();
    let whole = |svm: &Svm| {
        let accounts: Vec<(Pubkey, Account)> =
            svm.accounts().map(|(key, account)| (key, account.clone().into())).collect();
        (accounts, svm.latest_blockhash(), svm.clock(), svm.transactions().count())
    };
    let first_state = whole(&svm);
    let first = svm.snapshot();
    svm.airdrop(&key(1), 1).unwrap();
    svm.warp_to_slot(1000).unwrap();
    let second_state = whole(&svm);
    let second = svm.snapshot();
    let alice = keypair("alice");
    svm.airdrop(&alice.pubkey(), 10 * SOL).unwrap();
    svm.send_instructions(&[system::transfer(&alice.pubkey(), &key(2), SOL)], &[&alice]).unwrap();
    svm.advance_blockhash();
    assert_ne!(whole(&svm), second_state);
    svm.restore(&second).unwrap();
    assert_eq!(whole(&svm), second_state);
    svm.airdrop(&key(3), 1).unwrap();
    svm.restore(&second).unwrap();
    assert_eq!(whole(&svm), second_state);
    svm.restore(&first).unwrap();
    assert_eq!(whole(&svm), first_state);
    assert!(svm.restore(&second).is_err());
    svm.airdrop(&key(4), 1).unwrap();
    svm.restore(&first).unwrap();
    assert_eq!(whole(&svm), first_state);
    let mut other = svm.clone();
    assert!(other.restore(&first).is_err());
}

#[test]
fn dropped_snapshots_are_forgotten() {
    let mut svm = Svm::new();
    let mut last = svm.snapshot();
    for lamports in 1..100 {
        svm.airdrop(&address("somebody"), lamports).unwrap();
        last = svm.snapshot();
    }
    let balance = svm.balance(&address("somebody"));
    svm.airdrop(&address("somebody"), 7).unwrap();
    svm.restore(&last).unwrap();
    assert_eq!(svm.balance(&address("somebody")), balance);
}

#[test]
fn warping_updates_all_sysvars() {
    let mut svm = Svm::new();
    assert_eq!((svm.slot(), svm.epoch()), (1, 0));
    let start = svm.clock();
    svm.warp_to_slot(432_000 * 3 + 10).unwrap();
    let clock = svm.clock();
    assert_eq!((clock.slot, clock.epoch, clock.leader_schedule_epoch), (1_296_010, 3, 4));
    assert_eq!(clock.unix_timestamp - start.unix_timestamp, 1_296_010 / 5);
    assert_eq!(clock.unix_timestamp - clock.epoch_start_timestamp, 2);
    let hashes = svm.sysvar(&selkie::ids::sysvar::slot_hashes::ID).unwrap();
    assert_eq!(
        (hashes.len(), hashes[8..16].to_vec()),
        (8 + 512 * 40, 1_296_009_u64.to_le_bytes().to_vec())
    );
    for id in [selkie::ids::sysvar::slot_hashes::ID, selkie::ids::sysvar::clock::ID] {
        assert_eq!(svm.account(&id).unwrap().data, svm.sysvar(&id).unwrap());
    }
    assert!(svm.warp_to_slot(5).is_err());
}

#[test]
fn many_small_warps_equal_one_big_warp() {
    let (mut steps, mut leap) = (Svm::new(), Svm::new());
    (0..1000).for_each(|_| steps.warp_by_slots(1));
    leap.warp_by_slots(1000);
    assert_eq!(steps.clock(), leap.clock());
    let id = selkie::ids::sysvar::slot_hashes::ID;
    assert_eq!(steps.sysvar(&id), leap.sysvar(&id));
}

#[test]
fn sysvars_and_their_accounts_stay_equal() {
    let mut svm = Svm::new();
    let id = selkie::ids::sysvar::clock::ID;
    let mut account = svm.account(&id).unwrap();
    account.data[0] = 77;
    svm.set_account(id, account.clone()).unwrap();
    assert_eq!(svm.slot(), 77);
    account.data.truncate(3);
    assert!(svm.set_account(id, account).is_err());
    assert_eq!(svm.slot(), 77);
}

#[test]
fn nonces_advance_even_if_the_transaction_fails() {
    let (alice, nonce) = (keypair("alice"), keypair("nonce"));
    let mut svm = funded(&["alice"]);
    let instructions =
        system::create_nonce_account(&alice.pubkey(), &nonce.pubkey(), &alice.pubkey(), SOL);
    svm.send_instructions(&instructions, &[&alice, &nonce]).unwrap();
    let durable = |svm: &Svm| {
        let data = svm.account(&nonce.pubkey()).unwrap().data;
        selkie::Hash::new_from_array(data[40..72].try_into().unwrap())
    };
    svm.warp_to_slot(5000).unwrap();
    let before = durable(&svm);
    let instructions = [
        system::advance_nonce_account(&nonce.pubkey(), &alice.pubkey()),
        system::transfer(&alice.pubkey(), &address("bob"), 100 * SOL),
    ];
    let message =
        selkie::Message::new_with_blockhash(&instructions, Some(&alice.pubkey()), &before);
    let transaction =
        selkie::VersionedTransaction::try_new(selkie::VersionedMessage::Legacy(message), &[&alice])
            .unwrap();
    // The rollback of a failure with a nonce sets the payer's rent epoch to that of rent-exempt
    // accounts; other failures leave it as it is.
    let set_rent_epoch = |svm: &mut Svm| {
        let account = svm.account(&alice.pubkey()).unwrap();
        svm.set_account(alice.pubkey(), Account { rent_epoch: 7, ..account }).unwrap();
    };
    let rent_epoch = |svm: &Svm| svm.account(&alice.pubkey()).unwrap().rent_epoch;
    set_rent_epoch(&mut svm);
    svm.send_instructions(&instructions[1..], &[&alice]).unwrap_err();
    assert_eq!(rent_epoch(&svm), 7);
    let failed = svm.send(&transaction).unwrap_err();
    assert_eq!(failed.custom(), Some(1), "{failed}");
    assert_ne!(durable(&svm), before);
    assert_eq!(rent_epoch(&svm), u64::MAX);
    let again = svm.send(&transaction).unwrap_err();
    assert_eq!(again.error, TransactionError::BlockhashNotFound);
}
