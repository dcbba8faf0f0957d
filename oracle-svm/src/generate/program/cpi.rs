//! Invocations through both CPI syscalls, well-formed as the SDKs build them, and malformed.

use super::{
    AREA, DATA, DATA_AT, DATA_LEN, KEY, LAMPORTS, OWNER, Writer,
    flaw::Flaw,
    infos::{Form, INFOS},
};
use crate::{
    case::Key,
    generate::{
        encode::Bytes,
        ids::*,
        message::{Instruction, Meta, r, rs, w, ws},
        system,
        token::memo,
    },
};

/// Offsets in the area in which an invocation is built.
const SEEDS: u64 = 0x60;
const METAS: u64 = 0x300;
const CONTENT: u64 = 0xb00;

impl Writer<'_, '_> {
    pub(super) fn invoke(&mut self) {
        let skip = self.label();
        let (instruction, is_program) = self.callee();
        if !self.scene.odd(25) {
            // Without a limit, programs would recurse until compute units run out.
            let height = if is_program { 1 + self.scene.rng.below(4) } else { 4 };
            self.line("call sol_get_stack_height");
            self.line(&format!("jgt r0, {height}, {skip}"));
        }
        let flaw = if self.scene.odd(35) { self.flaw(&instruction) } else { Flaw::None };
        self.set("r8", AREA);
        if self.scene.rng.chance(50) {
            self.build_c(&instruction, flaw);
        } else {
            self.build_rust(&instruction, flaw);
        }
        self.text.push_str(&format!("{skip}:\n"));
    }

    /// Picks the program to invoke, and returns whether it is a generated one.
    fn callee(&mut self) -> (Instruction, bool) {
        let (payer, (own, _)) = (self.scene.wallets[0], self.own);
        let system = |metas, data| (Instruction::new(SYSTEM, metas, data), false);
        match self.scene.roll(70, 24, 17) {
            0..8 => {
                // Programs invoke themselves and later ones, so calls do not form longer cycles.
                let own = self.ids.iter().position(|it| *it == self.id).unwrap_or(0);
                let own = if self.scene.odd(30) { 0 } else { own };
                let program = self.scene.rng.pick(&self.ids[own..]);
                let body = self.scene.rng.below(self.bodies) as u8;
                let noise = self.scene.noise();
                let len = self.scene.rng.below(20);
                let data = Bytes::new().u8(body).bytes(&noise[..len]);
                (Instruction::new(program, self.passed_on(), data), true)
            }
            8..12 => {
                let to = self.writable();
                let to = self.metas[to.min(self.metas.len() - 1)].key;
                let amount = self.scene.amount() % 100_000_000;
                let from = if self.scene.rng.chance(40) { own } else { payer };
                system(vec![ws(from), w(to)], Bytes::new().u32(2).u64(amount))
            }
            12..14 if !self.scene.accounts.contains_key(&own) || self.scene.odd(20) => {
                let space = self.scene.space();
                let lamports = 5080 * (128 + space.min(20_000));
                let data = Bytes::new().u32(0).u64(lamports).u64(space).key(&self.id);
                system(vec![ws(payer), ws(own)], data)
            }
            14 => {
                let (space, id) = (self.scene.space(), self.id);
                let data = if self.scene.rng.chance(50) {
                    Bytes::new().u32(8).u64(space)
                } else {
                    Bytes::new().u32(1).key(&id)
                };
                system(vec![ws(own)], data)
            }
            18 => (system::instruction(self.scene), false),
            15..18 => {
                let mut instruction = memo(self.scene);
                instruction.program = MEMO_V4;
                instruction.data.truncate(200);
                // Signers of the caller may sign for the callee.
                instruction.metas = self.metas.iter().filter(|it| it.signer).copied().collect();
                (instruction, false)
            }
            19 => {
                let data = Bytes::new().u8(self.scene.rng.pick(&[3, 9, 5, 21, 17])).u64(1);
                let metas = self.passed_on();
                let count = metas.len().min(4);
                (Instruction::new(TOKEN, metas[..count].to_vec(), data), false)
            }
            20 => {
                let tag = self.scene.rng.pick(&[3, 4, 7, 5, 0, 2]);
                let metas = self.passed_on();
                (Instruction::new(LOADER_V3, metas, Bytes::new().u32(tag)), false)
            }
            21 => {
                let program =
                    self.scene.rng.pick(&[ED25519, NATIVE_LOADER, LOADER_V2, COMPUTE_BUDGET]);
                (Instruction::new(program, Vec::new(), Bytes::new().u8(0)), false)
            }
            _ => {
                let program = self.metas[self.scene.rng.below(self.metas.len())].key;
                (Instruction::new(program, self.passed_on(), Bytes::new().u8(0)), false)
            }
        }
    }

    /// The program's accounts with the privileges that it can pass on.
    fn passed_on(&mut self) -> Vec<Meta> {
        let mut metas = self.metas.clone();
        let own = self.own.0;
        for meta in &mut metas {
            if meta.key == own && self.scene.rng.chance(30) {
                meta.signer = true;
            }
            match self.scene.roll(8, 6, 600) {
                0 => meta.signer = true,
                1 => meta.writable = true,
                2 | 3 => meta.writable = false,
                4 | 5 => meta.signer = false,
                _ => {}
            }
        }
        match self.scene.roll(50, 5, 60) {
            0 => {
                let again = metas[self.scene.rng.below(metas.len())];
                metas.insert(self.scene.rng.below(metas.len()), again);
            }
            1 => {
                metas.remove(self.scene.rng.below(metas.len()));
            }
            2 => metas.truncate(self.scene.rng.below(metas.len())),
            3 => metas.reverse(),
            4 if self.scene.rng.chance(30) => {
                let unknown = self.scene.noise();
                metas.push(self.scene.rng.pick(&[w(unknown), r(unknown), rs(unknown)]));
            }
            _ => {}
        }
        metas
    }

    fn flaw(&mut self, instruction: &Instruction) -> Flaw {
        let rng = &mut self.scene.rng;
        let count = self.metas.len();
        // In most cases of an account of the callee.
        let keys: Vec<usize> = (0..count)
            .filter(|it| instruction.metas.iter().any(|meta| meta.key == self.metas[*it].key))
            .collect();
        let index =
            if keys.is_empty() || rng.chance(10) { rng.below(count) } else { rng.pick(&keys) };
        match rng.below(26) {
            0..9 => Flaw::Info(index, rng.below(10) as u64),
            9 | 10 => Flaw::NoInfo(index),
            11 => Flaw::InfosTwice,
            12 => Flaw::NoInfos,
            13 => Flaw::InfoCount(rng.pick(&[255, 256, 128, 129, 1 << 40, 0])),
            14 => Flaw::MetaCount(rng.pick(&[255, 256, 1 << 40, 0])),
            15 => Flaw::DataLen(rng.pick(&[10_240, 10_241, 0, 1 << 40])),
            16 => Flaw::Shifted,
            17 => Flaw::Flag(rng.below(3)),
            18 => Flaw::SeedLen(rng.pick(&[32, 33, 0, 1 << 40])),
            19 => Flaw::SeedCount(rng.pick(&[16, 17, 0, 1 << 40])),
            20 => Flaw::SignerCount(rng.pick(&[16, 17, 0, 1 << 40])),
            21 => Flaw::WrongSeed,
            22 => Flaw::InfosInInput,
            _ => Flaw::LengthCell(rng.pick(&[0, 1, 10_240, 10_241, 30_000, u64::MAX])),
        }
    }

    pub(super) fn store(&mut self, at: u64, value: u64) {
        self.set("r2", value);
        self.line(&format!("stxdw [r8+{at}], r2"));
    }

    fn store_byte(&mut self, at: u64, value: u64) {
        self.line(&format!("mov64 r2, {value}"));
        self.line(&format!("stxb [r8+{at}], r2"));
    }

    /// Loads the address of `key` into r2: of an account's key, or of a copy written to memory.
    fn address_of(&mut self, key: &Key, spare: u64) {
        match self.metas.iter().position(|it| it.key == *key) {
            Some(index) => self.field("r2", index, KEY),
            None => {
                for (part, at) in key.chunks(8).zip([0, 8, 16, 24]) {
                    let value = u64::from_le_bytes(part.try_into().expect("eight bytes"));
                    self.store(spare + at, value);
                }
                self.set("r2", AREA + spare);
            }
        }
    }

    fn copy_key(&mut self, key: &Key, to: u64) {
        self.address_of(key, to);
        for at in [0, 8, 16, 24] {
            self.line(&format!("ldxdw r3, [r2+{at}]"));
            self.line(&format!("stxdw [r8+{}], r3", to + at));
        }
    }

    fn content(&mut self, data: &[u8]) {
        for (part, at) in data.chunks(8).zip((CONTENT..).step_by(8)) {
            let mut bytes = [0; 8];
            bytes[..part.len()].copy_from_slice(part);
            self.store(at, u64::from_le_bytes(bytes));
        }
    }

    /// The seeds of the program derived address, in either convention.
    fn seeds(&mut self, flaw: Flaw) -> u64 {
        let (_, bump) = self.own;
        let seed = if flaw == Flaw::WrongSeed { b"w" } else { b"v" };
        self.store(SEEDS, u64::from(seed[0]) | u64::from(bump) << 8);
        let first = if let Flaw::SeedLen(len) = flaw { len } else { 1 };
        let slots = [AREA + SEEDS, first, AREA + SEEDS + 1, 1];
        for (value, at) in slots.into_iter().zip([0x10, 0x18, 0x20, 0x28]) {
            self.store(SEEDS + at, value);
        }
        self.store(SEEDS + 8, 0);
        let count = if let Flaw::SeedCount(count) = flaw { count } else { 2 };
        let signers = if let Flaw::SignerCount(count) = flaw { count } else { 1 };
        // Further seeds, all the same.
        let written = signers.min(17);
        for signer in 0..written {
            self.store(SEEDS + 0x180 + 16 * signer, AREA + SEEDS + 0x10);
            self.store(SEEDS + 0x188 + 16 * signer, count);
        }
        for seed in 2..count.min(17) {
            self.store(SEEDS + 0x10 + 16 * seed, AREA + SEEDS + 8);
            self.store(SEEDS + 0x18 + 16 * seed, 0);
        }
        signers
    }

    /// Emits the syscall: with this number of infos, or as many as accounts.
    fn call(&mut self, name: &str, flaw: Flaw, infos: Option<u64>, signers: u64) {
        let infos = if let Flaw::InfoCount(count) = flaw { Some(count) } else { infos };
        self.set("r1", AREA + u64::from(flaw == Flaw::Shifted));
        self.set("r2", AREA + INFOS);
        if flaw == Flaw::InfosInInput {
            let index = self.owned();
            self.field("r2", index, DATA);
        }
        match infos {
            Some(count) => self.set("r3", count),
            None => self.line("ldxdw r3, [r9+0]"),
        }
        if signers == 0 && self.scene.rng.chance(50) {
            self.line("mov64 r4, 0");
        } else {
            self.set("r4", AREA + SEEDS + 0x180);
        }
        self.set("r5", signers);
        if let Flaw::LengthCell(len) = flaw {
            let index = self.owned();
            self.field("r6", index, DATA_LEN);
            self.set("r0", len);
            self.line("stxdw [r6+0], r0");
        }
        self.line(&format!("call {name}"));
        if self.scene.rng.chance(20) {
            let index = self.index();
            self.field("r1", index, LAMPORTS);
            self.line("ldxdw r2, [r1+8]");
            self.line("ldxdw r1, [r1+0]");
            self.line("ldxdw r3, [r9+0]");
            self.line("mov64 r4, 0");
            self.line("mov64 r5, 0");
            self.line("call sol_log_64_");
        }
    }

    fn signer_count(&mut self, instruction: &Instruction, flaw: Flaw) -> u64 {
        let own = self.own.0;
        let is_asked = instruction.metas.iter().any(|it| it.signer && it.key == own);
        let of_seeds = matches!(
            flaw,
            Flaw::SeedLen(_) | Flaw::SeedCount(_) | Flaw::SignerCount(_) | Flaw::WrongSeed
        );
        if of_seeds || (is_asked && self.scene.rng.chance(95)) || self.scene.rng.chance(5) {
            self.seeds(flaw)
        } else {
            0
        }
    }

    fn build_c(&mut self, instruction: &Instruction, flaw: Flaw) {
        let metas =
            if let Flaw::MetaCount(count) = flaw { count } else { instruction.metas.len() as u64 };
        let len = if let Flaw::DataLen(len) = flaw { len } else { instruction.data.len() as u64 };
        self.address_of(&instruction.program, 0x28);
        self.line("stxdw [r8+0], r2");
        for (value, at) in
            [AREA + METAS, metas, AREA + CONTENT, len].into_iter().zip([8, 16, 24, 32])
        {
            self.store(at, value);
        }
        self.content(&instruction.data);
        for (meta, at) in instruction.metas.iter().zip((METAS..CONTENT - 16).step_by(16)) {
            // A key that is no account's is written to scratch memory.
            self.address_of(&meta.key, CONTENT + 0x8c0);
            self.line(&format!("stxdw [r8+{at}], r2"));
            self.store_byte(at + 8, u64::from(meta.writable));
            self.store_byte(at + 9, u64::from(meta.signer));
        }
        if flaw == Flaw::Flag(0) {
            self.store_byte(METAS + 8, 2);
        }
        let infos = self.infos(Form::C, flaw);
        let signers = self.signer_count(instruction, flaw);
        self.call("sol_invoke_signed_c", flaw, infos, signers);
    }

    fn build_rust(&mut self, instruction: &Instruction, flaw: Flaw) {
        let metas =
            if let Flaw::MetaCount(count) = flaw { count } else { instruction.metas.len() as u64 };
        let len = if let Flaw::DataLen(len) = flaw { len } else { instruction.data.len() as u64 };
        let values = [AREA + METAS, metas, metas, AREA + CONTENT, len, len];
        for (value, at) in values.into_iter().zip((0..).step_by(8)) {
            self.store(at, value);
        }
        self.copy_key(&instruction.program, 48);
        self.content(&instruction.data);
        for (meta, at) in instruction.metas.iter().zip((METAS..CONTENT - 34).step_by(34)) {
            self.copy_key(&meta.key, at);
            self.store_byte(at + 32, u64::from(meta.signer));
            self.store_byte(at + 33, u64::from(meta.writable));
        }
        if let Flaw::Flag(which @ (0 | 1)) = flaw {
            self.store_byte(METAS + 32 + which as u64, 2);
        }
        let infos = self.infos(Form::Rust, flaw);
        let signers = self.signer_count(instruction, flaw);
        self.call("sol_invoke_signed_rust", flaw, infos, signers);
    }

    /// Overwrites a field of an account info.
    pub(super) fn spoil(&mut self, at: u64, kind: u64) {
        match kind {
            6..9 => {
                let value = self.scene.rng.pick(&[0, 1, 2, 255]);
                self.store_byte(at, value);
            }
            4 => {
                let len = self.scene.rng.pick(&[0, 1, 10_240, 50, 20_000, u64::MAX]);
                self.store(at, len);
            }
            _ => match self.scene.rng.below(6) {
                0 => {
                    let other = self.index();
                    let field = self.scene.rng.pick(&[KEY, OWNER, LAMPORTS, DATA]);
                    self.field("r2", other, field);
                    self.line(&format!("stxdw [r8+{at}], r2"));
                }
                1 => {
                    self.line(&format!("ldxdw r2, [r8+{at}]"));
                    let by = self.scene.rng.pick(&[1, 8, -8]);
                    self.line(&format!("add64 r2, {by}"));
                    self.line(&format!("stxdw [r8+{at}], r2"));
                }
                2 => self.store(at, AREA + CONTENT),
                3 => self.line(&format!("ldxdw r2, [r9+{DATA_AT}]\n    stxdw [r8+{at}], r2")),
                4 => {
                    // The correct content at another address.
                    self.line(&format!("ldxdw r2, [r8+{at}]"));
                    for part in [0, 8, 16, 24] {
                        self.line(&format!("ldxdw r3, [r2+{part}]"));
                        self.line(&format!("stxdw [r8+{}], r3", CONTENT + 0x880 + part));
                    }
                    self.store(at, AREA + CONTENT + 0x880);
                }
                _ => {
                    let wild = self.scene.rng.pick(&[0, 0x1_0000_0000, 0x3_0001_0000, u64::MAX]);
                    self.store(at, wild);
                }
            },
        }
    }
}
