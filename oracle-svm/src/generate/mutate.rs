//! Random mutations of instructions, of messages and of transactions' bytes.

use super::{
    message::{Draft, Instruction, Message, Meta},
    scene::Scene,
};

/// The percentages of transactions in wild scenes with mutated instructions, messages and bytes.
const DRAFTS: usize = 35;
const MESSAGES: usize = 3;
const BYTES: usize = 3;

pub(super) fn draft(scene: &mut Scene<'_>, draft: &mut Draft) {
    if draft.instructions.is_empty() || !scene.odd(DRAFTS) {
        return;
    }
    let index = scene.rng.below(draft.instructions.len());
    match scene.rng.below(14) {
        0 => {
            let again = draft.instructions[index].clone();
            draft.instructions.push(again);
        }
        1 => {
            draft.instructions.remove(index);
        }
        2 => draft.instructions.reverse(),
        3 => {
            let count = scene.rng.pick(&[20, 60, 65]);
            let again = draft.instructions[index].clone();
            draft.instructions.resize(count, again);
        }
        _ => instruction(scene, &mut draft.instructions[index]),
    }
}

fn instruction(scene: &mut Scene<'_>, instruction: &mut Instruction) {
    let (metas, data) = (&mut instruction.metas, &mut instruction.data);
    let index = scene.rng.below(metas.len());
    match scene.rng.below(14) {
        0 => metas.truncate(index),
        1 if !metas.is_empty() => {
            metas.remove(index);
        }
        2 | 3 if !metas.is_empty() => metas[index].writable ^= true,
        4 | 5 if !metas.is_empty() => metas[index].signer ^= true,
        6 if !metas.is_empty() => metas[index].key = scene.anybody(),
        7 if !metas.is_empty() => {
            let other = scene.rng.below(metas.len());
            let key = metas[other].key;
            metas[index].key = key;
        }
        8 => {
            let meta = Meta { key: scene.anybody(), signer: false, writable: scene.rng.chance(50) };
            metas.push(meta);
        }
        9 => data.truncate(scene.rng.below(data.len())),
        10 => data.push(scene.rng.below(256) as u8),
        11 | 12 if !data.is_empty() => {
            let at = scene.rng.below(data.len().min(12));
            data[at] ^= 1 << scene.rng.below(8);
        }
        _ => instruction.program = scene.anybody(),
    }
}

pub(super) fn message(scene: &mut Scene<'_>, message: &mut Message) {
    if !scene.odd(MESSAGES) {
        return;
    }
    let count = message.instructions.len();
    match scene.rng.below(10) {
        0 => {
            let at = scene.rng.below(3);
            message.header[at] = message.header[at].wrapping_add(scene.rng.pick(&[1, 255, 20]));
        }
        1 => message.header[1] = message.header[0],
        2 if count > 0 => {
            let at = scene.rng.below(count);
            message.instructions[at].program = scene.rng.below(20) as u8;
        }
        3 if count > 0 => {
            let at = scene.rng.below(count);
            message.instructions[at].accounts.push(scene.rng.below(70) as u8);
        }
        4 if count > 0 => {
            let len = scene.rng.pick(&[255, 256, 64]);
            message.instructions[scene.rng.below(count)].accounts.resize(len, 0);
        }
        5 => {
            let key = message.keys[scene.rng.below(message.keys.len())];
            message.keys.push(key);
            message.header[2] += 1;
        }
        6 => {
            let extra = scene.rng.pick(&[60, 64, 128]);
            while message.keys.len() < extra {
                message.keys.push(scene.noise());
                message.header[2] += 1;
            }
        }
        7 => {
            if let Some(lookup) = message.lookups.first_mut() {
                lookup.readonly.push(scene.rng.below(256) as u8);
            }
        }
        8 => {
            if let Some(lookup) = message.lookups.first_mut() {
                lookup.table = scene.rng.pick(&scene.wallets);
            }
        }
        _ => message.blockhash = scene.noise(),
    }
}

pub(super) fn bytes(scene: &mut Scene<'_>, bytes: &mut Vec<u8>) {
    if !scene.odd(BYTES) {
        return;
    }
    match scene.rng.below(4) {
        0 => bytes.truncate(scene.rng.below(bytes.len())),
        1 => bytes.push(0),
        _ => {
            let at = scene.rng.below(bytes.len());
            bytes[at] ^= 1 << scene.rng.below(8);
        }
    }
}
