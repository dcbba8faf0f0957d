//! The ZK ElGamal proof program: valid and invalid proofs, and context state accounts.

#![cfg(feature = "zk")]

mod common;

use bytemuck::{Pod, bytes_of};
use common::{Setup, key, program_lines};
use selkie_svm::{Account, AccountMeta, InstructionError as E};
use solana_sdk_ids::zk_elgamal_proof_program as zk;
use solana_zk_sdk::{
    encryption::{
        elgamal::ElGamalKeypair,
        grouped_elgamal::GroupedElGamal,
        pedersen::{Pedersen, PedersenOpening},
    },
    zk_elgamal_proof_program as prove,
};

/// An instruction that verifies a proof, with a valid proof.
struct Case {
    number: u8,
    name: &'static str,
    compute_units: u64,
    /// The length in bytes of the statement, which comes first.
    statement: usize,
    /// Statement and proof.
    data: Vec<u8>,
    /// The error if the last scalar of the proof is changed.
    wrong: &'static str,
    /// The error if all bits of the statement's first 32 bytes are set.
    malformed: &'static str,
}

fn case<T: Pod>(
    (number, name, compute_units): (u8, &'static str, u64),
    statement: usize,
    proof: Result<T, prove::errors::ProofGenerationError>,
    errors: (&'static str, &'static str),
) -> Case {
    let data = bytes_of(&proof.unwrap()).to_vec();
    let (wrong, malformed) = errors;
    Case { number, name, compute_units, statement, data, wrong, malformed }
}

const PUBKEY: &str = "ElGamal(PubkeyDeserialization)";
const CIPHERTEXT: &str = "ElGamal(CiphertextDeserialization)";
const EQUALITY: &str = "SigmaProof(Equality, AlgebraicRelation)";
const VALIDITY: &str = "SigmaProof(ValidityProof, AlgebraicRelation)";
const RANGE: &str = "RangeProof(AlgebraicRelation)";

/// Returns a case for every instruction that verifies proofs.
fn cases() -> Vec<Case> {
    [relations(), ranges(), validities()].into_iter().flatten().collect()
}

/// Returns the cases of proofs that relate ciphertexts, commitments and keys to each other.
fn relations() -> Vec<Case> {
    let (one, other) = (ElGamalKeypair::new_rand(), ElGamalKeypair::new_rand());
    let opening = PedersenOpening::new_rand();
    let five = one.pubkey().encrypt(5_u64);
    let same = other.pubkey().encrypt_with(5_u64, &opening);
    let commitment = Pedersen::with(5_u64, &opening);
    let zero = one.pubkey().encrypt(0_u64);
    let (capped, capped_opening) = Pedersen::new(3_u64);
    let (delta, delta_opening) = Pedersen::new(0_u64);
    vec![
        case(
            (1, "VerifyZeroCiphertext", 6000),
            96,
            prove::build_zero_ciphertext_proof_data(&one, &zero),
            ("SigmaProof(ZeroCiphertext, AlgebraicRelation)", PUBKEY),
        ),
        case(
            (2, "VerifyCiphertextCiphertextEquality", 8000),
            192,
            prove::build_ciphertext_ciphertext_equality_proof_data(
                &one,
                other.pubkey(),
                &five,
                &same,
                &opening,
                5,
            ),
            (EQUALITY, PUBKEY),
        ),
        case(
            (3, "VerifyCiphertextCommitmentEquality", 6400),
            128,
            prove::build_ciphertext_commitment_equality_proof_data(
                &one,
                &five,
                &commitment,
                &opening,
                5,
            ),
            (EQUALITY, PUBKEY),
        ),
        case(
            (4, "VerifyPubkeyValidity", 2600),
            32,
            prove::build_pubkey_validity_proof_data(&one),
            ("SigmaProof(PubkeyValidity, AlgebraicRelation)", PUBKEY),
        ),
        case(
            (5, "VerifyPercentageWithCap", 6500),
            104,
            prove::build_percentage_with_cap_proof_data(
                &capped,
                &capped_opening,
                3,
                &delta,
                &delta_opening,
                0,
                &delta,
                &delta_opening,
                3,
            ),
            ("SigmaProof(PercentageWithCap, AlgebraicRelation)", CIPHERTEXT),
        ),
    ]
}

/// Returns the cases of range proofs.
fn ranges() -> Vec<Case> {
    let (commitment, opening) = Pedersen::new(5_u64);
    let four = |bits| (vec![&commitment; 4], vec![5; 4], vec![bits; 4], vec![&opening; 4]);
    let (commitments, amounts, bits, openings) = four(16);
    let u64s = prove::build_batched_range_proof_u64_data(commitments, amounts, bits, openings);
    let (commitments, amounts, bits, openings) = four(32);
    let u128s = prove::build_batched_range_proof_u128_data(commitments, amounts, bits, openings);
    let (commitments, amounts, bits, openings) = four(64);
    let u256s = prove::build_batched_range_proof_u256_data(commitments, amounts, bits, openings);
    vec![
        case((6, "VerifyBatchedRangeProofU64", 111_000), 264, u64s, (RANGE, "ProofContext")),
        case((7, "VerifyBatchedRangeProofU128", 200_000), 264, u128s, (RANGE, "ProofContext")),
        case((8, "VerifyBatchedRangeProofU256", 368_000), 264, u256s, (RANGE, "ProofContext")),
    ]
}

/// Returns the cases of proofs that a ciphertext can be decrypted by each of several keys.
fn validities() -> Vec<Case> {
    let keys = [(); 3].map(|()| ElGamalKeypair::new_rand());
    let [one, two, three] = [&keys[0], &keys[1], &keys[2]].map(|it| it.pubkey());
    let (low, high) = (PedersenOpening::new_rand(), PedersenOpening::new_rand());
    let for_two = |amount: u64, opening| GroupedElGamal::encrypt_with([one, two], amount, opening);
    let for_three =
        |amount: u64, opening| GroupedElGamal::encrypt_with([one, two, three], amount, opening);
    let (low2, high2) = (for_two(5, &low), for_two(6, &high));
    let (low3, high3) = (for_three(5, &low), for_three(6, &high));
    let name = "VerifyGroupedCiphertext2HandlesValidity";
    let two_handles =
        prove::build_grouped_ciphertext_2_handles_validity_proof_data(one, two, &low2, 5, &low);
    let batched_name = "VerifyBatchedGroupedCiphertext2HandlesValidity";
    let two_batched = prove::build_batched_grouped_ciphertext_2_handles_validity_proof_data(
        one, two, &low2, &high2, 5, 6, &low, &high,
    );
    let name3 = "VerifyGroupedCiphertext3HandlesValidity";
    let three_handles = prove::build_grouped_ciphertext_3_handles_validity_proof_data(
        one, two, three, &low3, 5, &low,
    );
    let batched_name3 = "VerifyBatchedGroupedCiphertext3HandlesValidity";
    let three_batched = prove::build_batched_grouped_ciphertext_3_handles_validity_proof_data(
        one, two, three, &low3, &high3, 5, 6, &low, &high,
    );
    let errors = (VALIDITY, PUBKEY);
    vec![
        case((9, name, 6400), 160, two_handles, errors),
        case((10, batched_name, 13_000), 256, two_batched, errors),
        case((11, name3, 8100), 224, three_handles, errors),
        case((12, batched_name3, 16_400), 352, three_batched, errors),
    ]
}

impl Case {
    /// Returns the instruction with its proof.
    fn instruction(&self) -> Setup {
        self.with_data(&self.data)
    }

    fn with_data(&self, data: &[u8]) -> Setup {
        Setup::new(zk::ID)
            .data(&[&[self.number], data])
            .but(|it| it.compute_unit_limit = self.compute_units)
    }

    /// Returns the instruction with the proof in an account, at offset 3.
    fn in_account(&self) -> Setup {
        let data = [&[1, 2, 3], self.data.as_slice()].concat();
        let account = Account { data, ..Account::default() };
        self.with_data(&[3, 0, 0, 0]).with(AccountMeta::new_readonly(key(1), false), account)
    }

    /// Adds the context state account for the statement, and its authority.
    fn writing(&self, setup: &Setup) -> Setup {
        let data = vec![0; 33 + self.statement];
        let account = Account { lamports: 7, data, owner: zk::ID, ..Account::default() };
        setup
            .clone()
            .with(AccountMeta::new(key(2), false), account)
            .with(AccountMeta::new_readonly(key(3), false), Account::default())
    }

    fn state(&self) -> Vec<u8> {
        [&[3; 32], &[self.number][..], &self.data[..self.statement]].concat()
    }
}

#[test]
fn valid_proofs_are_verified_for_their_compute_units() {
    for case in cases() {
        let outcome = case.instruction().run();
        assert_eq!(outcome.result, Ok(()), "{:#?}", outcome.logs);
        assert_eq!(
            (outcome.compute_units, program_lines(&outcome)),
            (case.compute_units, vec![case.name])
        );
        case.in_account().succeed();
        let short = case.instruction().but(|it| it.compute_unit_limit -= 1);
        short.fail(E::ComputationalBudgetExceeded, "");
    }
}

#[test]
fn invalid_proofs_are_refused_with_the_reason_in_the_log() {
    for case in cases() {
        let fail = |change: &dyn Fn(&mut Vec<u8>), error: &str| {
            let mut data = case.data.clone();
            change(&mut data);
            let line = format!("proof verification failed: {error}");
            case.with_data(&data).fail(E::InvalidInstructionData, &line);
        };
        let scalar = case.data.len() - 32;
        fail(&|data| data[scalar] ^= 1, case.wrong);
        fail(&|data| data[..32].fill(0xff), case.malformed);
        let in_account = case.in_account().but(|it| it.account(0).data[3 + scalar] ^= 1);
        let line = format!("proof verification failed: {}", case.wrong);
        in_account.fail(E::InvalidInstructionData, &line);
    }
}

#[test]
fn proofs_of_the_wrong_length_are_refused() {
    for case in cases() {
        for change in [|data: &mut Vec<u8>| data.push(0), |data: &mut Vec<u8>| data.truncate(40)] {
            let mut data = case.data.clone();
            change(&mut data);
            data.extend((data.len() == 4).then_some(0));
            case.with_data(&data).fail(E::InvalidInstructionData, "invalid proof data");
        }
        let setup = case.in_account();
        setup.but(|it| it.data[1] = 4).fail(E::InvalidAccountData, case.name);
        setup.but(|it| it.data[1..].fill(0xff)).fail(E::InvalidAccountData, case.name);
        setup.but(|it| it.accounts.clear()).fail(E::MissingAccount, case.name);
    }
}

#[test]
fn statements_are_written_to_context_state_accounts() {
    for case in cases() {
        let written = &case.writing(&case.instruction()).succeed()[0];
        assert_eq!((&written.data, written.lamports), (&case.state(), 7));
        assert_eq!(case.writing(&case.in_account()).succeed()[1].data, case.state());
    }
}

#[test]
fn context_state_accounts_are_checked_in_order() {
    let case = &relations()[3];
    let setup = case.writing(&case.instruction());
    let fail = |change: &dyn Fn(&mut Setup), error| setup.but(change).fail(error, case.name);
    fail(&|it| it.account(0).data[32] = 1, E::AccountAlreadyInitialized);
    fail(&|it| it.account(0).data.truncate(32), E::InvalidAccountData);
    fail(&|it| it.account(0).data.push(0), E::InvalidAccountData);
    fail(&|it| it.account(0).owner = key(9), E::InvalidAccountOwner);
    fail(&|it| it.meta(0).is_writable = false, E::ReadonlyDataModified);
    // The owner is checked before the type, and the type before the length.
    let change = |it: &mut Setup| it.account(0).data = vec![1; 40];
    fail(&change, E::AccountAlreadyInitialized);
    setup
        .but(change)
        .but(|it| it.account(0).owner = key(9))
        .fail(E::InvalidAccountOwner, case.name);
    // Without an authority account nothing is written, and the first account is not checked.
    setup.but(|it| it.accounts.truncate(1)).but(change).succeed();
    // The account of the proof is not counted.
    let from_account = case.writing(&case.in_account());
    from_account.but(|it| it.accounts.truncate(2)).but(|it| it.account(1).data.clear()).succeed();
}

#[test]
fn context_state_accounts_are_closed_by_their_authority() {
    let case = &relations()[0];
    let written = case.writing(&case.instruction()).succeed().swap_remove(0);
    let accounts = Setup::new(zk::ID)
        .data(&[&[0]])
        .with(AccountMeta::new(key(2), false), written)
        .with(AccountMeta::new(key(4), false), Account::default())
        .with(AccountMeta::new_readonly(key(3), true), Account::default())
        .succeed();
    assert_eq!((&accounts[0], accounts[1].lamports), (&Account::default(), 7));
}
