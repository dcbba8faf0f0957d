//! Measures the verification of Ed25519 signatures with each of the processor's instructions, beside
//! ed25519-dalek: `cargo run --release -p selkie-crypto --example signatures [turns]`.
//!
//! Every case runs once a turn; the least time of all turns is printed.

#![allow(clippy::print_stdout, reason = "the measurements are the output")]

use std::{env, time::Instant};

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use selkie_crypto::ed25519::{Backend, Verifier};

/// The signatures of a case in one turn.
const SIGNATURES: usize = 64;
const MESSAGE: [u8; 180] = [7; 180];

type Item = ([u8; 32], [u8; 64]);

struct Case<'a> {
    name: String,
    run: Box<dyn FnMut() + 'a>,
    least_us: f64,
}

impl<'a> Case<'a> {
    fn new(name: impl Into<String>, run: impl FnMut() + 'a) -> Self {
        Self { name: name.into(), run: Box::new(run), least_us: f64::MAX }
    }

    fn measure(&mut self) {
        let start = Instant::now();
        (self.run)();
        let us = start.elapsed().as_secs_f64() * 1e6 / SIGNATURES as f64;
        self.least_us = self.least_us.min(us);
    }
}

fn main() {
    let turns = env::args().nth(1).map_or(100, |turns| turns.parse().expect("a number of turns"));
    let new: Vec<Item> = (0..turns * SIGNATURES).map(item).collect();
    let known = &new[..SIGNATURES];
    let verifiers: Vec<_> = Backend::available().map(|it| (it, Verifier::new(it))).collect();
    let unpacked = known.iter().map(|it| VerifyingKey::from_bytes(&it.0).expect("a valid key"));
    let unpacked: Vec<_> = unpacked.collect();
    let mut cases = of_dalek(&unpacked, known);
    for (backend, verifier) in &verifiers {
        cases.extend(of_verifier(*backend, verifier, &new, known));
    }
    for _ in 0..turns {
        cases.iter_mut().for_each(Case::measure);
    }
    for case in cases {
        println!("{:40} {:8.2} us", case.name, case.least_us);
    }
}

/// Returns a key and its signature of the message.
fn item(number: usize) -> Item {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&(number as u64).to_le_bytes());
    let secret = SigningKey::from_bytes(&seed);
    (secret.verifying_key().to_bytes(), secret.sign(&MESSAGE).to_bytes())
}

fn of_dalek<'a>(unpacked: &'a [VerifyingKey], items: &'a [Item]) -> Vec<Case<'a>> {
    let verify = |key: &VerifyingKey, signature| {
        assert!(key.verify_strict(&MESSAGE, &Signature::from_bytes(signature)).is_ok());
    };
    vec![
        Case::new("ed25519-dalek, new keys", move || {
            for (key, signature) in items {
                verify(&VerifyingKey::from_bytes(key).expect("a valid key"), signature);
            }
        }),
        Case::new("ed25519-dalek, unpacked keys", move || {
            for (key, (_, signature)) in unpacked.iter().zip(items) {
                verify(key, signature);
            }
        }),
    ]
}

fn of_verifier<'a>(
    backend: Backend,
    verifier: &'a Verifier,
    new: &'a [Item],
    known: &'a [Item],
) -> Vec<Case<'a>> {
    let verify = |items: &[Item]| {
        for (key, signature) in items {
            assert!(verifier.verify(key, signature, &MESSAGE));
        }
    };
    let mut new = new.chunks(SIGNATURES);
    let mut cases = vec![
        Case::new(format!("{backend:?}, new keys"), move || {
            verify(new.next().expect("keys for every turn"));
        }),
        // The first turns build the tables.
        Case::new(format!("{backend:?}, {SIGNATURES} known keys"), move || verify(known)),
        Case::new(format!("{backend:?}, 8 known keys"), move || {
            for _ in 0..SIGNATURES / 8 {
                verify(&known[..8]);
            }
        }),
    ];
    for at_once in [4, 8] {
        cases.push(Case::new(format!("{backend:?}, 8 known keys, {at_once} at once"), move || {
            for chunk in known[..8].chunks(at_once).cycle().take(SIGNATURES / at_once) {
                let items = chunk.iter().map(|(key, signature)| (key, signature, &MESSAGE[..]));
                assert!(!verifier.verify_each(items).contains(&false));
            }
        }));
    }
    cases
}
