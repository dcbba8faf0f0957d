//! Instructions of loader v4: effects, and errors in order.

mod common;

use common::{Setup, elf, environment, key};
use selkie_svm::{
    Account, AccountMeta, Feature, FeatureSet, InstructionError as E, sysvars::Clock,
};
use solana_sdk_ids::{
    bpf_loader, bpf_loader_deprecated, bpf_loader_upgradeable, loader_v4 as loader,
};

const AUTHORITY: u8 = 5;
const SLOT: u64 = 100;
const RETRACTED: u64 = 0;
const DEPLOYED: u64 = 1;
const FINALIZED: u64 = 2;

fn instruction(tag: u32, fields: &[&[u8]]) -> Setup {
    let mut setup =
        Setup::new(loader::ID).data(&[&[tag.to_le_bytes().as_slice()], fields].concat());
    setup.environment = environment(FeatureSet::mainnet().with(Feature::LoaderV4));
    setup.environment.sysvars.set_clock(&Clock { slot: SLOT, ..Clock::default() });
    setup
}

fn program(slot: u64, status: u64, file: &[u8]) -> Account {
    let data = [&slot.to_le_bytes(), &[AUTHORITY; 32][..], &status.to_le_bytes(), file].concat();
    Account {
        lamports: 1_000_000_000,
        data,
        owner: loader::ID,
        executable: true,
        ..Account::default()
    }
}

fn writable(byte: u8) -> AccountMeta {
    AccountMeta::new(key(byte), false)
}

fn signer(byte: u8) -> AccountMeta {
    AccountMeta::new_readonly(key(byte), true)
}

fn empty_account() -> Account {
    Account::default()
}

/// Adds the program as account 0, and its authority as a signer.
fn of(setup: Setup, account: Account) -> Setup {
    setup.with(writable(1), account).with(signer(AUTHORITY), empty_account())
}

/// Checks the errors of program and authority that all instructions have in common.
fn check_program(setup: &Setup) {
    setup.but(|it| it.accounts.truncate(1)).fail(E::MissingAccount, "");
    setup
        .but(|it| it.account(0).owner = key(7))
        .fail(E::InvalidAccountOwner, "Program not owned by loader");
    setup
        .but(|it| it.meta(0).is_writable = false)
        .fail(E::InvalidArgument, "Program is not writeable");
    setup
        .but(|it| it.meta(1).is_signer = false)
        .fail(E::MissingRequiredSignature, "Authority did not sign");
    setup
        .but(|it| it.account(0).data[8] ^= 1)
        .fail(E::IncorrectAuthority, "Incorrect authority provided");
    setup
        .but(|it| it.account(0).data[40..48].copy_from_slice(&FINALIZED.to_le_bytes()))
        .fail(E::Immutable, "Program is finalized");
}

#[test]
fn loader_v4_exists_only_with_its_feature() {
    let unknown = instruction(7, &[]);
    assert_eq!(unknown.run().compute_units, 2000);
    unknown.fail(E::InvalidInstructionData, "");
    instruction(0, &[]).fail(E::InvalidInstructionData, "");
    unknown.but(|it| it.compute_unit_limit = 1999).fail(E::ComputationalBudgetExceeded, "");
    let without = unknown.but(|it| it.environment = environment(FeatureSet::mainnet()));
    assert_eq!(without.run().result, Err(E::UnsupportedProgramId));
}

#[test]
fn write_copies_bytes_to_a_retracted_program() {
    let setup = of(
        instruction(0, &[&2_u32.to_le_bytes(), &3_u64.to_le_bytes(), b"abc"]),
        program(0, RETRACTED, &[0; 5]),
    );
    assert_eq!(setup.succeed()[0].data[48..], *b"\0\0abc");
    check_program(&setup);
    setup.but(|it| it.account(0).data.truncate(47)).fail(E::AccountDataTooSmall, "");
    setup
        .but(|it| it.account(0).data.truncate(52))
        .fail(E::AccountDataTooSmall, "Write out of bounds");
    setup.but(|it| it.data[4..8].fill(0xff)).fail(E::AccountDataTooSmall, "Write out of bounds");
    setup.but(|it| it.account(0).data[40] = 1).fail(E::InvalidArgument, "Program is not retracted");
}

#[test]
fn copy_skips_the_header_of_programs_of_every_loader() {
    let [to, from, len] = [1_u32, 2, 3].map(u32::to_le_bytes);
    let setup = of(instruction(1, &[&to, &from, &len]), program(0, RETRACTED, &[0; 4]));
    for (owner, header) in [
        (bpf_loader_deprecated::ID, 0),
        (bpf_loader::ID, 0),
        (bpf_loader_upgradeable::ID, 45),
        (loader::ID, 48),
    ] {
        let data = [&vec![7; header][..], b"..abc"].concat();
        let source = Account { lamports: 1, data, owner, ..empty_account() };
        let setup = setup.clone().with(AccountMeta::new_readonly(key(3), false), source);
        assert_eq!(setup.succeed()[0].data[48..], *b"\0abc", "{owner}");
        setup
            .but(|it| _ = it.account(2).data.pop())
            .fail(E::AccountDataTooSmall, "Read out of bounds");
        setup
            .but(|it| _ = it.account(0).data.pop())
            .fail(E::AccountDataTooSmall, "Write out of bounds");
        setup
            .but(|it| it.account(2).owner = key(7))
            .fail(E::InvalidArgument, "Source is not a program");
        setup
            .but(|it| it.account(0).data[40] = 1)
            .fail(E::InvalidArgument, "Program is not retracted");
        setup.but(|it| it.meta(2).pubkey = key(1)).fail(E::AccountBorrowFailed, "");
        check_program(&setup);
    }
    setup.fail(E::MissingAccount, "");
}

/// Returns a `SetProgramLength` instruction with a recipient.
fn set_length(len: u32, account: Account) -> Setup {
    of(instruction(2, &[&len.to_le_bytes()]), account)
        .with(writable(6), Account { lamports: 1, ..empty_account() })
}

/// The rent-exempt balance of a program with 100 bytes of file.
const REQUIRED: u64 = (48 + 100 + 128) * 5080;

#[test]
fn set_program_length_initializes_a_new_program() {
    let new = Account { lamports: REQUIRED + 5, owner: loader::ID, ..empty_account() };
    let setup = set_length(100, new);
    let accounts = setup.succeed();
    let made = Account { lamports: REQUIRED, ..program(0, RETRACTED, &[0; 100]) };
    assert_eq!(accounts[0], Account { rent_epoch: accounts[0].rent_epoch, ..made });
    assert_eq!(accounts[2].lamports, 6);
    // The recipient is optional, and the program itself does not count as one.
    for none in
        [setup.but(|it| it.accounts.truncate(2)), setup.but(|it| it.meta(2).pubkey = key(1))]
    {
        assert_eq!(none.succeed()[0].lamports, REQUIRED + 5);
    }
    setup
        .but(|it| it.account(0).owner = key(7))
        .fail(E::InvalidAccountOwner, "Program not owned by loader");
    setup
        .but(|it| it.meta(0).is_writable = false)
        .fail(E::InvalidArgument, "Program is not writeable");
    setup
        .but(|it| it.meta(1).is_signer = false)
        .fail(E::MissingRequiredSignature, "Authority did not sign");
    setup
        .but(|it| it.account(0).lamports = REQUIRED - 1)
        .fail(E::InsufficientFunds, &format!("Insufficient lamports, {REQUIRED} are required"));
    setup
        .but(|it| it.meta(2).is_writable = false)
        .fail(E::InvalidArgument, "Recipient is not writeable");
}

#[test]
fn set_program_length_resizes_and_closes_programs() {
    let setup = set_length(100, program(7, RETRACTED, &[9; 150]));
    let accounts = setup.succeed();
    assert_eq!(accounts[0].data, program(7, RETRACTED, &[9; 100]).data);
    assert_eq!((accounts[0].lamports, accounts[2].lamports), (REQUIRED, 1_000_000_001 - REQUIRED));
    let accounts = set_length(100, program(7, RETRACTED, &[9; 50])).succeed();
    let file = [[9; 50], [0; 50]].concat();
    assert_eq!(accounts[0].data, program(7, RETRACTED, &file).data);
    check_program(&setup);
    setup.but(|it| it.account(0).data[40] = 1).fail(E::InvalidArgument, "Program is not retracted");

    let closing = set_length(0, program(7, RETRACTED, &[9; 150]));
    let accounts = closing.succeed();
    assert_eq!((accounts[0].data.len(), accounts[0].lamports), (0, 0));
    assert_eq!(accounts[2].lamports, 1_000_000_001);
    closing
        .but(|it| it.accounts.truncate(2))
        .fail(E::InvalidArgument, "Closing a program requires a recipient account");
}

#[test]
fn deploy_verifies_a_retracted_program_after_the_cooldown() {
    let setup = of(instruction(3, &[]), program(0, RETRACTED, &elf()));
    assert_eq!(setup.succeed()[0].data, program(SLOT, DEPLOYED, &elf()).data);
    assert!(common::program_lines(&setup.run()).is_empty());
    check_program(&setup);
    setup
        .but(|it| it.account(0).data[40] = 1)
        .fail(E::InvalidArgument, "Destination program is not retracted");
    setup
        .but(|it| it.account(0).data[48] = 0)
        .fail(E::InvalidAccountData, "Failed to parse ELF file: invalid file header");
    let again = |slot| of(instruction(3, &[]), program(slot, RETRACTED, &elf()));
    again(SLOT).fail(E::InvalidArgument, "Program was deployed recently, cooldown still in effect");
    assert_eq!(again(SLOT - 1).succeed()[0].data, program(SLOT, DEPLOYED, &elf()).data);
}

#[test]
fn retract_requires_a_deployed_program_after_the_cooldown() {
    let of = |slot, status| of(instruction(4, &[]), program(slot, status, &elf()));
    let setup = of(SLOT - 1, DEPLOYED);
    assert_eq!(setup.succeed()[0].data, program(SLOT - 1, RETRACTED, &elf()).data);
    check_program(&setup);
    of(SLOT, DEPLOYED)
        .fail(E::InvalidArgument, "Program was deployed recently, cooldown still in effect");
    of(0, RETRACTED).fail(E::InvalidArgument, "Program is not deployed");
}

#[test]
fn transfer_authority_requires_both_signatures() {
    let setup =
        of(instruction(5, &[]), program(SLOT, DEPLOYED, &elf())).with(signer(6), empty_account());
    assert_eq!(setup.succeed()[0].data[8..40], [6; 32]);
    check_program(&setup);
    setup.but(|it| it.accounts.truncate(2)).fail(E::MissingAccount, "");
    setup
        .but(|it| it.meta(2).is_signer = false)
        .fail(E::MissingRequiredSignature, "New authority did not sign");
    setup.but(|it| it.meta(2).pubkey = key(AUTHORITY)).fail(E::InvalidArgument, "No change");
}

#[test]
fn finalize_records_a_next_version_of_the_same_authority() {
    let setup = of(instruction(6, &[]), program(SLOT, DEPLOYED, &elf()))
        .with(AccountMeta::new_readonly(key(6), false), program(0, RETRACTED, &[]));
    let data = &setup.succeed()[0].data;
    assert_eq!((&data[8..40], data[40]), (&[6; 32][..], 2));
    // A program may be its own next version.
    let own = setup.but(|it| it.meta(2).pubkey = key(1));
    assert_eq!(own.succeed()[0].data[8..40], [1; 32]);
    check_program(&setup);
    setup.but(|it| it.accounts.truncate(2)).fail(E::MissingAccount, "");
    setup
        .but(|it| it.account(0).data[40] = 0)
        .fail(E::InvalidArgument, "Program must be deployed to be finalized");
    setup
        .but(|it| it.account(2).owner = key(7))
        .fail(E::InvalidAccountOwner, "Next version is not owned by loader");
    setup.but(|it| it.account(2).data.truncate(47)).fail(E::AccountDataTooSmall, "");
    setup
        .but(|it| it.account(2).data[8] ^= 1)
        .fail(E::IncorrectAuthority, "Next version has a different authority");
    setup.but(|it| it.account(2).data[40] = 2).fail(E::Immutable, "Next version is finalized");
}
