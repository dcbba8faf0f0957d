//! Instructions of the system program: effects, and errors in order.

mod common;

use common::{Setup, key};
use selkie_svm::{Account, AccountMeta, Feature, FeatureSet, InstructionError as E, Pubkey};
use sha2::{Digest, Sha256};
use solana_sdk_ids::{system_program, sysvar};

const FROM: u8 = 1;
const TO: u8 = 2;
const OWNER: u8 = 9;

fn lamports(lamports: u64) -> Account {
    Account { lamports, ..Account::default() }
}

fn signer(byte: u8) -> AccountMeta {
    AccountMeta::new(key(byte), true)
}

fn other(byte: u8) -> AccountMeta {
    AccountMeta::new(key(byte), false)
}

fn system(tag: u32, fields: &[&[u8]]) -> Setup {
    Setup::new(system_program::ID).data(&[&[tag.to_le_bytes().as_slice()], fields].concat())
}

fn string(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
}

fn with_seed(base: Pubkey, seed: &str, owner: Pubkey) -> Pubkey {
    let hash = Sha256::new().chain_update(base).chain_update(seed).chain_update(owner).finalize();
    Pubkey::new_from_array(hash.into())
}

fn amount(value: u64) -> [u8; 8] {
    value.to_le_bytes()
}

#[test]
fn instructions_are_charged_before_they_are_decoded() {
    let setup =
        system(2, &[&amount(1)]).with(signer(FROM), lamports(1)).with(other(TO), lamports(0));
    assert_eq!(setup.run().compute_units, 150);
    setup.but(|it| it.compute_unit_limit = 149).fail(E::ComputationalBudgetExceeded, "");
    assert_eq!(system(99, &[]).run().compute_units, 150);
    system(99, &[]).fail(E::InvalidInstructionData, "");
    system(2, &[&[0; 7]]).fail(E::InvalidInstructionData, "");
}

#[test]
fn create_account_funds_allocates_and_assigns() {
    let setup = system(0, &[&amount(10), &amount(8), &[OWNER; 32]])
        .with(signer(FROM), lamports(11))
        .with(signer(TO), lamports(0));
    let accounts = setup.succeed();
    assert_eq!(accounts[0].lamports, 1);
    assert_eq!(
        accounts[1],
        Account { lamports: 10, data: vec![0; 8], owner: key(OWNER), ..Account::default() }
    );

    let to = format!("Address {{ address: {}, base: None }}", key(TO));
    setup.but(|it| it.accounts.truncate(1)).fail(E::MissingAccount, "");
    setup
        .but(|it| it.account(1).lamports = 1)
        .fail(E::Custom(0), &format!("Create Account: account {to} already in use"));
    setup
        .but(|it| it.meta(1).is_signer = false)
        .fail(E::MissingRequiredSignature, &format!("Allocate: 'to' account {to} must sign"));
    for change in [|it: &mut Account| it.data.push(0), |it: &mut Account| it.owner = key(7)] {
        setup
            .but(|it| change(it.account(1)))
            .fail(E::Custom(0), &format!("Allocate: account {to} already in use"));
    }
    setup
        .but(|it| it.data[12..20].copy_from_slice(&amount(10_485_761)))
        .fail(E::Custom(3), "Allocate: requested 10485761, max allowed 10485760");
    setup.but(|it| it.meta(1).is_writable = false).fail(E::ReadonlyDataModified, "");
    setup.but(|it| it.meta(0).is_signer = false).fail(
        E::MissingRequiredSignature,
        &format!("Transfer: `from` account {} must sign", key(FROM)),
    );
    setup
        .but(|it| it.account(0).data.push(0))
        .fail(E::InvalidArgument, "Transfer: `from` must not carry data");
    setup
        .but(|it| it.account(0).lamports = 9)
        .fail(E::Custom(1), "Transfer: insufficient lamports 9, need 10");
    setup.but(|it| it.account(0).owner = key(7)).fail(E::ExternalAccountLamportSpend, "");
}

#[test]
fn create_account_accepts_the_payer_as_the_new_account() {
    system(0, &[&amount(0), &amount(0), &[OWNER; 32]])
        .with(signer(FROM), lamports(0))
        .with(signer(FROM), lamports(0))
        .succeed();
}

#[test]
fn create_account_allow_prefund_adds_to_existing_lamports() {
    let setup = system(13, &[&amount(10), &amount(8), &[OWNER; 32]])
        .with(signer(TO), lamports(5))
        .with(signer(FROM), lamports(10));
    let accounts = setup.succeed();
    assert_eq!((accounts[0].lamports, accounts[1].lamports), (15, 0));
    assert_eq!((accounts[0].owner, accounts[0].data.len()), (key(OWNER), 8));
    setup.but(|it| it.accounts.truncate(1)).fail(E::MissingAccount, "");
    let nothing = setup.but(|it| it.data[4..12].fill(0));
    nothing.but(|it| it.accounts.truncate(1)).succeed();
    let features = FeatureSet::mainnet().without(Feature::CreateAccountAllowPrefund);
    setup.but(|it| it.environment.features = features).fail(E::InvalidInstructionData, "");
}

#[test]
fn create_account_with_seed_requires_the_derived_address() {
    let address = with_seed(key(FROM), "seed", key(OWNER));
    let seed = string("seed");
    let fields: [&[u8]; 5] = [&[FROM; 32], &seed, &amount(10), &amount(8), &[OWNER; 32]];
    let setup = system(3, &fields)
        .with(signer(FROM), lamports(10))
        .with(AccountMeta::new(address, false), lamports(0));
    assert_eq!(setup.succeed()[1].owner, key(OWNER));

    setup.but(|it| it.meta(1).pubkey = key(TO)).fail(
        E::Custom(5),
        &format!("Create: address {} does not match derived address {address}", key(TO)),
    );
    setup.but(|it| it.meta(0).is_signer = false).fail(
        E::MissingRequiredSignature,
        &format!(
            "Allocate: 'to' account Address {{ address: {address}, base: Some({}) }} must sign",
            key(FROM)
        ),
    );
}

#[test]
fn invalid_seeds_fail_with_the_number_of_the_pubkey_error() {
    let run = |seed: &str, owner: [u8; 32]| {
        let seed = string(seed);
        system(10, &[&[FROM; 32], &seed, &owner]).with(signer(FROM), lamports(0))
    };
    run(&"s".repeat(33), [OWNER; 32]).fail(E::Custom(0), "");
    let mut owner = [0; 32];
    owner[11..].copy_from_slice(b"ProgramDerivedAddress");
    run("s", owner).fail(E::Custom(2), "");
    let setup = run("s", [OWNER; 32]);
    setup.but(|it| *it.data.get_mut(44).unwrap() = 0xff).fail(E::InvalidInstructionData, "");
}

#[test]
fn assign_requires_a_signature_unless_the_owner_stays() {
    let setup = system(1, &[&[OWNER; 32]]).with(signer(TO), lamports(0));
    assert_eq!(setup.succeed()[0].owner, key(OWNER));
    let to = format!("Address {{ address: {}, base: None }}", key(TO));
    let unsigned = setup.but(|it| it.meta(0).is_signer = false);
    unsigned.fail(E::MissingRequiredSignature, &format!("Assign: account {to} must sign"));
    unsigned.but(|it| it.account(0).owner = key(OWNER)).succeed();
    setup.but(|it| it.account(0).owner = key(7)).fail(E::ModifiedProgramId, "");
    setup.but(|it| it.account(0).data.push(1)).fail(E::ModifiedProgramId, "");
    setup.but(|it| it.accounts.clear()).fail(E::MissingAccount, "");
}

#[test]
fn allocate_and_assign_with_seed_need_the_signature_of_the_base() {
    let address = with_seed(key(FROM), "", key(OWNER));
    let seed = string("");
    let setup = system(9, &[&[FROM; 32], &seed, &amount(3), &[OWNER; 32]])
        .with(AccountMeta::new(address, false), lamports(0))
        .with(signer(FROM), lamports(0));
    let accounts = setup.succeed();
    assert_eq!((accounts[0].data.len(), accounts[0].owner), (3, key(OWNER)));
    let assign = setup.but(|it| it.data = system(10, &[&[FROM; 32], &seed, &[OWNER; 32]]).data);
    assert_eq!(assign.succeed()[0].owner, key(OWNER));
    let allocate = setup.but(|it| it.data = system(8, &[&amount(3)]).data);
    allocate.but(|it| it.meta(0).is_signer = true).succeed();
    allocate.fail(
        E::MissingRequiredSignature,
        &format!("Allocate: 'to' account Address {{ address: {address}, base: None }} must sign"),
    );
}

#[test]
fn transfer_moves_lamports() {
    let setup =
        system(2, &[&amount(3)]).with(signer(FROM), lamports(5)).with(other(TO), lamports(1));
    let accounts = setup.succeed();
    assert_eq!((accounts[0].lamports, accounts[1].lamports), (2, 4));
    setup.but(|it| it.meta(1).is_writable = false).fail(E::ReadonlyLamportChange, "");
    setup.but(|it| it.account(1).lamports = u64::MAX).fail(E::ArithmeticOverflow, "");
    setup.but(|it| it.meta(1).pubkey = key(FROM)).succeed();
    setup.but(|it| it.data.resize(2000, 0)).succeed();
}

#[test]
fn transfer_with_seed_needs_the_signature_of_the_base() {
    let from = with_seed(key(FROM), "s", key(OWNER));
    let seed = string("s");
    let setup = system(11, &[&amount(3), &seed, &[OWNER; 32]])
        .with(AccountMeta::new(from, false), lamports(5))
        .with(signer(FROM), lamports(0))
        .with(other(TO), lamports(0));
    assert_eq!(setup.succeed()[2].lamports, 3);
    setup.but(|it| it.meta(1).is_signer = false).fail(
        E::MissingRequiredSignature,
        &format!("Transfer: 'from' account {} must sign", key(FROM)),
    );
    setup.but(|it| it.meta(0).pubkey = key(7)).fail(
        E::Custom(5),
        &format!("Transfer: 'from' address {} does not match derived address {from}", key(7)),
    );
    setup.but(|it| it.accounts.truncate(2)).fail(E::MissingAccount, "");
}

// Nonce accounts.

const AUTHORITY: u8 = 5;
const BLOCKHASH: [u8; 32] = [0xb1; 32];

fn durable(blockhash: &[u8]) -> [u8; 32] {
    Sha256::new().chain_update(b"DURABLE_NONCE").chain_update(blockhash).finalize().into()
}

fn nonce_data(version: u32, nonce: [u8; 32]) -> Vec<u8> {
    let mut data = [version.to_le_bytes(), 1_u32.to_le_bytes()].concat();
    data.extend([[AUTHORITY; 32], nonce].concat());
    data.extend(amount(4000));
    data
}

/// Returns an instruction in an environment with recent blockhashes.
fn nonce_instruction(tag: u32, fields: &[&[u8]]) -> Setup {
    let mut setup = system(tag, fields);
    setup.environment.blockhash = BLOCKHASH.into();
    setup.environment.lamports_per_signature = 5000;
    let hashes = [amount(1).as_slice(), &BLOCKHASH, &amount(5000)].concat();
    setup.environment.sysvars.set(sysvar::recent_blockhashes::ID, &hashes).unwrap();
    setup
}

fn nonce_account(data: Vec<u8>) -> Account {
    Account { lamports: 2_000_000, data, ..Account::default() }
}

#[test]
fn initializing_a_nonce_stores_authority_and_durable_nonce() {
    let setup = nonce_instruction(6, &[&[AUTHORITY; 32]])
        .with(other(1), nonce_account(vec![0; 80]))
        .with_sysvar(sysvar::recent_blockhashes::ID)
        .with_sysvar(sysvar::rent::ID);
    let mut expected = nonce_data(1, durable(&BLOCKHASH));
    expected[72..].copy_from_slice(&amount(5000));
    assert_eq!(setup.succeed()[0].data, expected);

    let line = |what: &str| format!("Initialize nonce account: Account {} {what}", key(1));
    setup.but(|it| it.meta(1).pubkey = key(7)).fail(E::InvalidArgument, "");
    setup.but(|it| it.accounts.truncate(1)).fail(E::MissingAccount, "");
    let empty = |it: &mut Setup| {
        it.environment.sysvars.set(sysvar::recent_blockhashes::ID, &[0; 8]).unwrap();
    };
    setup.but(empty).fail(E::Custom(6), "Initialize nonce account: recent blockhash list is empty");
    setup.but(|it| it.meta(2).pubkey = key(7)).fail(E::InvalidArgument, "");
    for id in [sysvar::recent_blockhashes::ID, sysvar::rent::ID] {
        setup.but(|it| it.environment.sysvars.remove(&id)).fail(E::UnsupportedSysvar, "");
    }
    setup
        .but(|it| it.meta(0).is_writable = false)
        .fail(E::InvalidArgument, &line("must be writeable"));
    setup.but(|it| it.account(0).data[0] = 2).fail(E::InvalidAccountData, "");
    setup.but(|it| it.account(0).data.truncate(7)).fail(E::InvalidAccountData, "");
    setup
        .but(|it| it.account(0).data = nonce_data(1, [0; 32]))
        .fail(E::InvalidAccountData, &line("state is invalid"));
    setup.but(|it| it.account(0).lamports = 1).fail(
        E::InsufficientFunds,
        "Initialize nonce account: insufficient lamports 1, need 1056640",
    );
    setup.but(|it| it.account(0).data.truncate(79)).fail(E::AccountDataTooSmall, "");
    setup.but(|it| it.account(0).owner = key(7)).fail(E::ExternalAccountDataModified, "");
}

#[test]
fn advancing_a_nonce_stores_the_next_one_once_per_slot() {
    let setup = nonce_instruction(4, &[])
        .with(other(1), nonce_account(nonce_data(1, [3; 32])))
        .with_sysvar(sysvar::recent_blockhashes::ID)
        .with(signer(AUTHORITY), lamports(0));
    let data = &setup.succeed()[0].data;
    assert_eq!((&data[40..72], &data[72..]), (&durable(&BLOCKHASH)[..], &amount(5000)[..]));
    // Advancing upgrades a legacy nonce.
    let legacy = setup.but(|it| it.account(0).data = nonce_data(0, [3; 32]));
    assert_eq!(legacy.succeed()[0].data, *data);

    setup.but(|it| it.meta(2).is_signer = false).fail(
        E::MissingRequiredSignature,
        &format!("Advance nonce account: Account {} must be a signer", key(AUTHORITY)),
    );
    let advanced = setup.but(|it| it.account(0).data = nonce_data(1, durable(&BLOCKHASH)));
    advanced.fail(E::Custom(7), "Advance nonce account: nonce can only advance once per slot");
    setup.but(|it| it.account(0).data = vec![0; 80]).fail(
        E::InvalidAccountData,
        &format!("Advance nonce account: Account {} state is invalid", key(1)),
    );
    setup
        .but(|it| it.environment.sysvars = selkie_svm::Sysvars::empty())
        .fail(E::UnsupportedSysvar, "");
}

#[test]
fn withdrawing_from_a_nonce_keeps_it_rent_exempt_or_closes_it() {
    let withdraw = |lamports: u64| {
        nonce_instruction(5, &[&amount(lamports)])
            .with(other(1), nonce_account(nonce_data(1, [3; 32])))
            .with(other(TO), Account::default())
            .with_sysvar(sysvar::recent_blockhashes::ID)
            .with_sysvar(sysvar::rent::ID)
            .with(signer(AUTHORITY), Account::default())
    };
    let part = withdraw(900_000);
    assert_eq!(part.succeed()[1].lamports, 900_000);
    let unsigned = format!("Withdraw nonce account: Account {} must sign", key(AUTHORITY));
    part.but(|it| it.meta(4).is_signer = false).fail(E::MissingRequiredSignature, &unsigned);
    withdraw(943_361).fail(
        E::InsufficientFunds,
        "Withdraw nonce account: insufficient lamports 2000000, need 2000001",
    );
    withdraw(u64::MAX).fail(E::InsufficientFunds, "");

    let all = withdraw(2_000_000);
    let closed = &all.succeed()[0];
    assert_eq!((&closed.data[..8], closed.lamports), (&[1, 0, 0, 0, 0, 0, 0, 0][..], 0));
    all.but(|it| it.meta(4).is_signer = false).fail(E::MissingRequiredSignature, &unsigned);
    all.but(|it| it.account(0).data = nonce_data(1, durable(&BLOCKHASH)))
        .fail(E::Custom(7), "Withdraw nonce account: nonce can only advance once per slot");

    let never_used = withdraw(7).but(|it| it.account(0).data = vec![0; 80]);
    never_used.fail(
        E::MissingRequiredSignature,
        &format!("Withdraw nonce account: Account {} must sign", key(1)),
    );
    assert_eq!(never_used.but(|it| it.meta(0).is_signer = true).succeed()[1].lamports, 7);
    withdraw(2_000_001).but(|it| it.account(0).data = vec![0; 80]).fail(
        E::InsufficientFunds,
        "Withdraw nonce account: insufficient lamports 2000000, need 2000001",
    );
}

#[test]
fn authorizing_a_nonce_changes_its_authority() {
    let setup = nonce_instruction(7, &[&[6; 32]])
        .with(other(1), nonce_account(nonce_data(0, [3; 32])))
        .with(signer(AUTHORITY), lamports(0));
    let data = &setup.succeed()[0].data;
    assert_eq!((&data[..8], &data[8..40]), (&[0, 0, 0, 0, 1, 0, 0, 0][..], &[6; 32][..]));
    setup.but(|it| it.meta(1).is_signer = false).fail(
        E::MissingRequiredSignature,
        &format!("Authorize nonce account: Account {} must sign", key(AUTHORITY)),
    );
    setup.but(|it| it.account(0).data = vec![0; 80]).fail(
        E::InvalidAccountData,
        &format!("Authorize nonce account: Account {} state is invalid", key(1)),
    );
}

#[test]
fn upgrading_a_legacy_nonce_makes_it_durable() {
    let setup = nonce_instruction(12, &[]).with(other(1), nonce_account(nonce_data(0, [3; 32])));
    assert_eq!(setup.succeed()[0].data, nonce_data(1, durable(&[3; 32])));
    setup.but(|it| it.account(0).data = nonce_data(1, [3; 32])).fail(E::InvalidArgument, "");
    setup.but(|it| it.account(0).data = vec![0; 80]).fail(E::InvalidArgument, "");
    setup.but(|it| it.meta(0).is_writable = false).fail(E::InvalidArgument, "");
    setup.but(|it| it.account(0).owner = key(7)).fail(E::InvalidAccountOwner, "");
}
