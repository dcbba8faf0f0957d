//! Instructions of loaders v1 and v2 before they were disabled.

mod common;

use common::{Setup, elf, environment, key};
use selkie_svm::{Account, AccountMeta, Feature, FeatureSet, InstructionError as E, Pubkey};
use solana_sdk_ids::{bpf_loader, bpf_loader_deprecated};

/// Each loader, its compute units, and the feature that disables it.
const LOADERS: [(Pubkey, u64, Feature); 2] = [
    (bpf_loader_deprecated::ID, 1140, Feature::DisableDeprecatedLoader),
    (bpf_loader::ID, 570, Feature::DisableBpfLoaderInstructions),
];

/// Returns an instruction of a loader that is not disabled, with a program account that signs.
fn instruction(loader: Pubkey, disabled_by: Feature, fields: &[&[u8]], file: &[u8]) -> Setup {
    let mut setup = Setup::new(loader).data(fields);
    setup.environment = environment(FeatureSet::mainnet().without(disabled_by));
    let account = Account {
        lamports: 1_000_000_000,
        data: file.to_vec(),
        owner: loader,
        ..Account::default()
    };
    setup.with(AccountMeta::new(key(1), true), account)
}

fn check(each: impl Fn(&dyn Fn(&[&[u8]], &[u8]) -> Setup)) {
    for (loader, units, disabled_by) in LOADERS {
        let make = |fields: &[&[u8]], file: &[u8]| instruction(loader, disabled_by, fields, file);
        assert_eq!(make(&[&[2, 0, 0, 0]], &[]).run().compute_units, units);
        each(&make);
    }
}

#[test]
fn the_account_is_checked_before_the_instruction_is_decoded() {
    check(|make| {
        let setup = make(&[&[2, 0, 0, 0]], &[]);
        setup.fail(E::InvalidInstructionData, "");
        setup.but(|it| it.accounts.clear()).fail(E::MissingAccount, "");
        setup
            .but(|it| it.account(0).owner = key(7))
            .fail(E::IncorrectProgramId, "Executable account not owned by the BPF loader");
    });
}

#[test]
fn write_copies_bytes_to_an_account_that_is_not_executable() {
    check(|make| {
        let fields: [&[u8]; 4] = [&[0; 4], &2_u32.to_le_bytes(), &3_u64.to_le_bytes(), b"abc"];
        let setup = make(&fields, &[0; 5]);
        assert_eq!(setup.succeed()[0].data, b"\0\0abc");
        setup
            .but(|it| it.meta(0).is_signer = false)
            .fail(E::MissingRequiredSignature, "Program account did not sign");
        setup
            .but(|it| it.account(0).data.truncate(4))
            .fail(E::AccountDataTooSmall, "Write overflow: 4 < 5");
        setup
            .but(|it| it.data[4..8].fill(0xff))
            .fail(E::AccountDataTooSmall, "Write overflow: 5 < 4294967298");
        setup.but(|it| it.meta(0).is_writable = false).fail(E::ReadonlyDataModified, "");
        setup.but(|it| it.account(0).executable = true).fail(E::ExecutableDataModified, "");
    });
}

#[test]
fn finalize_verifies_the_file_and_makes_the_account_executable() {
    check(|make| {
        let setup = make(&[&[1, 0, 0, 0]], &elf());
        let accounts = setup.succeed();
        assert_eq!((&accounts[0].data, accounts[0].executable), (&elf(), true));
        assert_eq!(common::program_lines(&setup.run()), [format!("Finalized account {}", key(1))]);
        setup
            .but(|it| it.meta(0).is_signer = false)
            .fail(E::MissingRequiredSignature, "key[0] did not sign the transaction");
        setup
            .but(|it| it.account(0).data[0] = 0)
            .fail(E::InvalidAccountData, "Failed to parse ELF file: invalid file header");
        setup.but(|it| it.account(0).lamports = 1).fail(E::ExecutableAccountNotRentExempt, "");
        setup.but(|it| it.meta(0).is_writable = false).fail(E::ExecutableModified, "");
        setup.but(|it| it.account(0).executable = true).succeed();
        // Rent exemption is decided by the bank's rent, which exists without the sysvar.
        setup.but(|it| it.environment.sysvars.remove(&solana_sdk_ids::sysvar::rent::ID)).succeed();
    });
}
