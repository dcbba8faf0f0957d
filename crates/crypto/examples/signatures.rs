//! Measures the verification of signatures.
use std::{hint::black_box, time::Instant};

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use selkie_crypto::ed25519::{Backend, Verifier};

fn main() {
    const N: usize = 1 << 10;
    let message = [7u8; 180];
    let items: Vec<_> = (0..N as u64)
        .map(|i| {
            let mut seed = [0; 32];
            seed[..8].copy_from_slice(&i.to_le_bytes());
            let key = SigningKey::from_bytes(&seed);
            (key.verifying_key().to_bytes(), key.sign(&message).to_bytes())
        })
        .collect();
    let time = |name: &str, n: usize, f: &mut dyn FnMut()| {
        let mut best = f64::MAX;
        for _ in 0..20 {
            let start = Instant::now();
            f();
            best = best.min(start.elapsed().as_secs_f64());
        }
        println!("{name}: {:.2} us", best * 1e6 / n as f64);
    };
    time("dalek new", N, &mut || {
        for (key, signature) in &items {
            let key = VerifyingKey::from_bytes(key).unwrap();
            assert!(key.verify_strict(&message, &Signature::from_bytes(signature)).is_ok());
        }
    });
    let keys: Vec<_> = items.iter().map(|it| VerifyingKey::from_bytes(&it.0).unwrap()).collect();
    time("dalek known", N, &mut || {
        for (key, (_, signature)) in keys.iter().zip(&items) {
            assert!(key.verify_strict(&message, &Signature::from_bytes(signature)).is_ok());
        }
    });
    for backend in Backend::available() {
        time(&format!("{backend:?} start"), 1, &mut || {
            black_box(Verifier::new(backend));
        });
        let mut verifiers: Vec<_> = (0..20).map(|_| Verifier::new(backend)).collect();
        time(&format!("{backend:?} new"), N, &mut || {
            let verifier = verifiers.pop().unwrap();
            for (key, signature) in &items {
                assert!(verifier.verify(key, signature, &message));
            }
        });
        let mut verifiers: Vec<_> = (0..20).map(|_| Verifier::new(backend)).collect();
        for v in &verifiers {
            for (key, signature) in &items {
                assert!(v.verify(key, signature, &message));
            }
        }
        time(&format!("{backend:?} second"), N, &mut || {
            let verifier = verifiers.pop().unwrap();
            for (key, signature) in &items {
                assert!(verifier.verify(key, signature, &message));
            }
        });
        let verifier = Verifier::new(backend);
        for count in [8, N] {
            for at_once in [2, 4, 8, 64] {
                time(&format!("{backend:?} known {count}, {at_once} at once"), count, &mut || {
                    for chunk in items[..count].chunks(at_once) {
                        let chunk = chunk.iter().map(|(key, sig)| (key, sig, &message[..]));
                        assert!(!verifier.verify_each(chunk).contains(&false));
                    }
                });
            }
            time(&format!("{backend:?} known {count}"), count, &mut || {
                for (key, signature) in &items[..count] {
                    assert!(verifier.verify(key, signature, &message));
                }
            });
        }
    }
}
