//! Every function compared with known answers of other libraries: those that agave uses, and OpenSSL
//! for secp256r1.

use selkie_crypto::{
    Endianness, big_mod_exp, bls12_381, bn254, curve25519, ed25519, poseidon,
    precompile::{self, PrecompileError},
    secp256k1,
};

const ANSWERS: &str = include_str!("../../../testdata/crypto/known_answers.txt");

/// A line `function arguments = answer`, in hex.
struct Line<'a> {
    function: &'a str,
    arguments: Vec<&'a str>,
    answer: &'a str,
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Self {
        let (call, answer) = line.split_once(" = ").expect("an answer");
        let mut words = call.split(' ');
        Self { function: words.next().expect("a function"), arguments: words.collect(), answer }
    }

    fn bytes(&self, at: usize) -> Vec<u8> {
        unhex(self.arguments[at])
    }

    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        self.bytes(at).try_into().expect("as many bytes as the function takes")
    }

    fn endianness(&self) -> Endianness {
        if self.arguments[0] == "big" { Endianness::Big } else { Endianness::Little }
    }

    fn group(&self) -> curve25519::Group {
        match self.arguments[0] {
            "edwards" => curve25519::Group::Edwards,
            _ => curve25519::Group::Ristretto,
        }
    }

    fn run(&self) -> String {
        if let Some(function) = self.function.strip_prefix("bn254.") {
            return self.bn254(function);
        }
        if let Some(function) = self.function.strip_prefix("bls12_381.") {
            return self.bls12_381(function);
        }
        if let Some(function) = self.function.strip_prefix("curve25519.") {
            return self.curve25519(function);
        }
        if let Some(function) = self.function.strip_prefix("precompile.") {
            return self.precompile(function);
        }
        match self.function {
            "poseidon.hash" => {
                let inputs: Vec<_> = (1..self.arguments.len()).map(|at| self.bytes(at)).collect();
                let inputs: Vec<_> = inputs.iter().map(Vec::as_slice).collect();
                answer(poseidon::hash(self.endianness(), &inputs))
            }
            "secp256k1.recover" => {
                let id = u64::from_be_bytes(self.array(1));
                match secp256k1::recover(&self.array(0), id, &self.array(2)) {
                    Ok(key) => answer(Some(key)),
                    Err(error) => (error as u64).to_string(),
                }
            }
            "big_mod_exp.big_mod_exp" => {
                answer(big_mod_exp::big_mod_exp(&self.bytes(0), &self.bytes(1), &self.bytes(2)))
            }
            function => panic!("there is no {function}"),
        }
    }

    fn bn254(&self, function: &str) -> String {
        let (endianness, input) = (self.endianness(), self.bytes(1));
        match function {
            "g1_add" => answer(bn254::g1_add(endianness, &input)),
            "g1_multiply" => answer(bn254::g1_multiply(endianness, &input)),
            "g2_add" => answer(bn254::g2_add(endianness, &input)),
            "g2_multiply" => answer(bn254::g2_multiply(endianness, &input)),
            "pairing" => answer(bn254::pairing(endianness, &input)),
            "g1_compress" => answer(bn254::g1_compress(endianness, &input)),
            "g2_compress" => answer(bn254::g2_compress(endianness, &input)),
            "g1_decompress" => answer(bn254::g1_decompress(endianness, &input)),
            "g2_decompress" => answer(bn254::g2_decompress(endianness, &input)),
            function => panic!("there is no {function}"),
        }
    }

    fn bls12_381(&self, function: &str) -> String {
        let endianness = self.endianness();
        match function {
            "g1_is_valid" => truth(bls12_381::g1_is_valid(endianness, &self.array(1))),
            "g2_is_valid" => truth(bls12_381::g2_is_valid(endianness, &self.array(1))),
            "g1_add" => answer(bls12_381::g1_add(endianness, &self.array(1), &self.array(2))),
            "g2_add" => answer(bls12_381::g2_add(endianness, &self.array(1), &self.array(2))),
            "g1_subtract" => {
                answer(bls12_381::g1_subtract(endianness, &self.array(1), &self.array(2)))
            }
            "g2_subtract" => {
                answer(bls12_381::g2_subtract(endianness, &self.array(1), &self.array(2)))
            }
            "g1_multiply" => {
                answer(bls12_381::g1_multiply(endianness, &self.array(1), &self.array(2)))
            }
            "g2_multiply" => {
                answer(bls12_381::g2_multiply(endianness, &self.array(1), &self.array(2)))
            }
            "g1_decompress" => answer(bls12_381::g1_decompress(endianness, &self.array(1))),
            "g2_decompress" => answer(bls12_381::g2_decompress(endianness, &self.array(1))),
            "pairing" => {
                let (g1, g2) = (self.bytes(1), self.bytes(2));
                answer(bls12_381::pairing(endianness, g1.as_chunks().0, g2.as_chunks().0))
            }
            "verify_proof_of_possession" => {
                let (key, proof) = (self.array(1), self.array(2));
                truth(bls12_381::verify_proof_of_possession(&self.bytes(0), &key, &proof))
            }
            function => panic!("there is no {function}"),
        }
    }

    fn curve25519(&self, function: &str) -> String {
        let group = self.group();
        match function {
            "is_valid" => truth(curve25519::is_valid(group, &self.array(1))),
            "add" => answer(curve25519::add(group, &self.array(1), &self.array(2))),
            "subtract" => answer(curve25519::subtract(group, &self.array(1), &self.array(2))),
            "multiply" => answer(curve25519::multiply(group, &self.array(1), &self.array(2))),
            "multiscalar_multiply" => {
                let (scalars, points) = (self.bytes(1), self.bytes(2));
                let (scalars, points) = (scalars.as_chunks().0, points.as_chunks().0);
                answer(curve25519::multiscalar_multiply(group, scalars, points))
            }
            function => panic!("there is no {function}"),
        }
    }

    /// Runs a precompile with the data of another instruction and of its own.
    fn precompile(&self, function: &str) -> String {
        let (other, data) = (self.bytes(0), self.bytes(1));
        let verify = match function {
            "ed25519" => precompile::ed25519::verify,
            "secp256k1" => precompile::secp256k1::verify,
            "secp256r1" => precompile::secp256r1::verify,
            function => panic!("there is no {function}"),
        };
        match verify(&data, &[&other, &data]) {
            Ok(()) => "ok".to_owned(),
            Err(error) => error.number().to_string(),
        }
    }
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = text.trim_start_matches('-').as_bytes().as_chunks::<2>().0.iter();
    digits
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).expect("ASCII"), 16).expect("hex"))
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "-".to_owned();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn answer(answer: Option<impl AsRef<[u8]>>) -> String {
    answer.map_or_else(|| "none".to_owned(), |bytes| hex(bytes.as_ref()))
}

fn truth(is_so: bool) -> String {
    if is_so { "ok" } else { "none" }.to_owned()
}

#[test]
fn every_function_gives_the_known_answers() {
    let mut count = 0;
    for text in ANSWERS.lines() {
        let line = Line::parse(text);
        assert_eq!(line.run(), line.answer, "{text}");
        count += 1;
    }
    assert!(count > 200, "only {count} answers");
}

/// RFC 8032, 7.1: the first of its signatures.
const KEY: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
const SIGNATURE: &str = "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155\
                         5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b";

#[test]
fn only_the_undamaged_ed25519_signature_verifies() {
    let key: [u8; 32] = unhex(KEY).try_into().unwrap();
    let signature: [u8; 64] = unhex(SIGNATURE).try_into().unwrap();
    assert!(ed25519::verify(&key, &signature, b""));
    assert!(!ed25519::verify(&key, &signature, b"a"));
    for bit in 0..512 {
        let mut wrong = signature;
        wrong[bit / 8] ^= 1 << (bit % 8);
        assert!(!ed25519::verify(&key, &wrong, b""), "{bit}");
    }
    let mut wrong_key = key;
    wrong_key[0] ^= 1;
    let items = [(&key, &b""[..]), (&wrong_key, b""), (&key, b"a"), (&key, b"")];
    let items = items.map(|(key, message)| (key, &signature, message));
    assert_eq!(ed25519::verify_each(items), [true, false, false, true]);
}

#[test]
fn an_ed25519_signature_with_an_unreduced_s_is_rejected() {
    let key: [u8; 32] = unhex(KEY).try_into().unwrap();
    let mut signature: [u8; 64] = unhex(SIGNATURE).try_into().unwrap();
    let order = "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010";
    let mut carry = 0;
    for (byte, order) in signature[32..].iter_mut().zip(unhex(order)) {
        let sum = u16::from(*byte) + u16::from(order) + carry;
        (*byte, carry) = ((sum & 0xff) as u8, sum >> 8);
    }
    assert!(!ed25519::verify(&key, &signature, b""));
}

#[test]
fn an_ed25519_key_of_small_order_is_rejected() {
    // With s = 0 and R = A = 0 the equation holds for every message.
    let mut zero = [0; 32];
    zero[0] = 1;
    let mut signature = [0; 64];
    signature[0] = 1;
    assert!(!ed25519::verify(&zero, &signature, b"message"));
}

#[test]
fn precompiles_check_the_size_of_their_data() {
    let size = Err(PrecompileError::InvalidInstructionDataSize);
    for data in [&[][..], &[0, 0, 0], &[1, 0], &[9, 0]] {
        assert_eq!(precompile::ed25519::verify(data, &[data]), size, "{data:?}");
        assert_eq!(precompile::secp256k1::verify(data, &[data]), size, "{data:?}");
        assert_eq!(precompile::secp256r1::verify(data, &[data]), size, "{data:?}");
    }
    assert_eq!(precompile::ed25519::verify(&[0], &[]), size);
    assert_eq!(precompile::ed25519::verify(&[0, 0], &[]), Ok(()));
    assert_eq!(precompile::secp256k1::verify(&[0], &[]), Ok(()));
    assert_eq!(precompile::secp256r1::verify(&[0, 0], &[]), size);
    let nine = [&[9, 0][..], &[0; 126]].concat();
    assert_eq!(precompile::secp256r1::verify(&nine, &[]), size);
    assert_eq!([0, 1, 4].map(|count| precompile::signature_count(&[count])), [0, 1, 4]);
    assert_eq!(precompile::signature_count(&[]), 0);
}

#[test]
fn the_first_ed25519_signature_that_fails_a_check_decides_the_error() {
    // Two signatures of the same bytes, whose offsets are 2 + 2 * 14 and further.
    let data = |first_bit: u8, second: [u16; 7]| {
        let mut data = vec![2, 0];
        let first = [30, u16::MAX, 94, u16::MAX, 94, 0, u16::MAX];
        data.extend([first, second].iter().flatten().flat_map(|word| word.to_le_bytes()));
        data.extend(unhex(SIGNATURE));
        data.extend(unhex(KEY));
        data[30] ^= first_bit;
        // A key that does not decompress.
        data.extend([2; 32]);
        data
    };
    let verify = |bit, second| precompile::ed25519::verify(&data(bit, second), &[]);
    let this = u16::MAX;
    for (second, error) in [
        ([30, this, 94, this, 94, 0, this], Ok(())),
        ([30, this, 94, this, 94, 1, this], Err(PrecompileError::InvalidSignature)),
        ([30, this, 126, this, 94, 0, this], Err(PrecompileError::InvalidPublicKey)),
        ([30, this, 94, this, 94, 999, this], Err(PrecompileError::InvalidDataOffsets)),
        ([999, this, 94, this, 94, 0, this], Err(PrecompileError::InvalidDataOffsets)),
    ] {
        assert_eq!(verify(0, second), error, "{second:?}");
        assert_eq!(verify(1, second), Err(PrecompileError::InvalidSignature), "{second:?}");
    }
}

#[test]
fn points_of_g1_whose_x_is_zero_are_rejected() {
    // (0, 2) is on the curve, and (1, ..) is not.
    let mut point = [0; bls12_381::G1_BYTES];
    point[95] = 2;
    let mut infinity = [0; bls12_381::G1_BYTES];
    infinity[0] = 0x40;
    assert_eq!(bls12_381::g1_add(Endianness::Big, &point, &infinity), None);
    assert_eq!(bls12_381::g1_add(Endianness::Big, &infinity, &infinity), Some(infinity));
    assert_eq!(bls12_381::g1_add(Endianness::Little, &infinity, &infinity), None);
}

#[test]
fn a_bls12_381_pairing_takes_at_most_8_pairs_of_equal_slices() {
    let mut g1 = [0; bls12_381::G1_BYTES];
    let mut g2 = [0; bls12_381::G2_BYTES];
    (g1[0], g2[0]) = (0x40, 0x40);
    let pair = |count| bls12_381::pairing(Endianness::Big, &vec![g1; count], &vec![g2; count]);
    assert!(pair(8).is_some_and(|one| one == pair(0).unwrap() && one[575] == 1));
    assert_eq!(pair(9), None);
    assert_eq!(bls12_381::pairing(Endianness::Big, &[g1], &[]), None);
}

#[test]
fn big_mod_exp_rejects_long_numbers_and_even_moduli() {
    let one = |len: usize| [&[1][..], &vec![0; len - 1]].concat();
    assert_eq!(big_mod_exp::big_mod_exp(&[7], &[], &[3]), Some(vec![1]));
    assert_eq!(big_mod_exp::big_mod_exp(&one(513), &[1], &[3]), None);
    assert_eq!(big_mod_exp::big_mod_exp(&one(512), &one(512), &[3, 0]), Some(vec![1, 0]));
    for modulus in [&[][..], &[0], &[1, 0], &[2]] {
        assert_eq!(big_mod_exp::big_mod_exp(&[7], &[1], modulus), None, "{modulus:?}");
    }
}
