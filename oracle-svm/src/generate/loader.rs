//! Instructions of the upgradeable loader, with small programs.

use super::{
    encode::Bytes,
    ids::*,
    message::{Instruction, Meta, r, rs, w, ws},
    program,
    scene::Scene,
    token::made,
    world::{SLOT, install, program_account, program_data, program_data_of, rent},
};
use crate::case::{Account, Key};

/// Programs and buffers of one case.
pub(crate) struct Deployments {
    authority: Key,
    programs: Vec<Key>,
    buffers: Vec<Key>,
    /// The lengths of the programdata accounts' files.
    sizes: Vec<usize>,
}

const BUFFER_HEADER: usize = 37;
/// Bytes before the file in a programdata account.
pub(crate) const DATA_HEADER: usize = 45;

impl Deployments {
    pub(crate) fn new(scene: &mut Scene<'_>) -> Self {
        let authority = scene.wallet();
        let mut all =
            Self { authority, programs: Vec::new(), buffers: Vec::new(), sizes: Vec::new() };
        for _ in 0..2 {
            let id = scene.fresh();
            let elf = program::small(scene);
            let authority = (!scene.odd(20)).then_some(authority);
            let age = if scene.odd(30) { scene.rng.pick(&[0, 1, 2]) } else { 1000 };
            let spare = scene.rng.pick(&[0, 0, 100, 2000]);
            install(&mut scene.accounts, id, LOADER_V3, Vec::new(), SLOT, None);
            let data = program_data(&elf, spare, SLOT - age, authority);
            scene.put(program_data_of(&id), data);
            all.sizes.push(elf.len() + spare);
            all.programs.push(id);
            scene.prop("program", id);
        }
        for _ in 0..2 {
            let (key, elf) = (scene.fresh(), program::small(scene));
            let authority = (!scene.odd(15)).then_some(authority);
            let data = Bytes::new().u32(1).u8(u8::from(authority.is_some()));
            let data = data.key(&authority.unwrap_or_default()).bytes(&elf).0;
            let lamports = rent(data.len()) + scene.rng.pick(&[0, 0, 1_000_000]);
            scene.put(key, Account::new(lamports, LOADER_V3, data));
            all.buffers.push(key);
            scene.prop("buffer", key);
        }
        all
    }

    fn program(&self, scene: &mut Scene<'_>) -> Key {
        scene.rng.pick(&self.programs)
    }

    fn buffer(&self, scene: &mut Scene<'_>) -> Key {
        scene.rng.pick(&self.buffers)
    }

    fn authority(&self, scene: &mut Scene<'_>) -> Key {
        if scene.odd(12) { scene.wallet() } else { self.authority }
    }

    /// One or more instructions that belong together.
    pub(crate) fn instructions(&mut self, scene: &mut Scene<'_>) -> Vec<Instruction> {
        let (program, buffer) = (self.program(scene), self.buffer(scene));
        let data_key = program_data_of(&program);
        let (authority, spill) = (self.authority(scene), scene.wallet());
        let one = |metas: Vec<Meta>, data| vec![Instruction::new(LOADER_V3, metas, data)];
        match scene.rng.below(26) {
            0..3 => self.write_buffer(scene),
            3..6 => {
                let offset = if scene.odd(30) { scene.rng.pick(&[5000, u32::MAX]) } else { 1 };
                let bytes = scene.noise();
                let data = Bytes::new().u32(1).u32(offset).string(&bytes);
                one(vec![w(buffer), rs(authority)], data)
            }
            6..10 => self.deploy(scene, buffer, authority),
            10..13 => {
                let metas = vec![w(data_key), w(program), w(buffer), w(spill), r(RENT), r(CLOCK)];
                one([metas, vec![rs(authority)]].concat(), Bytes::new().u32(3))
            }
            13 | 14 => {
                let account = scene.rng.pick(&[data_key, buffer]);
                let new = scene.rng.chance(70).then(|| scene.wallet());
                let metas = vec![w(account), rs(authority)];
                one([metas, new.map(r).into_iter().collect()].concat(), Bytes::new().u32(4))
            }
            15 => {
                let (account, new) = (scene.rng.pick(&[data_key, buffer]), scene.wallet());
                one(vec![w(account), rs(authority), rs(new)], Bytes::new().u32(7))
            }
            16 => one(vec![w(buffer), w(spill), rs(authority)], Bytes::new().u32(5)),
            17 | 18 => {
                let metas = vec![w(data_key), w(spill), rs(authority), w(program)];
                let mut list = one(metas, Bytes::new().u32(5));
                if scene.rng.chance(50) {
                    list.push(Instruction::new(program, Vec::new(), Bytes::new()));
                }
                list
            }
            19..22 => {
                let odd = scene.rng.pick(&[10_239, 1, 0, 10_485_760]);
                let more = if scene.odd(50) { odd } else { 10_240 + scene.rng.below(2) as u32 };
                let metas = [w(data_key), w(program), r(SYSTEM), ws(scene.wallets[0])];
                let metas = metas[..if scene.odd(25) { 2 } else { 4 }].to_vec();
                one(metas, Bytes::new().u32(6).u32(more))
            }
            22 => {
                let data = Bytes::new().u32(scene.rng.below(12) as u32);
                let data = data.bytes(&scene.noise()[..scene.rng.below(16)]);
                one(vec![w(data_key), w(program), w(buffer), rs(authority)], data)
            }
            23 => {
                let loader = scene.rng.pick(&[LOADER_V1, LOADER_V2, LOADER_V4, LOADER_V3]);
                let data = Bytes::new().u32(scene.rng.below(3) as u32);
                vec![Instruction::new(loader, vec![ws(spill)], data)]
            }
            _ => vec![Instruction::new(program, vec![w(spill)], Bytes::new().u8(1))],
        }
    }

    fn write_buffer(&mut self, scene: &mut Scene<'_>) -> Vec<Instruction> {
        let (key, elf, payer) = (scene.fresh(), program::small(scene), scene.wallets[0]);
        let authority = self.authority;
        let mut list = vec![made(scene, payer, key, BUFFER_HEADER + elf.len(), LOADER_V3)];
        let metas = vec![w(key), r(authority)];
        list.push(Instruction::new(LOADER_V3, metas, Bytes::new().u32(0)));
        let mut offset = 0;
        for chunk in elf.chunks(900) {
            let data = Bytes::new().u32(1).u32(offset).string(chunk);
            list.push(Instruction::new(LOADER_V3, vec![w(key), rs(authority)], data));
            offset += 900;
        }
        self.buffers.push(key);
        list
    }

    fn deploy(&mut self, scene: &mut Scene<'_>, buffer: Key, authority: Key) -> Vec<Instruction> {
        let (program, payer) = (scene.fresh(), scene.wallets[0]);
        let data_key = if scene.odd(8) { scene.fresh() } else { program_data_of(&program) };
        let elf = scene.accounts.get(&buffer).map_or(500, |it| it.data.len() - BUFFER_HEADER);
        let max = match scene.roll(40, 4, 100) {
            0 => elf - 1,
            1 => 10 * 1024 * 1024 - DATA_HEADER + scene.rng.below(2),
            2 => elf * 2,
            3 => 0,
            _ => elf,
        };
        let mut list = Vec::new();
        if !scene.odd(20) {
            list.push(made(scene, payer, program, 36, LOADER_V3));
        } else {
            let account = if scene.rng.chance(70) {
                Account::new(rent(36), LOADER_V3, vec![0; 36])
            } else {
                program_account(&program)
            };
            scene.put(program, account);
        }
        let metas = vec![ws(payer), w(data_key), w(program), w(buffer), r(RENT), r(CLOCK)];
        let metas = [metas, vec![r(SYSTEM), rs(authority)]].concat();
        list.push(Instruction::new(LOADER_V3, metas, Bytes::new().u32(2).u64(max as u64)));
        if scene.rng.chance(20) {
            list.push(Instruction::new(program, Vec::new(), Bytes::new()));
        }
        self.programs.push(program);
        self.sizes.push(max);
        list
    }
}
