//! Instructions of the system program, with nonces, and of the compute budget program.

use super::{
    encode::Bytes,
    ids::*,
    message::{Instruction, r, rs, w, ws},
    scene::{Scene, with_seed},
    world::rent,
};
use crate::case::{Account, Key};

/// One instruction of the system program.
pub(crate) fn instruction(scene: &mut Scene<'_>) -> Instruction {
    match scene.roll(20, 3, 50) {
        0..3 => transfer(scene),
        3 | 4 => create(scene),
        5 => {
            let (owner, key) = (owner(scene), subject(scene));
            system(vec![ws(key)], Bytes::new().u32(1).key(&owner))
        }
        6 => {
            let (space, key) = (scene.space(), subject(scene));
            system(vec![ws(key)], Bytes::new().u32(8).u64(space))
        }
        7 | 8 => seeded(scene),
        9 => prefunded(scene),
        10 => {
            let (from, to) = (scene.wallet(), scene.anybody());
            let amount = scene.amount();
            system(vec![ws(from), w(to)], Bytes::new().u32(2).u64(amount))
        }
        _ => nonce(scene),
    }
}

/// Allocates accounts of the maximum size, up to a transaction's limit.
pub(crate) fn large(scene: &mut Scene<'_>) -> Vec<Instruction> {
    let payer = scene.wallets[0];
    let mut one = || {
        let key = scene.fresh();
        let space = 10 * 1024 * 1024 - scene.rng.pick(&[0, 0, 1, 5_000_000]);
        let lamports = rent(space);
        let data = Bytes::new().u32(0).u64(lamports).u64(space as u64).key(&SYSTEM);
        system(vec![ws(payer), ws(key)], data)
    };
    vec![one(), one(), one()]
}

fn system(metas: Vec<super::message::Meta>, data: Bytes) -> Instruction {
    Instruction::new(SYSTEM, metas, data)
}

pub(crate) fn transfer(scene: &mut Scene<'_>) -> Instruction {
    let (from, to) = (scene.wallet(), scene.wallet());
    let lamports = if scene.odd(40) {
        // Leaves about the rent-exempt minimum.
        let has = scene.accounts.get(&from).map_or(0, |it| it.lamports);
        let left = scene.rng.pick(&[0, rent(0), rent(0) - 1, 1]);
        has.saturating_sub(left)
    } else {
        scene.amount()
    };
    system(vec![ws(from), w(to)], Bytes::new().u32(2).u64(lamports))
}

fn owner(scene: &mut Scene<'_>) -> Key {
    let noise = scene.noise();
    scene.rng.pick(&[SYSTEM, TOKEN, STAKE, noise, LOADER_V3, LOADER_V2, TABLES])
}

/// The account that is created, assigned or allocated.
fn subject(scene: &mut Scene<'_>) -> Key {
    match scene.roll(30, 3, 30) {
        0 => scene.anybody(),
        1 => scene.wallet(),
        2 => {
            let key = scene.fresh();
            let (lamports, owner) = (scene.balance(), owner(scene));
            let data = vec![0; scene.rng.pick(&[0, 0, 5])];
            if lamports > 0 {
                scene.put(key, Account::new(lamports, owner, data));
            }
            key
        }
        _ => scene.fresh(),
    }
}

/// Lamports for `space` bytes: about the rent-exempt minimum.
fn funding(scene: &mut Scene<'_>, space: u64) -> u64 {
    let enough = rent(usize::try_from(space.min(20_000_000)).expect("it is small"));
    match scene.roll(40, 3, 50) {
        0 => enough - 1,
        1 => scene.amount(),
        2 => 0,
        _ => enough,
    }
}

fn create(scene: &mut Scene<'_>) -> Instruction {
    let (from, key) = (scene.wallet(), subject(scene));
    let (space, owner) = (scene.space(), owner(scene));
    let lamports = funding(scene, space);
    let data = Bytes::new().u32(0).u64(lamports).u64(space).key(&owner);
    system(vec![ws(from), ws(key)], data)
}

fn prefunded(scene: &mut Scene<'_>) -> Instruction {
    let (from, key) = (scene.wallet(), subject(scene));
    let (space, owner) = (scene.space(), owner(scene));
    let lamports = if scene.rng.chance(30) { 0 } else { funding(scene, space) };
    let data = Bytes::new().u32(13).u64(lamports).u64(space).key(&owner);
    let metas =
        if lamports == 0 && scene.rng.chance(70) { vec![ws(key)] } else { vec![ws(key), ws(from)] };
    system(metas, data)
}

fn seeded(scene: &mut Scene<'_>) -> Instruction {
    let (from, base, owner) = (scene.wallet(), scene.wallet(), owner(scene));
    let seed: Vec<u8> = match scene.roll(50, 6, 60) {
        0 => vec![b'x'; 33],
        1 => vec![b'x'; 32],
        2 => Vec::new(),
        3 => vec![0xff, 0xfe],
        4 => "löffel".as_bytes().to_vec(),
        _ => vec![b'a' + scene.rng.below(4) as u8; 1 + scene.rng.below(8)],
    };
    let right = with_seed(&base, &seed, &owner);
    let key = if scene.odd(10) { scene.fresh() } else { right };
    let space = scene.space();
    if scene.rng.chance(30) {
        let (lamports, owner) =
            (scene.balance().max(1), if scene.odd(25) { owner } else { SYSTEM });
        scene.put(key, Account::new(lamports, owner, Vec::new()));
    }
    match scene.rng.below(5) {
        0 => {
            let data = Bytes::new().u32(9).key(&base).string(&seed).u64(space).key(&owner);
            system(vec![w(key), rs(base)], data)
        }
        1 => {
            let data = Bytes::new().u32(10).key(&base).string(&seed).key(&owner);
            system(vec![w(key), rs(base)], data)
        }
        2 => {
            let amount = scene.amount();
            let data = Bytes::new().u32(11).u64(amount).string(&seed).key(&owner);
            let to = scene.wallet();
            system(vec![w(key), rs(base), w(to)], data)
        }
        _ => {
            let lamports = funding(scene, space);
            let data = Bytes::new().u32(3).key(&base).string(&seed);
            let data = data.u64(lamports).u64(space).key(&owner);
            let mut metas = vec![ws(from), w(key)];
            if base != from || scene.rng.chance(20) {
                metas.push(rs(base));
            }
            system(metas, data)
        }
    }
}

pub(crate) fn advance(nonce: Key, authority: Key) -> Instruction {
    system(vec![w(nonce), r(RECENT_BLOCKHASHES), rs(authority)], Bytes::new().u32(4))
}

fn nonce(scene: &mut Scene<'_>) -> Instruction {
    let index = scene.rng.below(scene.nonces.len());
    let (nonce, mut authority, _) = scene.nonces[index];
    if scene.odd(15) {
        authority = scene.wallet();
    }
    match scene.rng.below(6) {
        0 => advance(nonce, authority),
        1 | 2 => {
            let has = scene.accounts.get(&nonce).map_or(0, |it| it.lamports);
            let some = scene.amount();
            let lamports =
                scene.rng.pick(&[has, has, has - rent(80), has - rent(80) + 1, has + 1, some]);
            let to = scene.wallet();
            let metas = vec![w(nonce), w(to), r(RECENT_BLOCKHASHES), r(RENT), rs(authority)];
            system(metas, Bytes::new().u32(5).u64(lamports))
        }
        3 => {
            let key = if scene.rng.chance(80) {
                let key = scene.fresh();
                let lamports = rent(80).saturating_add_signed(scene.rng.range(-1, 1));
                let len = scene.rng.pick(&[80, 80, 80, 79, 81, 0]);
                scene.put(key, Account::new(lamports, SYSTEM, vec![0; len]));
                key
            } else {
                nonce
            };
            let metas = vec![w(key), r(RECENT_BLOCKHASHES), r(RENT)];
            system(metas, Bytes::new().u32(6).key(&authority))
        }
        4 => {
            let new = scene.wallet();
            system(vec![w(nonce), rs(authority)], Bytes::new().u32(7).key(&new))
        }
        _ => system(vec![w(nonce)], Bytes::new().u32(12)),
    }
}

/// Instructions of the compute budget, as many transactions begin with.
pub(crate) fn budget(scene: &mut Scene<'_>) -> Vec<Instruction> {
    let count = scene.rng.pick(&[0, 0, 0, 1, 1, 2, 3]);
    let mut kinds = vec![1, 2, 2, 2, 3, 4];
    let mut list = Vec::new();
    for _ in 0..count {
        let kind = kinds[scene.rng.below(kinds.len())];
        if !scene.odd(4) {
            kinds.retain(|it| *it != kind);
        }
        let mut data = budget_data(scene, kind);
        match scene.roll(4, 3, 300) {
            0 => data.0.truncate(scene.rng.below(data.0.len())),
            1 => data.0[0] = scene.rng.below(7) as u8,
            2 => data.0.push(1),
            _ => {}
        }
        let metas = if scene.rng.chance(3) { vec![r(scene.wallet())] } else { Vec::new() };
        list.push(Instruction::new(COMPUTE_BUDGET, metas, data));
    }
    list
}

fn budget_data(scene: &mut Scene<'_>, kind: u8) -> Bytes {
    let data = Bytes::new().u8(kind);
    match kind {
        1 => data.u32(match scene.roll(4, 2, 300) {
            0 => scene.rng.word() as u32,
            1 => scene.rng.pick(&[0, 1024, 31 * 1024, 257 * 1024, 33 * 1024 + 1]),
            _ => (32 + scene.rng.below(225) as u32) * 1024,
        }),
        2 => data.u32(match scene.roll(40, 3, 50) {
            0 => scene.rng.below(3000) as u32,
            1 => scene.rng.below(100_000) as u32,
            2 => scene.rng.word() as u32,
            _ => 1_400_000,
        }),
        3 => data.u64(match scene.roll(10, 1, 50) {
            0 => scene.rng.word(),
            _ => scene.rng.word() % 1_000_000,
        }),
        _ => data.u32(match scene.roll(20, 3, 50) {
            0 => 0,
            1 => scene.rng.below(2000) as u32,
            2 => scene.rng.below(1_000_000) as u32,
            _ => 64 * 1024 * 1024 - 2 + scene.rng.below(5) as u32,
        }),
    }
}
