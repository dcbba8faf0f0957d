//! Instructions of the address lookup table program.

use solana_pubkey::Pubkey;

use super::{
    encode::Bytes,
    ids::*,
    message::{Instruction, r, rs, w, ws},
    scene::Scene,
    world::SLOT,
};
use crate::case::Key;

pub(crate) fn instruction(scene: &mut Scene<'_>) -> Instruction {
    let authority = if scene.odd(15) { scene.wallet() } else { scene.wallets[0] };
    let payer = scene.wallet();
    let table = if scene.odd(10) { None } else { scene.pick_prop("table") };
    let table = table.unwrap_or_else(|| scene.anybody());
    let (metas, data) = match scene.rng.below(10) {
        0..3 => {
            // Recent slots are those in the sysvar.
            let slot = SLOT - scene.rng.below(10) as u64;
            let (key, bump) = address(&authority, slot);
            let bump = if scene.odd(8) { bump ^ 1 } else { bump };
            scene.prop("table", key);
            let metas = vec![w(key), rs(authority), ws(payer), r(SYSTEM)];
            (metas, Bytes::new().u32(0).u64(slot).u8(bump))
        }
        3 => (vec![w(table), rs(authority)], Bytes::new().u32(1)),
        4..7 => {
            let count = scene.rng.pick(&[0, 1, 2, 5, 20]);
            let mut data = Bytes::new().u32(2).u64(count as u64);
            for _ in 0..count {
                data = data.key(&scene.noise());
            }
            (vec![w(table), rs(authority), ws(payer), r(SYSTEM)], data)
        }
        7 => (vec![w(table), rs(authority)], Bytes::new().u32(3)),
        8 => (vec![w(table), rs(authority), w(payer)], Bytes::new().u32(4)),
        _ => {
            let data = Bytes::new().u32(scene.rng.below(7) as u32);
            (vec![w(table), rs(authority), ws(payer), r(SYSTEM)], data)
        }
    };
    Instruction::new(TABLES, metas, data)
}

fn address(authority: &Key, slot: u64) -> (Key, u8) {
    let seeds: [&[u8]; 2] = [authority, &slot.to_le_bytes()];
    let (key, bump) = Pubkey::find_program_address(&seeds, &Pubkey::from(TABLES));
    (key.to_bytes(), bump)
}
