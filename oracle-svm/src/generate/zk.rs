//! Instructions of the ZK ElGamal proof program: valid and corrupted proofs, and context state
//! accounts.

use super::{
    encode::Bytes,
    ids::*,
    message::{Instruction, Meta, r, rs, w},
    proofs::Proof,
    scene::Scene,
    world::rent,
};
use crate::case::{Account, Key};

/// Enough compute units for a proof, most of the time.
pub(crate) fn budget(scene: &mut Scene<'_>) -> Vec<Instruction> {
    let units = if scene.odd(15) { scene.rng.below(400_000) as u32 } else { 1_400_000 };
    vec![Instruction::new(COMPUTE_BUDGET, Vec::new(), Bytes::new().u8(2).u32(units))]
}

pub(crate) fn instruction(scene: &mut Scene<'_>) -> Instruction {
    if scene.rng.chance(20) {
        return close(scene);
    }
    let proofs = &scene.world.proofs;
    let proof = &proofs[scene.rng.below(proofs.len())];
    let mut bytes = proof.bytes.clone();
    if scene.rng.chance(50) {
        corrupt(scene, &mut bytes);
    }
    let number = if scene.odd(5) { scene.rng.below(16) as u8 } else { proof.number };
    let (mut metas, mut data) = (Vec::new(), Bytes::new().u8(number));
    if scene.rng.chance(50) {
        let offset = scene.rng.pick(&[0, 0, 1, 40]);
        let account = [vec![0x5a; offset], bytes].concat();
        let key = scene.fresh();
        scene.put(key, Account::new(rent(account.len()), SYSTEM, account));
        metas.push(r(key));
        let wrong = scene.rng.pick(&[offset + 1, 100_000, usize::MAX]);
        data = data.u32(if scene.odd(10) { wrong } else { offset } as u32);
    } else {
        data = data.bytes(&bytes);
    }
    if scene.rng.chance(60) {
        let context = context(scene, proof);
        metas.extend(context);
    }
    match scene.roll(10, 2, 100) {
        0 => metas.truncate(scene.rng.below(metas.len() + 1)),
        1 => metas.push(r(scene.wallet())),
        _ => {}
    }
    Instruction::new(ZK_ELGAMAL, metas, data)
}

/// Corrupts a proof: a bit, a point, a number or the length.
fn corrupt(scene: &mut Scene<'_>, bytes: &mut Vec<u8>) {
    let at = scene.rng.below(bytes.len());
    let chunk = at / 32 * 32;
    let end = bytes.len().min(chunk + 32);
    match scene.rng.below(8) {
        0 => bytes.truncate(at),
        1 => bytes.push(0),
        2 => bytes[chunk..end].fill(0),
        3 => bytes[chunk..end].fill(0xff),
        4 => {
            let noise = scene.noise();
            bytes[chunk..end].copy_from_slice(&noise[..end - chunk]);
        }
        // Swaps parts: each is valid in itself.
        5 if bytes.len() >= 64 => bytes[..64].rotate_left(32),
        _ => bytes[at] ^= 1 << scene.rng.below(8),
    }
}

/// An account for a statement, and its authority.
fn context(scene: &mut Scene<'_>, proof: &Proof) -> [Meta; 2] {
    let right = 33 + proof.statement_bytes;
    let len = if scene.odd(15) { scene.rng.pick(&[0, 32, 33, right + 1]) } else { right };
    let mut data = vec![0; len];
    if scene.odd(10)
        && let Some(kind) = data.get_mut(32)
    {
        *kind = scene.rng.below(14) as u8;
    }
    let owner = if scene.odd(10) { SYSTEM } else { ZK_ELGAMAL };
    let (key, authority) = (scene.fresh(), scene.wallet());
    scene.put(key, Account::new(rent(len), owner, data));
    scene.prop("context", key);
    let meta = if scene.odd(8) { r(key) } else { w(key) };
    [meta, if scene.odd(5) { r(key) } else { r(authority) }]
}

fn close(scene: &mut Scene<'_>) -> Instruction {
    let authority = scene.wallet();
    let context = scene.pick_prop("context").filter(|_| scene.rng.chance(50));
    let context = context.unwrap_or_else(|| written(scene, authority));
    let to = if scene.odd(5) { context } else { scene.wallet() };
    let mut metas = vec![w(context), w(to), rs(authority)];
    match scene.roll(20, 4, 100) {
        0 => metas.truncate(scene.rng.below(3)),
        1 => metas[2] = r(authority),
        2 => metas[0] = r(context),
        3 => metas[1] = r(to),
        _ => {}
    }
    Instruction::new(ZK_ELGAMAL, metas, Bytes::new().u8(0))
}

/// An account that already contains a statement.
fn written(scene: &mut Scene<'_>, authority: Key) -> Key {
    let authority = if scene.odd(10) { scene.wallet() } else { authority };
    let kind = if scene.odd(10) { 0 } else { scene.rng.below(14) as u8 };
    let len = scene.rng.pick(&[33, 65, 129]);
    let mut data = Bytes::new().key(&authority).u8(kind).padded(len);
    if scene.odd(8) {
        data.truncate(scene.rng.below(34));
    }
    let owner = if scene.odd(8) { SYSTEM } else { ZK_ELGAMAL };
    let key = scene.fresh();
    scene.put(key, Account::new(rent(len), owner, data));
    key
}
