//! Instructions of loader v3, and of v1 and v2 once disabled: effects, and errors in order.

mod common;

use common::{Setup, elf, key};
use selkie_svm::{
    Account, AccountMeta, Feature, FeatureSet, InstructionError as E, Pubkey, Release,
    find_program_address, sysvars::Clock,
};
use solana_sdk_ids::{
    bpf_loader, bpf_loader_deprecated, bpf_loader_upgradeable as loader, system_program, sysvar,
};

const AUTHORITY: u8 = 5;
const PROGRAM: u8 = 2;
const SLOT: u64 = 100;

fn instruction(tag: u32, fields: &[&[u8]]) -> Setup {
    let mut setup =
        Setup::new(loader::ID).data(&[&[tag.to_le_bytes().as_slice()], fields].concat());
    setup.environment.sysvars.set_clock(&Clock { slot: SLOT, ..Clock::default() });
    setup
}

fn owned(data: Vec<u8>) -> Account {
    Account { lamports: 1_000_000_000, data, owner: loader::ID, ..Account::default() }
}

fn option(authority: Option<u8>) -> Vec<u8> {
    authority.map_or(vec![0; 33], |byte| [vec![1], vec![byte; 32]].concat())
}

fn buffer(authority: Option<u8>, file: &[u8]) -> Account {
    owned([&[1, 0, 0, 0], option(authority).as_slice(), file].concat())
}

fn program_data(slot: u64, authority: Option<u8>, file: &[u8]) -> Account {
    owned([&[3, 0, 0, 0], slot.to_le_bytes().as_slice(), &option(authority), file].concat())
}

fn program() -> Account {
    let data = [[2, 0, 0, 0].as_slice(), program_data_key().as_ref()].concat();
    Account { executable: true, ..owned(data) }
}

fn program_data_key() -> Pubkey {
    find_program_address(&[key(PROGRAM).as_ref()], &loader::ID).unwrap().0
}

fn writable(key: Pubkey) -> AccountMeta {
    AccountMeta::new(key, false)
}

fn signer(byte: u8) -> AccountMeta {
    AccountMeta::new_readonly(key(byte), true)
}

fn empty_account() -> Account {
    Account::default()
}

#[test]
fn disabled_loaders_v1_and_v2_charge_and_fail_with_unsupported_program_id() {
    for (id, units, line) in [
        (bpf_loader_deprecated::ID, 1140, "Deprecated loader is no longer supported"),
        (bpf_loader::ID, 570, "BPF loader management instructions are no longer supported"),
    ] {
        let setup = Setup::new(id);
        assert_eq!(setup.run().compute_units, units);
        setup.fail(E::UnsupportedProgramId, line);
        setup.but(|it| it.compute_unit_limit = units - 1).fail(E::ComputationalBudgetExceeded, "");
    }
}

#[test]
fn instructions_are_charged_before_they_are_decoded() {
    let unknown = instruction(8, &[]);
    assert_eq!(unknown.run().compute_units, 2370);
    // Agave has removed Migrate and ExtendProgramChecked: no feature brings them back.
    for removed in [8, 9] {
        let all =
            instruction(removed, &[&[0; 4]]).but(|it| it.environment.features = FeatureSet::all());
        all.fail(E::InvalidInstructionData, "");
    }
    instruction(1, &[&[0; 4], &u64::MAX.to_le_bytes()]).fail(E::InvalidInstructionData, "");
    instruction(0, &[]).fail(E::MissingAccount, "");
}

#[test]
fn initialize_buffer_stores_its_authority() {
    let setup = instruction(0, &[])
        .with(writable(key(1)), owned(vec![0; 37]))
        .with(signer(9), empty_account());
    assert_eq!(setup.succeed()[0].data, buffer(Some(9), &[]).data);
    setup
        .but(|it| it.account(0).data = buffer(None, &[]).data)
        .fail(E::AccountAlreadyInitialized, "Buffer account already initialized");
    setup.but(|it| it.account(0).data = vec![0; 3]).fail(E::InvalidAccountData, "");
    setup.but(|it| it.account(0).data = vec![0; 36]).fail(E::AccountDataTooSmall, "");
    setup.but(|it| it.account(0).owner = key(7)).fail(E::ExternalAccountDataModified, "");
    setup.but(|it| it.meta(0).is_writable = false).fail(E::ReadonlyDataModified, "");
}

#[test]
fn write_copies_bytes_behind_the_header() {
    let setup = instruction(1, &[&2_u32.to_le_bytes(), &3_u64.to_le_bytes(), b"abc"])
        .with(writable(key(1)), buffer(Some(AUTHORITY), &[0; 5]))
        .with(signer(AUTHORITY), empty_account());
    assert_eq!(setup.succeed()[0].data[37..], *b"\0\0abc");
    setup
        .but(|it| it.account(0).data.truncate(41))
        .fail(E::AccountDataTooSmall, "Write overflow: 41 < 42");
    setup.but(|it| it.account(0).data[4] = 0).fail(E::Immutable, "Buffer is immutable");
    setup
        .but(|it| it.meta(1).pubkey = key(9))
        .fail(E::IncorrectAuthority, "Incorrect buffer authority provided");
    setup
        .but(|it| it.meta(1).is_signer = false)
        .fail(E::MissingRequiredSignature, "Buffer authority did not sign");
    setup
        .but(|it| *it.account(0) = program())
        .fail(E::InvalidAccountData, "Invalid Buffer account");
    setup
        .but(|it| it.data[4..8].fill(0xff))
        .fail(E::AccountDataTooSmall, "Write overflow: 42 < 4294967335");
    setup.but(|it| it.meta(0).is_writable = false).fail(E::ReadonlyDataModified, "");
}

#[test]
fn writes_are_as_long_as_a_packet_or_unbound() {
    let setup = |bytes: usize| {
        instruction(1, &[&0_u32.to_le_bytes(), &(bytes as u64).to_le_bytes(), &vec![7; bytes]])
            .with(writable(key(1)), buffer(Some(AUTHORITY), &vec![0; bytes]))
            .with(signer(AUTHORITY), empty_account())
    };
    let unbound = FeatureSet::mainnet().with(Feature::UnboundLoaderV3InstructionData);
    setup(1232 - 16).succeed();
    setup(1232 - 15).fail(E::InvalidInstructionData, "");
    let long = setup(10_000).but(|it| it.environment.features = unbound);
    assert!(long.succeed()[0].data.ends_with(&[7; 10_000]));
    // A length beyond the end, and bytes after the end.
    long.but(|it| it.data.truncate(1000)).fail(E::InvalidInstructionData, "");
    long.but(|it| it.data.push(1)).succeed();
}

fn deploy(max_len: usize) -> Setup {
    instruction(2, &[&(max_len as u64).to_le_bytes()])
        .with(
            AccountMeta::new(key(1), true),
            Account { lamports: 10_000_000_000, ..empty_account() },
        )
        .with(writable(program_data_key()), empty_account())
        .with(writable(key(PROGRAM)), owned(vec![0; 36]))
        .with(writable(key(3)), buffer(Some(AUTHORITY), &elf()))
        .with_sysvar(sysvar::rent::ID)
        .with_sysvar(sysvar::clock::ID)
        .with(
            AccountMeta::new_readonly(system_program::ID, false),
            Account {
                owner: solana_sdk_ids::native_loader::ID,
                executable: true,
                lamports: 1,
                ..empty_account()
            },
        )
        .with(signer(AUTHORITY), empty_account())
}

#[test]
fn deploy_creates_a_programdata_account_with_the_buffers_file() {
    let elf = elf();
    let setup = deploy(elf.len() + 7);
    let outcome = setup.run();
    let lines = common::program_lines(&outcome);
    assert_eq!(lines, [format!("Deployed program {}", key(PROGRAM))], "{:?}", outcome.logs);
    assert_eq!(outcome.compute_units, 2370 + 150);
    let accounts = setup.succeed();
    let file = [elf, vec![0; 7]].concat();
    assert_eq!(accounts[1].data, program_data(SLOT, Some(AUTHORITY), &file).data);
    assert_eq!(accounts[1].lamports, (45 + file.len() as u64 + 128) * 5080);
    assert_eq!((&accounts[2].data, accounts[2].executable), (&program().data, true));
    assert_eq!((accounts[3].data.len(), accounts[3].lamports), (37, 0));
    assert_eq!(accounts[0].lamports, 11_000_000_000 - accounts[1].lamports);
}

#[test]
fn deploy_checks_the_program_first_then_the_buffer() {
    let setup = deploy(elf().len());
    setup.but(|it| it.accounts.truncate(3)).fail(E::MissingAccount, "");
    setup.but(|it| it.meta(4).pubkey = key(7)).fail(E::InvalidArgument, "");
    setup.but(|it| it.meta(5).pubkey = key(7)).fail(E::InvalidArgument, "");
    setup.but(|it| it.accounts.truncate(7)).fail(E::MissingAccount, "");
    setup
        .but(|it| *it.account(2) = program())
        .fail(E::AccountAlreadyInitialized, "Program account already initialized");
    setup
        .but(|it| it.account(2).data.truncate(35))
        .fail(E::AccountDataTooSmall, "Program account too small");
    setup
        .but(|it| it.account(2).lamports = 1)
        .fail(E::ExecutableAccountNotRentExempt, "Program account not rent-exempt");
    setup
        .but(|it| it.meta(3).is_writable = false)
        .fail(E::InvalidArgument, "Buffer account not writeable");
    setup
        .but(|it| it.account(3).owner = key(7))
        .fail(E::IncorrectProgramId, "Buffer account not owned by loader");
    setup.but(|it| it.account(3).data[0] = 0).fail(E::InvalidArgument, "Invalid Buffer account");
    setup
        .but(|it| it.meta(7).pubkey = key(9))
        .fail(E::IncorrectAuthority, "Buffer and upgrade authority don't match");
    setup
        .but(|it| it.meta(7).is_signer = false)
        .fail(E::MissingRequiredSignature, "Upgrade authority did not sign");
    setup
        .but(|it| it.account(3).data.truncate(37))
        .fail(E::InvalidAccountData, "Buffer account too small");
    deploy(elf().len() - 1)
        .fail(E::AccountDataTooSmall, "Max data length is too small to hold Buffer data");
    deploy(10 * 1024 * 1024 - 44).fail(E::InvalidArgument, "Max data length is too large");
    setup
        .but(|it| it.meta(1).pubkey = key(9))
        .fail(E::InvalidArgument, "ProgramData address is not derived");
    let pays_itself = |it: &mut Setup| {
        it.meta(0).pubkey = key(3);
        *it.account(0) = it.account(3).clone();
    };
    setup.but(pays_itself).fail(E::AccountBorrowFailed, "");
    setup.but(|it| it.account(1).lamports = 1).run().result.unwrap_err();
}

#[test]
fn deploy_refuses_invalid_files_and_disabled_versions() {
    let setup = deploy(elf().len());
    setup
        .but(|it| it.account(3).data[37] = 0)
        .fail(E::InvalidAccountData, "Failed to parse ELF file: invalid file header");
    let old = FeatureSet::mainnet().with(Feature::DisableSbpfV0V1V2Deployment);
    setup.but(|it| it.environment.features = old).fail(
        E::InvalidAccountData,
        "Detected sbpf_version required by the executable which are not enabled",
    );
}

fn upgrade(len: usize) -> Setup {
    instruction(3, &[])
        .with(writable(program_data_key()), program_data(1, Some(AUTHORITY), &vec![7; len]))
        .with(writable(key(PROGRAM)), program())
        .with(writable(key(3)), buffer(Some(AUTHORITY), &elf()))
        .with(writable(key(4)), empty_account())
        .with_sysvar(sysvar::rent::ID)
        .with_sysvar(sysvar::clock::ID)
        .with(signer(AUTHORITY), empty_account())
}

#[test]
fn upgrade_replaces_the_file_and_pays_the_surplus_to_the_spill_account() {
    let elf = elf();
    let accounts = upgrade(elf.len() + 9).succeed();
    let file = [elf.clone(), vec![0; 9]].concat();
    assert_eq!(accounts[0].data, program_data(SLOT, Some(AUTHORITY), &file).data);
    let required = (45 + file.len() as u64 + 128) * 5080;
    assert_eq!((accounts[0].lamports, accounts[2].lamports), (required, 0));
    assert_eq!(accounts[3].lamports, 2_000_000_000 - required);
    assert_eq!(accounts[2].data.len(), 37);

    let resize = FeatureSet::mainnet().with(Feature::LoaderV3SetProgramDataToElfLength);
    for len in [0, elf.len() + 9] {
        let accounts = upgrade(len).but(|it| it.environment.features = resize).succeed();
        assert_eq!(accounts[0].data, program_data(SLOT, Some(AUTHORITY), &elf).data);
    }
}

#[test]
fn upgrade_checks_program_then_buffer_then_programdata() {
    let setup = upgrade(elf().len());
    setup
        .but(|it| it.meta(1).is_writable = false)
        .fail(E::InvalidArgument, "Program account not writeable");
    setup
        .but(|it| it.account(1).owner = key(7))
        .fail(E::IncorrectProgramId, "Program account not owned by loader");
    setup
        .but(|it| it.account(1).data[4] ^= 1)
        .fail(E::InvalidArgument, "Program and ProgramData account mismatch");
    setup
        .but(|it| it.account(1).data[0] = 0)
        .fail(E::InvalidAccountData, "Invalid Program account");
    setup
        .but(|it| it.account(2).data[5] ^= 1)
        .fail(E::IncorrectAuthority, "Buffer and upgrade authority don't match");
    setup
        .but(|it| it.account(0).data.truncate(45))
        .fail(E::AccountDataTooSmall, "ProgramData account not large enough");
    setup
        .but(|it| (it.account(0).lamports, it.account(2).lamports) = (1, 1))
        .fail(E::InsufficientFunds, "Buffer account balance too low to fund upgrade");
    setup
        .but(|it| it.account(0).data[0] = 0)
        .fail(E::InvalidAccountData, "Invalid ProgramData account");
    setup
        .but(|it| it.account(0).data[4..12].copy_from_slice(&SLOT.to_le_bytes()))
        .fail(E::InvalidArgument, "Program was deployed in this block already");
    setup.but(|it| it.account(0).data[12] = 0).fail(E::Immutable, "Program not upgradeable");
    setup
        .but(|it| it.account(0).data[13] ^= 1)
        .fail(E::IncorrectAuthority, "Incorrect upgrade authority provided");
    setup.but(|it| it.meta(3).pubkey = key(3)).fail(E::AccountBorrowFailed, "");
    setup.but(|it| it.meta(3).pubkey = program_data_key()).fail(E::AccountBorrowFailed, "");
}

#[test]
fn set_authority_changes_the_authority_or_removes_that_of_a_program() {
    let of = |account: Account| {
        instruction(4, &[])
            .with(writable(key(1)), account)
            .with(signer(AUTHORITY), empty_account())
            .with(AccountMeta::new_readonly(key(6), false), empty_account())
    };
    let line = format!("New authority Some({})", key(6));
    let setup = of(buffer(Some(AUTHORITY), &[]));
    assert_eq!(setup.succeed()[0].data, buffer(Some(6), &[]).data);
    assert_eq!(common::program_lines(&setup.run()), [line]);
    setup
        .but(|it| it.accounts.truncate(2))
        .fail(E::IncorrectAuthority, "Buffer authority is not optional");
    of(buffer(None, &[])).fail(E::Immutable, "Buffer is immutable");
    of(buffer(Some(9), &[])).fail(E::IncorrectAuthority, "Incorrect buffer authority provided");
    setup
        .but(|it| it.meta(1).is_signer = false)
        .fail(E::MissingRequiredSignature, "Buffer authority did not sign");

    let setup = of(program_data(SLOT, Some(AUTHORITY), &elf()));
    assert_eq!(setup.succeed()[0].data, program_data(SLOT, Some(6), &elf()).data);
    let finalized = setup.but(|it| it.accounts.truncate(2));
    assert_eq!(finalized.succeed()[0].data[12], 0);
    assert_eq!(common::program_lines(&finalized.run()), ["New authority None"]);
    let old = FeatureSet::mainnet().with(Feature::DisableSbpfV0V1V2Deployment);
    finalized.but(|it| it.environment.features = old).fail(E::InvalidAccountData, "");
    of(program_data(SLOT, None, &[])).fail(E::Immutable, "Program not upgradeable");
    of(program_data(SLOT, Some(9), &[]))
        .fail(E::IncorrectAuthority, "Incorrect upgrade authority provided");
    setup
        .but(|it| it.meta(1).is_signer = false)
        .fail(E::MissingRequiredSignature, "Upgrade authority did not sign");
    for account in [program(), owned(vec![0; 4])] {
        of(account).fail(E::InvalidArgument, "Account does not support authorities");
    }
}

#[test]
fn set_authority_checked_requires_the_new_authority_to_sign() {
    let of = |account: Account| {
        instruction(7, &[])
            .with(writable(key(1)), account)
            .with(signer(AUTHORITY), empty_account())
            .with(signer(6), empty_account())
    };
    let setup = of(buffer(Some(AUTHORITY), &[]));
    assert_eq!(setup.succeed()[0].data, buffer(Some(6), &[]).data);
    assert_eq!(common::program_lines(&setup.run()), [format!("New authority {}", key(6))]);
    setup
        .but(|it| it.meta(2).is_signer = false)
        .fail(E::MissingRequiredSignature, "New authority did not sign");
    setup.but(|it| it.accounts.truncate(2)).fail(E::MissingAccount, "");
    let without = FeatureSet::mainnet().without(Feature::SetAuthorityChecked);
    setup.but(|it| it.environment.features = without).fail(E::InvalidInstructionData, "");
    of(program_data(SLOT, None, &[])).fail(E::Immutable, "Program not upgradeable");
    of(program()).fail(E::InvalidArgument, "Account does not support authorities");
}

fn close(account: Account) -> Setup {
    instruction(5, &[])
        .with(writable(program_data_key()), account)
        .with(writable(key(9)), empty_account())
        .with(signer(AUTHORITY), empty_account())
        .with(writable(key(PROGRAM)), program())
}

#[test]
fn finalizing_an_old_version_is_explained_since_4_5() {
    let finalize = |release| {
        let mut setup = instruction(4, &[])
            .with(writable(key(1)), program_data(SLOT, Some(AUTHORITY), &elf()))
            .with(signer(AUTHORITY), empty_account());
        setup.environment.release = release;
        setup.environment.features =
            FeatureSet::mainnet().with(Feature::DisableSbpfV0V1V2Deployment);
        setup
    };
    let line = "Program targets SBPF V0, but finalizing requires SBPF V3 or newer";
    finalize(Release::V4_5).fail(E::InvalidAccountData, line);
    finalize(Release::V4_4).fail(E::InvalidAccountData, "");
    assert!(common::program_lines(&finalize(Release::V4_4).run()).is_empty());
}

#[test]
fn close_pays_out_buffers_and_programs() {
    for (account, line) in [
        (owned(vec![0; 37]), format!("Closed Uninitialized {}", program_data_key())),
        (buffer(Some(AUTHORITY), &[1]), format!("Closed Buffer {}", program_data_key())),
        (program_data(1, Some(AUTHORITY), &[1]), format!("Closed Program {}", key(PROGRAM))),
    ] {
        let setup = close(account);
        let accounts = setup.succeed();
        assert_eq!((&accounts[0].data, accounts[0].lamports), (&vec![0; 4], 0));
        assert_eq!(accounts[1].lamports, 1_000_000_000);
        assert_eq!(accounts[3], program());
        assert_eq!(common::program_lines(&setup.run()), [line]);
    }
}

#[test]
fn close_checks_accounts_and_authority_in_order() {
    let setup = close(program_data(1, Some(AUTHORITY), &[1]));
    setup
        .but(|it| it.meta(1).pubkey = program_data_key())
        .fail(E::InvalidArgument, "Recipient is the same as the account being closed");
    setup.but(|it| it.meta(0).is_writable = false).fail(E::ReadonlyLamportChange, "");
    setup.but(|it| it.accounts.truncate(3)).fail(E::MissingAccount, "");
    setup
        .but(|it| it.meta(3).is_writable = false)
        .fail(E::InvalidArgument, "Program account is not writable");
    setup
        .but(|it| it.account(3).owner = key(7))
        .fail(E::IncorrectProgramId, "Program account not owned by loader");
    close(program_data(SLOT, Some(AUTHORITY), &[1]))
        .fail(E::InvalidArgument, "Program was deployed in this block already");
    setup
        .but(|it| it.account(3).data[4] ^= 1)
        .fail(E::InvalidArgument, "ProgramData account does not match ProgramData account");
    setup.but(|it| it.account(3).data[0] = 0).fail(E::InvalidArgument, "Invalid Program account");
    close(program_data(1, None, &[])).fail(E::Immutable, "Account is immutable");
    close(program_data(1, Some(9), &[]))
        .fail(E::IncorrectAuthority, "Incorrect authority provided");
    setup
        .but(|it| it.meta(2).is_signer = false)
        .fail(E::MissingRequiredSignature, "Authority did not sign");
    close(program()).fail(E::InvalidArgument, "Account does not support closing");
}

#[test]
fn close_resizes_the_account_at_last() {
    let readonly = |release, state| {
        close(state).but(|it| {
            it.environment.release = release;
            it.meta(0).is_writable = false;
        })
    };
    let immutable = || program_data(1, None, &[1]);
    let other = || buffer(Some(9), &[1]);
    readonly(Release::V4_3, immutable()).fail(E::ReadonlyDataModified, "");
    readonly(Release::V4_4, immutable()).fail(E::Immutable, "Account is immutable");
    readonly(Release::V4_3, other()).fail(E::ReadonlyDataModified, "");
    readonly(Release::V4_4, other()).fail(E::IncorrectAuthority, "Incorrect authority provided");
    readonly(Release::V4_3, owned(vec![0; 37])).fail(E::ReadonlyDataModified, "");
    readonly(Release::V4_4, owned(vec![0; 37])).fail(E::ReadonlyLamportChange, "");
}

fn extend(bytes: u32, account: Account) -> Setup {
    instruction(6, &[&bytes.to_le_bytes()])
        .with(writable(program_data_key()), account)
        .with(writable(key(PROGRAM)), program())
        .with(
            AccountMeta::new_readonly(system_program::ID, false),
            Account {
                owner: solana_sdk_ids::native_loader::ID,
                executable: true,
                lamports: 1,
                ..empty_account()
            },
        )
        .with(
            AccountMeta::new(key(4), true),
            Account { lamports: 1_000_000_000, ..empty_account() },
        )
}

#[test]
fn extend_lengthens_the_programdata_account_and_tops_up_its_rent() {
    let setup = extend(10_240, program_data(1, Some(AUTHORITY), &elf()));
    let accounts = setup.succeed();
    let file = [elf(), vec![0; 10_240]].concat();
    assert_eq!(accounts[0].data, program_data(SLOT, Some(AUTHORITY), &file).data);
    assert_eq!(accounts[3].lamports, 1_000_000_000, "the account was rent exempt already");
    assert_eq!(
        common::program_lines(&setup.run()),
        ["Extended ProgramData account by 10240 bytes"]
    );

    let poor = setup.but(|it| it.account(0).lamports = 5);
    let accounts = poor.succeed();
    assert_eq!(accounts[0].lamports, (45 + file.len() as u64 + 128) * 5080);
    assert_eq!(poor.run().compute_units, 2370 + 150);
    poor.but(|it| it.accounts.truncate(3)).fail(E::MissingAccount, "");
    poor.but(|it| it.meta(3).is_signer = false)
        .fail(E::PrivilegeEscalation, &format!("{}'s signer privilege escalated", key(4)));
}

#[test]
fn extend_checks_accounts_length_and_state_in_order() {
    let old = || program_data(1, Some(AUTHORITY), &elf());
    let setup = extend(10_240, old());
    extend(0, old()).fail(E::InvalidInstructionData, "Additional bytes must be greater than 0");
    setup
        .but(|it| it.account(0).owner = key(7))
        .fail(E::InvalidAccountOwner, "ProgramData owner is invalid");
    setup
        .but(|it| it.meta(0).is_writable = false)
        .fail(E::InvalidArgument, "ProgramData is not writable");
    setup.but(|it| it.meta(1).pubkey = program_data_key()).fail(E::AccountBorrowFailed, "");
    setup
        .but(|it| it.meta(1).is_writable = false)
        .fail(E::InvalidArgument, "Program account is not writable");
    setup
        .but(|it| it.account(1).owner = key(7))
        .fail(E::InvalidAccountOwner, "Program account not owned by loader");
    setup
        .but(|it| it.account(1).data[4] ^= 1)
        .fail(E::InvalidArgument, "Program account does not match ProgramData account");
    setup
        .but(|it| it.account(1).data[0] = 0)
        .fail(E::InvalidAccountData, "Invalid Program account");
    let len = 45 + elf().len() + 10_485_760;
    extend(10_485_760, old()).fail(
        E::InvalidRealloc,
        &format!(
            "Extended ProgramData length of {len} bytes exceeds max account data length of \
             10485760 bytes"
        ),
    );
    let little = extend(10_239, old());
    little.fail(
        E::InvalidArgument,
        "ExtendProgram requires a minimum of 10240 additional bytes or to extend to maximum \
         size, but only 10239 were requested",
    );
    let without = FeatureSet::mainnet().without(Feature::LoaderV3MinimumExtendProgramSize);
    little.but(|it| it.environment.features = without).succeed();
    extend(10_240, owned(vec![0; 45])).fail(E::InvalidAccountData, "ProgramData state is invalid");
    extend(10_240, program_data(SLOT, Some(AUTHORITY), &elf()))
        .fail(E::InvalidArgument, "Program was extended in this block already");
    extend(10_240, program_data(1, None, &elf()))
        .fail(E::Immutable, "Cannot extend ProgramData accounts that are not upgradeable");
    setup.but(|it| it.account(0).data[45] = 0).run().result.unwrap_err();
}
