//! Proofs about encrypted amounts: accounts as the proof program writes them.
//!
//! Token-2022 reads from such an account which keys and ciphertexts a proof is about, and compares them
//! with its own accounts. The proof itself was checked when the account was written, so an account that
//! is put in place needs the statement only.
//!
//! All statements are about [`AMOUNT`] tokens that leave an account whose balance is the encryption of
//! zero that new accounts have. What remains is the encryption of a negative number, which no proof
//! could be about; Token-2022 cannot see that.

use curve25519_dalek::{RistrettoPoint, Scalar, constants::RISTRETTO_BASEPOINT_COMPRESSED};
use selkie::Pubkey;

/// The ElGamal key of all accounts and authorities: it has to be a point of the curve.
pub(super) const ELGAMAL_KEY: [u8; 32] = RISTRETTO_BASEPOINT_COMPRESSED.0;

/// How many tokens are transferred, withdrawn, minted or burned.
pub(super) const AMOUNT: u64 = 10;

/// The most that a transfer costs, as the mint is initialized.
pub(super) const FEE_MAX: u64 = 50;

/// The fee of 1 % for [`AMOUNT`], rounded up.
const FEE: u64 = 1;
/// By how much the fee was rounded up, in hundredths of a percent of a token.
const FEE_DELTA: u64 = 9000;

/// What a proof is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Proof {
    KeyIsValid,
    BalanceIsZero,
    /// Two encryptions are of one amount.
    SameAmount,
    /// The encrypted balance after the tokens have left.
    BalanceAfter,
    /// The encrypted supply after tokens were minted.
    SupplyAfter,
    /// The fee is the right share of the amount.
    Fee,
    BalanceInRange,
    /// Balance and amount are in range.
    AmountInRange,
    /// Balance, amount and fee are in range.
    FeeInRange,
    /// The amount is encrypted for three keys.
    AmountIsEncrypted,
    /// The fee is encrypted for two keys.
    FeeIsEncrypted,
}

impl Proof {
    pub(super) const ALL: [Self; 11] = [
        Self::KeyIsValid,
        Self::BalanceIsZero,
        Self::SameAmount,
        Self::BalanceAfter,
        Self::SupplyAfter,
        Self::Fee,
        Self::BalanceInRange,
        Self::AmountInRange,
        Self::FeeInRange,
        Self::AmountIsEncrypted,
        Self::FeeIsEncrypted,
    ];

    /// The number of the proof's kind (`ProofType` of solana-zk-elgamal-proof-interface).
    fn number(self) -> u8 {
        match self {
            Self::BalanceIsZero => 1,
            Self::SameAmount => 2,
            Self::BalanceAfter | Self::SupplyAfter => 3,
            Self::KeyIsValid => 4,
            Self::Fee => 5,
            Self::BalanceInRange => 6,
            Self::AmountInRange => 7,
            Self::FeeInRange => 8,
            Self::FeeIsEncrypted => 10,
            Self::AmountIsEncrypted => 12,
        }
    }

    /// Returns the data of the proof's account, which belongs to `authority`.
    pub(super) fn account_data(self, authority: &Pubkey) -> Vec<u8> {
        [&authority.to_bytes()[..], &[self.number()], &self.statement()].concat()
    }

    fn statement(self) -> Vec<u8> {
        let key = ELGAMAL_KEY;
        let amount = commitment(AMOUNT);
        match self {
            Self::KeyIsValid => key.to_vec(),
            Self::BalanceIsZero => [key, ZERO, ZERO].concat(),
            Self::SameAmount => [key, key, ZERO, ZERO, ZERO, ZERO].concat(),
            Self::BalanceAfter => [key, negative(AMOUNT), ZERO, ZERO].concat(),
            Self::SupplyAfter => [key, amount, ZERO, ZERO].concat(),
            Self::Fee => {
                let delta = commitment(FEE_DELTA);
                [&[commitment(FEE), delta, delta].concat()[..], &FEE_MAX.to_le_bytes()].concat()
            }
            Self::BalanceInRange => in_range(&[(ZERO, 64)]),
            Self::AmountInRange => in_range(&[(ZERO, 64), (amount, 16), (ZERO, 32), (ZERO, 16)]),
            Self::FeeInRange => in_range(&[
                (ZERO, 64),
                (amount, 16),
                (ZERO, 32),
                (commitment(FEE_DELTA), 16),
                (commitment(9999 - FEE_DELTA), 16),
                (commitment(FEE), 16),
                (ZERO, 32),
                (commitment(AMOUNT - FEE), 64),
            ]),
            // No auditor has a key. The upper bits of the amount are zero.
            Self::AmountIsEncrypted => {
                [key, key, ZERO, amount, ZERO, ZERO, ZERO, ZERO, ZERO, ZERO, ZERO].concat()
            }
            Self::FeeIsEncrypted => {
                [key, key, commitment(FEE), ZERO, ZERO, ZERO, ZERO, ZERO].concat()
            }
        }
    }
}

/// Returns the ciphertexts of the amount for an auditor: of its lower and its upper bits.
pub(super) fn auditor_ciphertexts() -> Vec<u8> {
    [commitment(AMOUNT), ZERO, ZERO, ZERO].concat()
}

/// The neutral point of the curve: a commitment to zero, or the part of a ciphertext that depends on a key.
const ZERO: [u8; 32] = [0; 32];

/// Returns a commitment to a number, opened by zero.
fn commitment(number: u64) -> [u8; 32] {
    RistrettoPoint::mul_base(&Scalar::from(number)).compress().0
}

fn negative(number: u64) -> [u8; 32] {
    RistrettoPoint::mul_base(&-Scalar::from(number)).compress().0
}

/// Returns the statement that up to eight commitments are to numbers of at most so many bits.
fn in_range(commitments: &[([u8; 32], u8)]) -> Vec<u8> {
    let points = commitments.iter().flat_map(|it| it.0).chain([0; 32 * 8]).take(32 * 8);
    let bits = commitments.iter().map(|it| it.1).chain([0; 8]).take(8);
    points.chain(bits).collect()
}
