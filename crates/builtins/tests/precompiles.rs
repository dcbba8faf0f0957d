//! Precompiles as the runtime calls them; `selkie-crypto` tests what they verify.

mod common;

use common::Setup;
use selkie_svm::{Feature, FeatureSet, InstructionError as E};
use solana_sdk_ids::{ed25519_program, secp256k1_program, secp256r1_program};

#[test]
fn zero_signatures_are_valid_except_for_ecdsa_precompiles() {
    for (id, expected) in [
        (ed25519_program::ID, Ok(())),
        (secp256k1_program::ID, Err(E::Custom(4))),
        (secp256r1_program::ID, Err(E::Custom(4))),
    ] {
        let outcome = Setup::new(id).data(&[&[0, 0]]).run();
        assert_eq!(
            (outcome.result, outcome.compute_units, outcome.logs),
            (expected, 0, vec![]),
            "{id}"
        );
    }
}

#[test]
fn errors_become_custom_instruction_errors() {
    for id in [ed25519_program::ID, secp256k1_program::ID, secp256r1_program::ID] {
        Setup::new(id).fail(E::Custom(4), "");
        Setup::new(id).data(&[&[1, 0, 0]]).fail(E::Custom(4), "");
    }
}

#[test]
fn a_precompile_without_its_feature_is_an_unsupported_program() {
    let features = FeatureSet::mainnet().without(Feature::Secp256r1Precompile);
    let setup = Setup::new(secp256r1_program::ID).data(&[&[0, 0]]);
    setup.but(|it| it.environment.features = features).fail(E::UnsupportedProgramId, "");
}
