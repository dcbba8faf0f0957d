//! Signatures decided beside ed25519-dalek's `verify_strict`, with each of the processor's
//! instructions, for keys that are new and for keys that are kept.

use curve25519_dalek::{
    EdwardsPoint, Scalar, constants::EIGHT_TORSION, edwards::CompressedEdwardsY,
};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use selkie_crypto::ed25519::{Backend, Verifier};
use sha2::{Digest, Sha512};

const VECTORS: &str = include_str!("../../../testdata/crypto/ed25519_signatures.txt");

/// Verifiers with all instructions that this processor has.
struct Verifiers(Vec<(Backend, Verifier)>);

impl Verifiers {
    fn new() -> Self {
        Self(Backend::available().map(|backend| (backend, Verifier::new(backend))).collect())
    }

    /// Compares the results with ed25519-dalek's, and returns it.
    fn check(&self, key: &[u8; 32], signature: &[u8; 64], message: &[u8]) -> bool {
        let dalek = VerifyingKey::from_bytes(key);
        let expected = dalek
            .is_ok_and(|key| key.verify_strict(message, &Signature::from_bytes(signature)).is_ok());
        for (backend, verifier) in &self.0 {
            let is_valid = verifier.verify(key, signature, message);
            assert_eq!(is_valid, expected, "{backend:?} {key:?} {signature:?} {message:?}");
        }
        expected
    }

    /// The same for a key that is seen for the first time, for the second time, and kept.
    fn check_thrice(&self, key: &[u8; 32], signature: &[u8; 64], message: &[u8]) -> bool {
        let first = self.check(key, signature, message);
        assert_eq!([first; 2], [0; 2].map(|_| self.check(key, signature, message)));
        first
    }
}

#[test]
fn vectors_of_other_projects_have_their_verdicts() {
    let verifiers = Verifiers::new();
    for line in VECTORS.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        let [name, key, signature, message, verdict] = words[..] else { panic!("{line}") };
        let message = if message == "-" { Vec::new() } else { unhex(message) };
        let (key, signature) = (array(&unhex(key)), array(&unhex(signature)));
        let is_valid = verifiers.check_thrice(&key, &signature, &message);
        assert_eq!(is_valid, verdict == "valid", "{name}");
    }
}

#[test]
fn every_damaged_bit_of_a_key_or_signature_is_noticed() {
    let verifiers = Verifiers::new();
    let secret = SigningKey::from_bytes(&[3; 32]);
    let (key, message) = (secret.verifying_key().to_bytes(), [5; 100]);
    let signature = secret.sign(&message).to_bytes();
    assert!(verifiers.check_thrice(&key, &signature, &message));
    assert!(!verifiers.check(&key, &signature, &message[1..]));
    for bit in 0..512 {
        let mut wrong = signature;
        wrong[bit / 8] ^= 1 << (bit % 8);
        assert!(!verifiers.check(&key, &wrong, &message));
    }
    for bit in 0..256 {
        let mut wrong = key;
        wrong[bit / 8] ^= 1 << (bit % 8);
        assert!(!verifiers.check_thrice(&wrong, &signature, &message));
    }
}

/// A batch equation would accept some of these signatures at random: their keys have a torsion
/// component.
#[test]
fn keys_with_a_torsion_component_verify_only_if_it_cancels() {
    let verifiers = Verifiers::new();
    let (secret, nonce) = (Scalar::from(1_234_567_u64), Scalar::from(7_654_321_u64));
    for torsion in EIGHT_TORSION {
        let key = (EdwardsPoint::mul_base(&secret) + torsion).compress().0;
        let r = EdwardsPoint::mul_base(&nonce).compress().0;
        for message in 0..64_u8 {
            let k = challenge(&r, &key, &[message]);
            let s = nonce + k * secret;
            let is_accepted = verifiers.check(&key, &signature(&r, &s), &[message]);
            let error = Scalar::from(k.as_bytes()[0] & 7) * torsion;
            assert_eq!(is_accepted, error == EIGHT_TORSION[0], "{message}");
        }
    }
}

/// The torsion component of R may cancel that of kA.
#[test]
fn points_with_torsion_components_verify_if_these_cancel() {
    let verifiers = Verifiers::new();
    let (secret, nonce) = (Scalar::from(1_234_567_u64), Scalar::from(7_654_321_u64));
    let key = (EdwardsPoint::mul_base(&secret) + EIGHT_TORSION[1]).compress().0;
    let mut accepted = 0;
    for message in 0..64_u8 {
        let r = EdwardsPoint::mul_base(&nonce) + EIGHT_TORSION[usize::from(message % 8)];
        let r = r.compress().0;
        let s = nonce + challenge(&r, &key, &[message]) * secret;
        accepted += u32::from(verifiers.check(&key, &signature(&r, &s), &[message]));
    }
    assert!((1..63).contains(&accepted), "{accepted}");
}

#[test]
fn points_of_small_order_are_rejected_in_every_encoding() {
    let verifiers = Verifiers::new();
    let secret = SigningKey::from_bytes(&[9; 32]);
    let mut points = small_order_encodings();
    points.push(secret.verifying_key().to_bytes());
    for key in &points {
        for r in &points {
            for s in [Scalar::ZERO, Scalar::ONE, challenge(r, key, b"message")] {
                assert!(!verifiers.check(key, &signature(r, &s), b"message"));
            }
        }
    }
    // With such a key sB = R + kA holds if kA is the identity, whatever R is.
    let nonce = Scalar::from(77_u64);
    let r = EdwardsPoint::mul_base(&nonce).compress().0;
    for key in small_order_encodings() {
        for message in 0..16_u8 {
            assert!(!verifiers.check_thrice(&key, &signature(&r, &nonce), &[message]));
        }
    }
}

/// y from p to 2^255 - 1 encodes the point of y - p: as a key it is valid, as R it is not.
#[test]
fn coordinates_beyond_the_modulus_are_valid_in_keys_alone() {
    let verifiers = Verifiers::new();
    let mut decompressed = 0;
    for (sign, last) in [(0x7f, 0xed..=0xff), (0xff, 0xed..=0xff)] {
        for last in last {
            let mut point = [0xff; 32];
            (point[0], point[31]) = (last, sign);
            decompressed += u32::from(CompressedEdwardsY(point).decompress().is_some());
            let reduced = SigningKey::from_bytes(&[last; 32]).verifying_key().to_bytes();
            for s in [Scalar::ZERO, Scalar::from(5_u64)] {
                verifiers.check_thrice(&point, &signature(&reduced, &s), b"message");
                assert!(!verifiers.check(&reduced, &signature(&point, &s), b"message"));
            }
        }
    }
    assert!(decompressed > 4, "{decompressed}");
}

#[test]
fn an_s_is_rejected_from_the_order_of_the_base_point_on() {
    let verifiers = Verifiers::new();
    let secret = SigningKey::from_bytes(&[4; 32]);
    let key = secret.verifying_key().to_bytes();
    let signature = secret.sign(b"message").to_bytes();
    assert!(verifiers.check_thrice(&key, &signature, b"message"));
    let order = unhex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
    for times in 1..16 {
        let (mut wrong, mut carry) = (signature, 0);
        for (byte, order) in wrong[32..].iter_mut().zip(&order) {
            let sum = u16::from(*byte) + times * u16::from(*order) + carry;
            (*byte, carry) = (sum.to_le_bytes()[0], sum >> 8);
        }
        assert!(!verifiers.check(&key, &wrong, b"message"), "{times}");
    }
    for (first, is_reduced) in [(0xec, true), (0xed, false), (0xee, false)] {
        let mut edge = signature;
        edge[32..].copy_from_slice(&order);
        edge[32] = first;
        assert!(!verifiers.check(&key, &edge, b"message"), "{is_reduced}");
    }
}

#[test]
fn signatures_verified_together_have_their_own_results() {
    let message = [8; 33];
    let mut items = Vec::new();
    for number in 0..40_u8 {
        // Keys come again, some of them consecutively.
        let secret = SigningKey::from_bytes(&[number / 2 % 7; 32]);
        let (mut key, mut signature) =
            (secret.verifying_key().to_bytes(), secret.sign(&message).to_bytes());
        match number % 9 {
            3 => signature[0] ^= 1,
            4 => key = [2; 32],
            6 => signature[63] |= 0x80,
            7 => key = EIGHT_TORSION[5].compress().0,
            _ => {}
        }
        items.push((key, signature));
    }
    assert!(CompressedEdwardsY([2; 32]).decompress().is_none());
    for (backend, verifier) in Verifiers::new().0 {
        for count in 0..=items.len() {
            let items =
                items[..count].iter().map(|(key, signature)| (key, signature, &message[..]));
            let expected = (0..count).map(|it| ![3, 4, 6, 7].contains(&(it % 9)));
            assert!(verifier.verify_each(items).into_iter().eq(expected), "{backend:?} {count}");
        }
    }
}

/// `SELKIE_SIGNATURES` is their number.
#[test]
fn random_signatures_verify_as_in_ed25519_dalek() {
    let count = std::env::var("SELKIE_SIGNATURES").ok();
    let count: u64 = count.map_or(20_000, |count| count.parse().expect("a number"));
    let verifiers = &Verifiers::new();
    let accepted: u64 = std::thread::scope(|scope| {
        let threads = [0, 1].map(|thread| {
            scope.spawn(move || {
                (0..count / 16).filter(|it| it % 2 == thread).map(|it| group(verifiers, it)).sum()
            })
        });
        threads.map(|thread| -> u64 { thread.join().expect("all results are equal") }).iter().sum()
    });
    assert!(accepted > count / 3 && accepted < count / 2 + 1, "{accepted} of {count}");
}

/// Checks 16 signatures of one key, half of which are valid, and returns how many are.
fn group(verifiers: &Verifiers, number: u64) -> u64 {
    let mut random = Random(Sha512::digest(number.to_le_bytes()).into(), 0);
    // Three of four keys come again.
    let key = if random.below(4) == 0 { number } else { number % 61 };
    let secret = SigningKey::from_bytes(&array(&Sha512::digest(key.to_le_bytes())[..32]));
    let key = secret.verifying_key().to_bytes();
    let mut accepted = 0;
    for _ in 0..8 {
        let mut message: Vec<u8> = (0..random.below(300)).map(|_| random.byte()).collect();
        let mut signature = secret.sign(&message).to_bytes();
        let is_valid = verifiers.check(&key, &signature, &message);
        assert!(is_valid);
        accepted += 1;
        let mut key = key;
        match random.below(8) {
            0 => signature[random.below(32)] ^= 1 << random.below(8),
            1 => signature[32 + random.below(32)] ^= 1 << random.below(8),
            2 => signature[31] ^= 0x80,
            3 => key[random.below(32)] ^= 1 << random.below(8),
            4 => key[31] ^= 0x80,
            5 => message.push(random.byte()),
            6 => signature[..32].copy_from_slice(&small_order_encodings()[random.below(12)]),
            _ => signature.iter_mut().for_each(|byte| *byte = random.byte()),
        }
        assert!(!verifiers.check(&key, &signature, &message));
    }
    accepted
}

/// Bytes of a chain of hashes.
struct Random([u8; 64], usize);

impl Random {
    fn byte(&mut self) -> u8 {
        if self.1 == 64 {
            *self = Self(Sha512::digest(self.0).into(), 0);
        }
        self.1 += 1;
        self.0[self.1 - 1]
    }

    fn below(&mut self, end: usize) -> usize {
        usize::from(u16::from_le_bytes([self.byte(), self.byte()])) % end
    }
}

/// The points whose order divides 8: reduced, and some that are not.
fn small_order_encodings() -> Vec<[u8; 32]> {
    let mut points: Vec<_> = EIGHT_TORSION.iter().map(|it| it.compress().0).collect();
    for (first, last) in [(0xed, 0x7f), (0xee, 0x7f), (0xed, 0xff), (0xee, 0xff)] {
        let mut point = [0xff; 32];
        (point[0], point[31]) = (first, last);
        points.push(point);
    }
    // Zero has two signs.
    for first in [1, 0xec] {
        let mut point = [if first == 1 { 0 } else { 0xff }; 32];
        (point[0], point[31]) = (first, if first == 1 { 0x80 } else { 0xff });
        points.push(point);
    }
    points
}

fn challenge(r: &[u8; 32], key: &[u8; 32], message: &[u8]) -> Scalar {
    let hash = Sha512::new().chain_update(r).chain_update(key).chain_update(message);
    Scalar::from_bytes_mod_order_wide(&hash.finalize().into())
}

fn signature(r: &[u8; 32], s: &Scalar) -> [u8; 64] {
    array(&[*r, s.to_bytes()].concat())
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("as many bytes as there should be")
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.chars().map(|it| it.to_digit(16).expect("a digit")).collect();
    digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).expect("a byte")).collect()
}
