//! Valid zero-knowledge proofs about encrypted amounts.
//!
//! Proofs are blinded with the system's random numbers: their bytes are the only part of a case that
//! its seed and index do not determine.

use bytemuck::bytes_of;
use solana_zk_sdk::{
    encryption::{
        elgamal::ElGamalKeypair,
        grouped_elgamal::GroupedElGamal,
        pedersen::{Pedersen, PedersenOpening},
    },
    zk_elgamal_proof_program::*,
};

/// A valid proof, and the number of the instruction that verifies it.
pub(crate) struct Proof {
    pub(crate) number: u8,
    /// The length of the statement, with which `bytes` begins.
    pub(crate) statement_bytes: usize,
    pub(crate) bytes: Vec<u8>,
}

macro_rules! proof {
    ($number:literal, $proof:expr) => {{
        let proof = $proof.expect("the statement is true");
        let statement_bytes = size_of_val(&proof.context);
        Proof { number: $number, statement_bytes, bytes: bytes_of(&proof).to_vec() }
    }};
}

/// Returns one proof for each instruction of the ZK ElGamal proof program.
pub(crate) fn proofs() -> Vec<Proof> {
    [relations(), ranges(), validities()].into_iter().flatten().collect()
}

fn relations() -> Vec<Proof> {
    let (one, other) = (ElGamalKeypair::new_rand(), ElGamalKeypair::new_rand());
    let opening = PedersenOpening::new_rand();
    let (zero, seven) = (one.pubkey().encrypt(0_u64), one.pubkey().encrypt(7_u64));
    let same = other.pubkey().encrypt_with(7_u64, &opening);
    let commitment = Pedersen::with(7_u64, &opening);
    let (capped, capped_opening) = Pedersen::new(3_u64);
    let (delta, delta_opening) = Pedersen::new(0_u64);
    vec![
        proof!(1, build_zero_ciphertext_proof_data(&one, &zero)),
        proof!(
            2,
            build_ciphertext_ciphertext_equality_proof_data(
                &one,
                other.pubkey(),
                &seven,
                &same,
                &opening,
                7,
            )
        ),
        proof!(
            3,
            build_ciphertext_commitment_equality_proof_data(&one, &seven, &commitment, &opening, 7,)
        ),
        proof!(4, build_pubkey_validity_proof_data(&one)),
        proof!(
            5,
            build_percentage_with_cap_proof_data(
                &capped,
                &capped_opening,
                3,
                &delta,
                &delta_opening,
                0,
                &delta,
                &delta_opening,
                3,
            )
        ),
    ]
}

fn ranges() -> Vec<Proof> {
    let (one, opening) = Pedersen::new(9_u64);
    let of = |count: usize, bits| {
        (vec![&one; count], vec![9; count], vec![bits; count], vec![&opening; count])
    };
    let (short, middle, long) = (of(1, 64), of(2, 64), of(4, 64));
    vec![
        proof!(6, build_batched_range_proof_u64_data(short.0, short.1, short.2, short.3)),
        proof!(7, build_batched_range_proof_u128_data(middle.0, middle.1, middle.2, middle.3)),
        proof!(8, build_batched_range_proof_u256_data(long.0, long.1, long.2, long.3)),
    ]
}

fn validities() -> Vec<Proof> {
    let keys = [(); 3].map(|()| ElGamalKeypair::new_rand());
    let [one, two, three] = [&keys[0], &keys[1], &keys[2]].map(|it| it.pubkey());
    let openings = [PedersenOpening::new_rand(), PedersenOpening::new_rand()];
    let [low, high] = &openings;
    let for_two = |amount: u64, opening| GroupedElGamal::encrypt_with([one, two], amount, opening);
    let for_three =
        |amount: u64, opening| GroupedElGamal::encrypt_with([one, two, three], amount, opening);
    let (low2, high2, low3, high3) =
        (for_two(5, low), for_two(6, high), for_three(5, low), for_three(6, high));
    vec![
        proof!(9, build_grouped_ciphertext_2_handles_validity_proof_data(one, two, &low2, 5, low)),
        proof!(
            10,
            build_batched_grouped_ciphertext_2_handles_validity_proof_data(
                one, two, &low2, &high2, 5, 6, low, high,
            )
        ),
        proof!(
            11,
            build_grouped_ciphertext_3_handles_validity_proof_data(one, two, three, &low3, 5, low,)
        ),
        proof!(
            12,
            build_batched_grouped_ciphertext_3_handles_validity_proof_data(
                one, two, three, &low3, &high3, 5, 6, low, high,
            )
        ),
    ]
}
