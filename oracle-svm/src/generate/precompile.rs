//! Instructions of the precompiles, with valid and invalid signatures.

use ed25519_dalek::{Signer, SigningKey};
use sha3::{Digest, Keccak256};

use super::{encode::Bytes, ids::*, message::Instruction, scene::Scene};

pub(crate) fn instruction(scene: &mut Scene<'_>) -> Instruction {
    let count = if scene.odd(20) { 0 } else { scene.rng.pick(&[1, 1, 2, 3]) };
    let message = scene.noise()[..scene.rng.pick(&[0, 1, 32, 20])].to_vec();
    let (program, mut data) = match scene.rng.below(3) {
        0 => (ED25519, ed25519(scene, count, &message)),
        1 => (SECP256K1, secp256k1(scene, count, &message)),
        _ => (SECP256R1, secp256r1(scene, count, &message)),
    };
    match scene.roll(50, 5, 100) {
        0 => data.truncate(scene.rng.below(data.len() + 1)),
        1 => data.push(0),
        2 | 3 if !data.is_empty() => {
            let at = scene.rng.below(data.len());
            data[at] ^= 1 << scene.rng.below(8);
        }
        4 => {
            data = scene.noise().to_vec();
            data.truncate(scene.rng.below(33));
            if let Some(count) = data.first_mut() {
                *count %= 3;
            }
        }
        _ => {}
    }
    Instruction::new(program, Vec::new(), Bytes(data))
}

/// Offsets that refer to this instruction, or to another one of the transaction.
fn own_index(scene: &mut Scene<'_>) -> u16 {
    if scene.odd(15) { scene.rng.below(4) as u16 } else { u16::MAX }
}

fn ed25519(scene: &mut Scene<'_>, count: u8, message: &[u8]) -> Vec<u8> {
    let start = 2 + 14 * u16::from(count);
    let (mut head, mut tail) = (Bytes::new().u8(count).u8(0), Bytes::new());
    for index in 0..count {
        let secret = SigningKey::from_bytes(&[index + 1; 32]);
        let key = start + tail.0.len() as u16;
        tail = tail.key(&secret.verifying_key().to_bytes()).bytes(&secret.sign(message).to_bytes());
        tail = tail.bytes(message);
        let own = own_index(scene);
        head = head.u16(key + 32).u16(own).u16(key).u16(own).u16(key + 96);
        head = head.u16(message.len() as u16).u16(own);
    }
    head.bytes(&tail.0).0
}

fn secp256k1(scene: &mut Scene<'_>, count: u8, message: &[u8]) -> Vec<u8> {
    let start = 1 + 11 * u16::from(count);
    let (mut head, mut tail) = (Bytes::new().u8(count), Bytes::new());
    for index in 0..count {
        let secret = libsecp256k1::SecretKey::parse(&[index + 1; 32]).expect("it is in the group");
        let public = libsecp256k1::PublicKey::from_secret_key(&secret).serialize();
        let address = &Keccak256::digest(&public[1..])[12..];
        let hash: [u8; 32] = Keccak256::digest(message).into();
        let hash = libsecp256k1::Message::parse(&hash);
        let (signature, recovery) = libsecp256k1::sign(&hash, &secret);
        let at = start + tail.0.len() as u16;
        tail = tail.bytes(address).bytes(&signature.serialize()).u8(recovery.serialize());
        tail = tail.bytes(message);
        // Unlike the others, this precompile has no special index for the current instruction.
        let own = if scene.odd(20) { scene.rng.below(4) as u8 } else { 0 };
        head = head.u16(at + 20).u8(own).u16(at).u8(own).u16(at + 85);
        head = head.u16(message.len() as u16).u8(own);
    }
    head.bytes(&tail.0).0
}

fn secp256r1(scene: &mut Scene<'_>, count: u8, message: &[u8]) -> Vec<u8> {
    let start = 2 + 14 * u16::from(count);
    let (mut head, mut tail) = (Bytes::new().u8(count).u8(0), Bytes::new());
    for _ in 0..count {
        let secret = p256::ecdsa::SigningKey::from_slice(&[9; 32]).expect("it is in the group");
        let public = secret.verifying_key().to_encoded_point(true).as_bytes().to_vec();
        let signature: p256::ecdsa::Signature = secret.sign(message);
        let low = signature.normalize_s();
        // Signatures that are not normalized are rejected.
        let signature = if scene.odd(15) { signature } else { low.unwrap_or(signature) };
        let signature = signature.to_bytes();
        let key = start + tail.0.len() as u16;
        tail = tail.bytes(&public).bytes(&signature).bytes(message);
        let own = own_index(scene);
        head = head.u16(key + 33).u16(own).u16(key).u16(own).u16(key + 97);
        head = head.u16(message.len() as u16).u16(own);
    }
    head.bytes(&tail.0).0
}
