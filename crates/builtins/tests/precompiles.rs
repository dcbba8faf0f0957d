//! Precompiles as the runtime calls them; what they verify is tested where they are.

mod common;

use common::Setup;
use selkie_svm::{Feature, FeatureSet, InstructionError as E};
use solana_sdk_ids::{ed25519_program, secp256k1_program, secp256r1_program};

#[test]
fn nothing_to_verify() {
    for (id, expected) in [
        (ed25519_program::ID, Ok(())),
        (secp256k1_program::ID, Err(E::Custom(4))),
        (secp256r1_program::ID, Err(E::Custom(4))),
    ] {
        let receipt = Setup::new(id).data(&[&[0, 0]]).run();
        assert_eq!(
            (receipt.result, receipt.compute_units, receipt.logs),
            (expected, 0, vec![]),
            "{id}"
        );
    }
}

#[test]
fn errors_are_numbers() {
    for id in [ed25519_program::ID, secp256k1_program::ID, secp256r1_program::ID] {
        Setup::new(id).fail(E::Custom(4), "");
        Setup::new(id).data(&[&[1, 0, 0]]).fail(E::Custom(4), "");
    }
}

#[test]
fn a_precompile_that_is_not_there_is_no_program() {
    let features = FeatureSet::mainnet().without(Feature::Secp256r1Precompile);
    let setup = Setup::new(secp256r1_program::ID).data(&[&[0, 0]]);
    setup.but(|it| it.environment.features = features).fail(E::UnsupportedProgramId, "");
}
