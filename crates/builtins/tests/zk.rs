//! The ZK ElGamal proof program, apart from the proofs themselves.

mod common;

use common::{Setup, key, program_lines};
use selkie_svm::{Account, AccountMeta, Feature, FeatureSet, InstructionError as E};
use solana_sdk_ids::{system_program, zk_elgamal_proof_program as zk};

#[test]
fn proofs_are_charged_before_they_are_decoded() {
    let setup = Setup::new(zk::ID).data(&[&[4]]);
    let outcome = setup.run();
    assert_eq!((outcome.compute_units, program_lines(&outcome)[0]), (2600, "VerifyPubkeyValidity"));
    assert_eq!(outcome.result, Err(E::InvalidInstructionData));
    setup.but(|it| it.compute_unit_limit = 2599).fail(E::ComputationalBudgetExceeded, "");
    for data in [&[][..], &[13], &[255]] {
        Setup::new(zk::ID).data(&[data]).fail(E::InvalidInstructionData, "");
        assert_eq!(Setup::new(zk::ID).data(&[data]).run().compute_units, 0);
    }
}

#[cfg(not(feature = "zk"))]
#[test]
fn without_the_feature_zk_proofs_are_refused_with_a_log_line() {
    let why = "this build verifies no proofs: its feature `zk` is off";
    Setup::new(zk::ID).data(&[&[4], &[0; 96]]).fail(E::InvalidInstructionData, why);
}

#[test]
fn closing_a_context_state_account_pays_its_lamports_out() {
    let data = [[5; 32].as_slice(), &[4], &[0; 32]].concat();
    let account = Account { lamports: 7, data, owner: zk::ID, ..Account::default() };
    let setup = Setup::new(zk::ID)
        .data(&[&[0]])
        .with(AccountMeta::new(key(1), false), account)
        .with(AccountMeta::new(key(2), false), Account::default())
        .with(AccountMeta::new_readonly(key(5), true), Account::default());
    let accounts = setup.succeed();
    assert_eq!((&accounts[0], accounts[1].lamports), (&Account::default(), 7));
    assert_eq!(accounts[0].owner, system_program::ID);
    assert_eq!(setup.run().compute_units, 3300);

    let line = "CloseContextState";
    setup.but(|it| it.accounts.truncate(2)).fail(E::MissingAccount, line);
    setup.but(|it| it.meta(2).is_signer = false).fail(E::MissingRequiredSignature, line);
    setup.but(|it| it.meta(1).pubkey = key(1)).fail(E::InvalidInstructionData, line);
    setup.but(|it| it.account(0).owner = key(9)).fail(E::InvalidAccountOwner, line);
    setup.but(|it| it.account(0).data.truncate(32)).fail(E::InvalidAccountData, line);
    setup.but(|it| it.account(0).data[32] = 0).fail(E::UninitializedAccount, line);
    setup.but(|it| it.account(0).data[0] ^= 1).fail(E::InvalidAccountOwner, line);
    setup.but(|it| it.meta(0).is_writable = false).fail(E::ReadonlyLamportChange, line);
}

#[test]
fn the_program_is_unavailable_while_disabled_by_feature() {
    let disabled = FeatureSet::mainnet().without(Feature::ReenableZkElgamalProofProgram);
    let setup = Setup::new(zk::ID).data(&[&[0]]);
    setup
        .but(|it| it.environment.features = disabled)
        .fail(E::InvalidInstructionData, "zk-elgamal-proof program is temporarily disabled");
    let before = disabled.without(Feature::ZkElgamalProofProgram);
    setup.but(|it| it.environment = common::environment(before)).fail(E::UnsupportedProgramId, "");
}
