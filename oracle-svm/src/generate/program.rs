//! Random programs in assembly, which use their accounts, syscalls and CPI.
//!
//! A program has a few bodies; the first byte of its instruction data selects one. All know the same
//! list of accounts, by number. First, every program writes a table of the accounts' offsets in the
//! input to the start of the heap.

mod cpi;
mod flaw;
mod infos;
mod statement;

use std::{fmt::Write, sync::Arc};

use selkie_isa::Version;

use super::{
    encode::Bytes,
    ids::*,
    message::{Instruction, Meta, r, rs, w, ws},
    scene::{Scene, own_address},
    world::{SLOT, install, program_data_of, rent},
};
use crate::case::{Account, Key};

/// Address of the table of accounts, which begins with their number.
const TABLE: u64 = 0x3_0000_0000;
/// Offset of the pointer to the instruction data, after the table.
const DATA_AT: u64 = 8 * 80;
/// Scratch memory of statements.
const SCRATCH: u64 = TABLE + 0x600;
/// Offset of the table of owners, whose positions vary in input without padding.
const OWNERS_AT: u64 = DATA_AT + 8;
/// Address of the area in which an invocation is built.
const AREA: u64 = TABLE + 0x1400;
/// Fields of an account in the input.
const SIGNER: u64 = 1;
const WRITABLE: u64 = 2;
const EXECUTABLE: u64 = 3;
const KEY: u64 = 8;
const OWNER: u64 = 40;
const LAMPORTS: u64 = 72;
const DATA_LEN: u64 = 80;
const DATA: u64 = 88;

/// The programs of one case, with the accounts that they are given.
pub(crate) struct Programs {
    ids: Vec<Key>,
    bodies: usize,
    metas: Vec<Meta>,
}

/// A program's source while it is generated.
struct Writer<'s, 'w> {
    scene: &'s mut Scene<'w>,
    text: String,
    rodata: String,
    labels: usize,
    version: Version,
    /// The layout of the input, which is without padding for programs of loader v1.
    is_aligned: bool,
    /// The program itself, and all of them.
    id: Key,
    ids: Vec<Key>,
    /// The accounts that the programs are given, in order.
    metas: Vec<Meta>,
    /// A program derived address: seed and bump.
    own: (Key, u8),
    bodies: usize,
}

impl Programs {
    pub(crate) fn new(scene: &mut Scene<'_>) -> Self {
        let ids: Vec<Key> = (0..1 + scene.rng.below(3)).map(|_| scene.noise()).collect();
        let bodies = 1 + scene.rng.below(4);
        let metas = stage(scene, &ids);
        for id in &ids {
            let version = match scene.rng.below(12) {
                0 => Version::V1,
                1 => Version::V2,
                2..6 => Version::V3,
                _ => Version::V0,
            };
            let loader = scene.rng.pick(&[LOADER_V3, LOADER_V3, LOADER_V3, LOADER_V2, LOADER_V1]);
            let mut writer = Writer {
                text: String::new(),
                rodata: String::new(),
                labels: 0,
                version,
                is_aligned: loader != LOADER_V1,
                id: *id,
                ids: ids.clone(),
                metas: metas.clone(),
                own: own_address(id, b"v"),
                bodies,
                scene,
            };
            let source = writer.program();
            let elf = assemble(&source, version);
            let age = if scene.odd(5) { scene.rng.below(2) as u64 } else { 100 };
            install(&mut scene.accounts, *id, loader, elf, SLOT - age, None);
            scene.prop("program", *id);
            if scene.odd(12) {
                damage(scene, id, loader);
            }
        }
        Self { ids, bodies, metas }
    }

    pub(crate) fn instruction(&self, scene: &mut Scene<'_>) -> Instruction {
        let mut metas = self.metas.clone();
        for meta in &mut metas {
            if scene.odd(1) {
                meta.writable = !meta.writable;
            }
        }
        match scene.roll(50, 4, 60) {
            0 => {
                let again = metas[scene.rng.below(metas.len())];
                metas.insert(scene.rng.below(metas.len()), again);
            }
            1 => metas.truncate(scene.rng.below(metas.len())),
            _ => {}
        }
        let mut data = scene.noise()[..1 + scene.rng.below(31)].to_vec();
        data[0] = scene.rng.below(self.bodies) as u8;
        if scene.odd(3) {
            data.clear();
        }
        Instruction { program: scene.rng.pick(&self.ids), metas, data }
    }
}

/// The accounts that the programs use.
fn stage(scene: &mut Scene<'_>, ids: &[Key]) -> Vec<Meta> {
    let mut metas = vec![ws(scene.wallets[0])];
    for id in ids {
        let (own, _) = own_address(id, b"v");
        if scene.rng.chance(80) {
            let lamports = scene.balance().max(1);
            scene.put(own, Account::new(lamports, SYSTEM, Vec::new()));
        }
        metas.push(w(own));
        for _ in 0..1 + scene.rng.below(2) {
            let key = scene.fresh();
            let len = scene.rng.pick(&[0, 1, 8, 40, 100, 165, 1000, 10_000]);
            let fill = scene.rng.below(256) as u8;
            let edge = scene.rng.pick(&[0, 0, 1, 1_000_000]);
            let extra = if scene.odd(40) { edge } else { 1_000_000_000 };
            let mut lamports = rent(len) + extra;
            if scene.odd(5) {
                lamports -= 1;
            }
            let mut account = Account::new(lamports, *id, vec![fill; len]);
            account.executable = scene.odd(5);
            scene.put(key, account);
            metas.push(if scene.rng.chance(85) { w(key) } else { r(key) });
            scene.prop("owned", key);
        }
    }
    let (wallet, other, fresh) = (scene.wallet(), scene.wallet(), scene.fresh());
    metas.extend([rs(wallet), w(other), if scene.rng.chance(50) { ws(fresh) } else { w(fresh) }]);
    metas.extend([r(SYSTEM), r(scene.rng.pick(&[CLOCK, RENT, INSTRUCTIONS]))]);
    if !scene.odd(20) {
        metas.push(r(MEMO_V4));
    }
    let more = [
        r(TOKEN),
        r(LOADER_V3),
        if scene.odd(40) { w(scene.anybody()) } else { r(scene.anybody()) },
        r(ED25519),
        w(INCINERATOR),
    ];
    for meta in more {
        if scene.rng.chance(35) {
            metas.push(meta);
        }
    }
    if let Some(token) = scene.pick_prop("token") {
        metas.extend([w(token), r(TOKEN)]);
    }
    for id in ids {
        if !scene.odd(10) {
            metas.push(r(*id));
        }
    }
    for index in (1..metas.len()).rev() {
        if scene.rng.chance(50) {
            metas.swap(index, scene.rng.below(index + 1));
        }
    }
    metas
}

/// Makes a program invalid or closed, or makes it look so.
fn damage(scene: &mut Scene<'_>, id: &Key, loader: Key) {
    let kind = scene.rng.below(9);
    let file = if loader == LOADER_V3 { program_data_of(id) } else { *id };
    // The slot stays: agave searches without end for a program deployed in a future slot.
    let (at, bit) = (12 + scene.rng.below(200), scene.rng.below(8));
    let Some(mut account) = scene.accounts.get(&file).cloned() else { return };
    let data = Arc::make_mut(&mut account.data);
    match kind {
        0 => {
            scene.accounts.remove(&file);
            return;
        }
        1 => account.owner = SYSTEM,
        2 => account.owner = scene.rng.pick(&[LOADER_V1, LOADER_V2, LOADER_V3]),
        3 => data.truncate(scene.rng.below(60)),
        4 => account.executable ^= true,
        5 if loader == LOADER_V3 => data[4..12].copy_from_slice(&SLOT.to_le_bytes()),
        6 if loader != LOADER_V3 => {
            account.owner = LOADER_V4;
            let status = scene.rng.below(4) as u64;
            let state = Bytes::new().u64(SLOT - 7).key(&[7; 32]).u64(status);
            data.splice(..0, state.0);
        }
        6 => data.fill(0),
        7 => data.extend_from_slice(&[0; 100]),
        _ => data[at] ^= 1 << bit,
    }
    scene.put(file, account);
}

/// A file to be deployed, in most cases a valid one.
pub(crate) fn small(scene: &mut Scene<'_>) -> Vec<u8> {
    let (is_broken, is_cut, allocates) = (scene.odd(25), scene.odd(8), scene.odd(15));
    let rng = &mut scene.rng;
    let version = if rng.chance(50) { Version::V0 } else { Version::V3 };
    let mut source = String::from(".globl entrypoint\nentrypoint:\n");
    for _ in 0..rng.below(20) {
        writeln!(source, "    mov64 r{}, {}", rng.below(6), rng.below(1000)).expect("text");
    }
    if rng.chance(50) {
        source.push_str("    call sol_log_compute_units_\n");
    }
    if allocates {
        // Valid for execution, but not for deployment.
        source.push_str("    call sol_alloc_free_\n");
    }
    writeln!(source, "    mov64 r0, {}\n    exit", rng.pick(&[0, 0, 0, 1])).expect("text");
    let mut elf = assemble(&source, version);
    if is_broken {
        let at = rng.below(elf.len());
        elf[at] ^= 1 << rng.below(8);
    }
    if is_cut {
        elf.truncate(rng.below(elf.len()));
    }
    elf
}

fn assemble(source: &str, version: Version) -> Vec<u8> {
    let options = selkie_asm::Options { version, strip: true, ..selkie_asm::Options::default() };
    let output = selkie_asm::assemble(source, &options);
    match &output.assembly {
        Some(assembly) => assembly.to_elf(),
        None => panic!("the generator writes what assembles:\n{}", output.render(false)),
    }
}

impl Writer<'_, '_> {
    fn program(&mut self) -> String {
        if self.is_aligned {
            self.line(PROLOGUE);
        } else {
            self.line(UNALIGNED_PROLOGUE);
        }
        for body in 1..self.bodies {
            self.line(&format!("jeq r1, {body}, body_{body}"));
        }
        self.line("ja body_0");
        for body in 0..self.bodies {
            writeln!(self.text, "body_{body}:").expect("text");
            for _ in 0..1 + self.scene.rng.below(7) {
                self.statement();
            }
            let code = match self.scene.roll(15, 3, 300) {
                0 => self.scene.rng.word(),
                1 => (1 + self.scene.rng.below(28) as u64) << 32,
                2 => self.scene.rng.below(30) as u64,
                _ => 0,
            };
            self.set("r0", code);
            self.line("exit");
        }
        self.info_functions();
        let text = std::mem::take(&mut self.text);
        let rodata = std::mem::take(&mut self.rodata);
        format!(
            ".syscall sol_no_such_syscall\n.globl entrypoint\nentrypoint:\n{text}\n.rodata\nnothing:\n    .quad 0\n{rodata}\n"
        )
    }

    fn line(&mut self, line: &str) {
        writeln!(self.text, "    {line}").expect("text");
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("at_{}", self.labels)
    }

    /// The number of an account, in most cases an existing one.
    fn index(&mut self) -> usize {
        let len = self.metas.len();
        if self.scene.odd(2) { len + 1 } else { self.scene.rng.below(len) }
    }

    /// The number of an account that this program owns and may write to, if there is one.
    fn owned(&mut self) -> usize {
        let id = self.id;
        let of = |key: &Key| self.scene.accounts.get(key).is_some_and(|it| it.owner == id);
        let list: Vec<usize> = (0..self.metas.len())
            .filter(|index| self.metas[*index].writable && of(&self.metas[*index].key))
            .collect();
        if list.is_empty() || self.scene.odd(15) {
            self.index()
        } else {
            self.scene.rng.pick(&list)
        }
    }

    /// The number of an account, in most cases a writable one.
    fn writable(&mut self) -> usize {
        let list: Vec<usize> =
            (0..self.metas.len()).filter(|index| self.metas[*index].writable).collect();
        if list.is_empty() || self.scene.odd(15) {
            self.index()
        } else {
            self.scene.rng.pick(&list)
        }
    }

    fn set(&mut self, register: &str, value: u64) {
        if self.version == Version::V2 {
            // It has no instruction of two slots.
            self.line(&format!("mov32 {register}, {}", value as u32 as i32));
            self.line(&format!("hor64 {register}, {}", (value >> 32) as u32 as i32));
        } else {
            self.line(&format!("lddw {register}, {value:#x}"));
        }
    }

    /// Loads the address of a constant.
    fn constant(&mut self, register: &str, label: &str) {
        if self.version == Version::V2 {
            self.set(register, SCRATCH);
        } else {
            self.line(&format!("lddw {register}, {label}"));
        }
    }

    /// Loads the address of a field of an account.
    fn field(&mut self, register: &str, index: usize, field: u64) {
        let (at, offset) = match field {
            _ if self.is_aligned => (8 + 8 * index as u64, field),
            OWNER => (OWNERS_AT + 8 * index as u64, 0),
            EXECUTABLE => (OWNERS_AT + 8 * index as u64, 32),
            KEY => (8 + 8 * index as u64, 3),
            LAMPORTS..=DATA => (8 + 8 * index as u64, field - 37),
            _ => (8 + 8 * index as u64, field),
        };
        self.line(&format!("ldxdw {register}, [r9+{at}]"));
        self.line(&format!("add64 {register}, {offset}"));
    }
}

/// Writes the table, and loads the first byte of the instruction data into r1.
const PROLOGUE: &str = "\
mov64 r9, 3
    lsh64 r9, 32
    ldxdw r7, [r1+0]
    stxdw [r9+0], r7
    add64 r1, 8
    mov64 r6, 0
walk:
    jge r6, r7, walked
    mov64 r8, r6
    lsh64 r8, 3
    add64 r8, r9
    ldxb r3, [r1+0]
    jeq r3, 0xff, first
    lsh64 r3, 3
    add64 r3, r9
    ldxdw r4, [r3+8]
    stxdw [r8+8], r4
    add64 r1, 8
    ja walk_on
first:
    stxdw [r8+8], r1
    ldxdw r4, [r1+80]
    add64 r1, r4
    add64 r1, 10335
    and64 r1, -8
    add64 r1, 8
walk_on:
    add64 r6, 1
    ja walk
walked:
    add64 r1, 8
    stxdw [r9+640], r1
    ldxdw r2, [r1-8]
    mov64 r3, 0
    jeq r2, 0, empty
    ldxb r3, [r1+0]
empty:
    mov64 r1, r3";

/// Like the above for input without padding, with a table of owners.
const UNALIGNED_PROLOGUE: &str = "\
mov64 r9, 3
    lsh64 r9, 32
    ldxdw r7, [r1+0]
    stxdw [r9+0], r7
    add64 r1, 8
    mov64 r6, 0
walk:
    jge r6, r7, walked
    mov64 r8, r6
    lsh64 r8, 3
    add64 r8, r9
    ldxb r3, [r1+0]
    jeq r3, 0xff, first
    lsh64 r3, 3
    add64 r3, r9
    ldxdw r4, [r3+8]
    stxdw [r8+8], r4
    ldxdw r4, [r3+648]
    stxdw [r8+648], r4
    add64 r1, 1
    ja walk_on
first:
    stxdw [r8+8], r1
    ldxdw r4, [r1+43]
    add64 r1, r4
    add64 r1, 51
    stxdw [r8+648], r1
    add64 r1, 41
walk_on:
    add64 r6, 1
    ja walk
walked:
    add64 r1, 8
    stxdw [r9+640], r1
    ldxdw r2, [r1-8]
    mov64 r3, 0
    jeq r2, 0, empty
    ldxb r3, [r1+0]
empty:
    mov64 r1, r3";
