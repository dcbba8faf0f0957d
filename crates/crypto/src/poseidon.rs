//! The Poseidon hash over the scalar field of BN254, with the S-box x^5 and circom's constants
//! (agave: `solana-poseidon`).
//!
//! The constants are not stored, but generated as in the Poseidon paper, by the Grain LFSR in its
//! self-shrinking mode, when a width is first used.

use std::sync::LazyLock;

use ark_bn254::Fr;
use ark_ff::{AdditiveGroup, BigInteger, BigInteger256, Field, PrimeField};

use crate::Endianness;

/// The maximum number of inputs of a hash.
pub const INPUTS_MAX: usize = 12;

const FULL_ROUNDS: usize = 8;
/// The number of partial rounds for 1, 2, … inputs.
const PARTIAL_ROUNDS: [usize; INPUTS_MAX] = [56, 57, 56, 60, 60, 63, 64, 63, 60, 66, 60, 65];

/// Returns the hash of 1 to [`INPUTS_MAX`] inputs.
///
/// Returns `None` for another number of inputs, or if an input is not 32 bytes long (SIMD-0359) or
/// not below the field's modulus.
#[must_use]
pub fn hash(endianness: Endianness, inputs: &[&[u8]]) -> Option<[u8; 32]> {
    let constants: &Constants = CONSTANTS.get(inputs.len().checked_sub(1)?)?;
    let inputs = inputs.iter().map(|input| read(endianness, input));
    let mut state = Vec::with_capacity(INPUTS_MAX + 1);
    state.push(Fr::ZERO);
    state.extend(inputs.collect::<Option<Vec<Fr>>>()?);
    constants.permute(&mut state);
    let hash = state.first()?.into_bigint();
    let bytes = match endianness {
        Endianness::Big => hash.to_bytes_be(),
        Endianness::Little => hash.to_bytes_le(),
    };
    bytes.try_into().ok()
}

fn read(endianness: Endianness, input: &[u8]) -> Option<Fr> {
    let input: [u8; 32] = input.try_into().ok()?;
    let bits = |byte: u8| (0..8).rev().map(move |bit| byte >> bit & 1 == 1);
    let bits: Vec<bool> = match endianness {
        Endianness::Big => input.into_iter().flat_map(bits).collect(),
        Endianness::Little => input.into_iter().rev().flat_map(bits).collect(),
    };
    Fr::from_bigint(BigInteger256::from_bits_be(&bits))
}

/// The round constants and the MDS matrix for one width of the state.
struct Constants {
    /// The constants added in each round, one per element.
    rounds: Vec<Vec<Fr>>,
    /// The rows of the MDS matrix.
    matrix: Vec<Vec<Fr>>,
}

static CONSTANTS: [LazyLock<Constants>; INPUTS_MAX] = {
    macro_rules! made {
        ($($inputs:literal)*) => { [$(LazyLock::new(|| Constants::new($inputs))),*] };
    }
    made!(1 2 3 4 5 6 7 8 9 10 11 12)
};

impl Constants {
    fn new(inputs: usize) -> Self {
        let (width, partial_rounds) = (inputs + 1, PARTIAL_ROUNDS[inputs - 1]);
        let mut grain = Grain::new(width, partial_rounds);
        let rounds = FULL_ROUNDS + partial_rounds;
        let rounds = (0..rounds).map(|_| (0..width).map(|_| grain.reduced()).collect()).collect();
        // A Cauchy matrix: 1 / (x + y).
        let xs: Vec<Fr> = (0..width).map(|_| grain.any()).collect();
        let ys: Vec<Fr> = (0..width).map(|_| grain.any()).collect();
        let inverse = |x: Fr, y: Fr| {
            (x + y).inverse().expect("no sum is zero for these widths, as a test shows")
        };
        let row = |x: &Fr| ys.iter().map(|y| inverse(*x, *y)).collect();
        Self { rounds, matrix: xs.iter().map(row).collect() }
    }

    fn permute(&self, state: &mut Vec<Fr>) {
        let partial = FULL_ROUNDS / 2..self.rounds.len() - FULL_ROUNDS / 2;
        for (round, constants) in self.rounds.iter().enumerate() {
            for (element, constant) in state.iter_mut().zip(constants) {
                *element += constant;
            }
            let substituted = if partial.contains(&round) { 1 } else { state.len() };
            for element in &mut state[..substituted] {
                *element *= element.square().square();
            }
            let mix = |row: &Vec<Fr>| row.iter().zip(&*state).map(|(a, b)| *a * b).sum();
            *state = self.matrix.iter().map(mix).collect();
        }
    }
}

/// The Grain LFSR: an 80-bit shift register in self-shrinking mode, where of each pair of output
/// bits the first decides whether the second is used.
struct Grain(u128);

const GRAIN_BITS: u32 = 80;

impl Grain {
    fn new(width: usize, partial_rounds: usize) -> Self {
        // A prime field, and a power as the S-box.
        let fields = [
            (2, 1),
            (4, 0),
            (12, Fr::MODULUS_BIT_SIZE as u128),
            (12, width as u128),
            (10, FULL_ROUNDS as u128),
            (10, partial_rounds as u128),
            (30, (1 << 30) - 1),
        ];
        let state = fields.iter().fold(0, |state, (bits, value)| state << bits | value);
        let mut grain = Self(state);
        for _ in 0..160 {
            grain.step();
        }
        grain
    }

    /// Returns the register's next bit. The oldest bit is the top one.
    fn step(&mut self) -> bool {
        let taps = [0, 13, 23, 38, 51, 62];
        let bit = taps.iter().fold(0, |bit, tap| bit ^ self.0 >> (GRAIN_BITS - 1 - tap) & 1);
        self.0 = (self.0 << 1 | bit) & ((1 << GRAIN_BITS) - 1);
        bit == 1
    }

    fn bit(&mut self) -> bool {
        while !self.step() {
            self.step();
        }
        self.step()
    }

    /// Returns a number with as many bits as the modulus.
    fn number(&mut self) -> BigInteger256 {
        let bits: Vec<bool> = (0..Fr::MODULUS_BIT_SIZE).map(|_| self.bit()).collect();
        BigInteger256::from_bits_be(&bits)
    }

    /// Returns the next number that is below the modulus.
    fn reduced(&mut self) -> Fr {
        loop {
            if let Some(element) = Fr::from_bigint(self.number()) {
                return element;
            }
        }
    }

    /// Returns the next number, reduced modulo the modulus.
    fn any(&mut self) -> Fr {
        Fr::from_le_bytes_mod_order(&self.number().to_bytes_le())
    }
}
