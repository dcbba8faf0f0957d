//! Generates random cases.
//!
//! Useful programs execute many instructions before they end. Registers therefore start with
//! addresses near memory, most branches go forward and most operands are valid; a share of each is
//! not.

mod patterns;

use selkie_isa::{
    Alu, Kind, Op, Slot, Version, Width,
    layout::{BYTECODE_START, HEAP_START, INPUT_START, REGION_SIZE, SLOT_BYTES, STACK_START},
    symbol::{murmur3, pc_key},
};
use selkie_vm::Config;

use crate::{
    case::{Case, Hook, RegionSpec, SYSCALLS},
    rng::Rng,
};

/// Generates case `index` of the run with `seed`.
pub(crate) fn case(seed: u64, index: u64, versions: &[Version]) -> Case {
    let mut rng = Rng::new(seed, index);
    let version = rng.pick(versions);
    let style = match rng.below(40) {
        0 | 1 => "words",
        2..=10 => "structured",
        11..=13 => "straight",
        14..=16 => "calls",
        17..=20 => "mutated",
        21..=30 => "blocks",
        _ => "functions",
    };
    let config = config(&mut rng);
    let regions = regions(&mut rng, version, &config);
    let mut generator = Generator {
        addresses: Addresses::new(&mut rng, &regions, &config),
        rng,
        version,
        ops: Op::ALL.iter().copied().filter(|op| op.versions().contains(version)).collect(),
        functions: Vec::new(),
        words: Vec::new(),
        sloppy: false,
        slots: 0,
        call_depth: config.call_depth_max,
        frame_bytes: config.stack_frame_bytes.cast_signed(),
    };
    let text = generator.text(style);
    let slots = text.len() / SLOT_BYTES;
    let Generator { mut rng, mut functions, addresses, .. } = generator;
    functions.retain(|&(_, pc)| (pc as usize) < slots);
    let entry_pc = if rng.chance(85) { 0 } else { rng.below(slots) as u32 };
    let functions = with_entry(functions, entry_pc, version);
    let registers = core::array::from_fn(|index| match index {
        1 => INPUT_START,
        2..=5 if rng.chance(60) => value(&mut rng, &addresses, slots),
        _ => addresses.pick(&mut rng),
    });
    let mut regions = regions;
    regions[0].len = text.len();
    regions[0].bytes.clone_from(&text);
    let budget = budget(&mut rng, slots);
    Case { style, version, text, entry_pc, functions, config, budget, registers, regions }
}

/// Functions with their slots, the entry among them, since anza's engine finds it as a function.
fn with_entry(mut functions: Vec<(u32, u32)>, entry_pc: u32, version: Version) -> Vec<(u32, u32)> {
    if functions.iter().all(|&(_, pc)| pc != entry_pc) {
        let key = if version.static_calls() { entry_pc } else { pc_key(entry_pc) };
        functions.push((key, entry_pc));
    }
    functions
}

fn config(rng: &mut Rng) -> Config {
    Config {
        call_depth_max: match rng.below(8) {
            0 => 64,
            1 => rng.below(64) + 1,
            _ => rng.below(6) + 1,
        },
        stack_frame_bytes: if rng.chance(85) { 4096 } else { rng.pick(&[64, 512, 1024, 8192]) },
        stack_frame_gaps: rng.chance(60),
        aligned_memory: rng.chance(50),
        metered: rng.chance(93),
    }
}

fn budget(rng: &mut Rng, slots: usize) -> u64 {
    (match rng.below(10) {
        0 => rng.below(4),
        1 | 2 => rng.below(40),
        3 => rng.below(slots + 4),
        4 => slots.saturating_sub(1) + rng.below(4),
        _ => 200 + rng.below(2000),
    }) as u64
}

/// The first region is the program's own; its bytes are filled in later.
fn regions(rng: &mut Rng, version: Version, config: &Config) -> Vec<RegionSpec> {
    let mut regions = vec![RegionSpec::new(Case::program_vaddr(version), Vec::new(), false)];
    if !rng.chance(3) {
        let mut stack = RegionSpec::new(STACK_START, vec![0; config.stack_bytes()], true);
        stack.gapped = version.stack_frame_gaps() && config.stack_frame_gaps;
        regions.push(stack);
    }
    if !rng.chance(5) {
        let len = match rng.below(4) {
            0 => rng.below(40),
            1 => 32 * 1024,
            _ => rng.below(2000),
        };
        regions.push(RegionSpec::new(HEAP_START, noise(rng, len), true));
    }
    for region in &mut regions[1..] {
        if rng.chance(6) {
            region.hook = Some(hook(rng, region.len));
            region.len -= rng.below(region.len + 1);
            region.writable = rng.chance(70);
        }
    }
    let aligned = config.aligned_memory || version.aligned_memory();
    let pieces = match rng.below(8) {
        0 => 0,
        1 if !aligned => 20 + rng.below(30),
        2..=5 if !aligned => 1 + rng.below(8),
        _ => 1,
    };
    input(rng, &mut regions, pieces);
    if rng.chance(6) {
        odd_region(rng, &mut regions);
    }
    regions
}

fn hook(rng: &mut Rng, capacity: usize) -> Hook {
    let replaces = capacity <= 4096 && rng.chance(20);
    Hook(rng.below(16) as u8 | if replaces { Hook::REPLACE } else { 0 })
}

/// Adjacent regions, with and without gaps.
fn input(rng: &mut Rng, regions: &mut Vec<RegionSpec>, pieces: usize) {
    let mut vaddr = INPUT_START;
    for _ in 0..pieces {
        let capacity = match rng.below(8) {
            0 => 0,
            1 => rng.below(3000),
            _ => rng.below(90),
        };
        let mut region = RegionSpec::new(vaddr, noise(rng, capacity), rng.chance(70));
        if rng.chance(35) {
            region.hook = Some(hook(rng, capacity));
            region.len -= rng.below(region.len + 1);
        }
        // The next region leaves space for all of the buffer, for none of the rest, or for a part.
        let reserved = if rng.chance(70) { capacity } else { region.len };
        vaddr += (reserved + if rng.chance(25) { rng.below(20) } else { 0 }) as u64;
        regions.push(region);
    }
}

/// Adds a region at an address that most memory maps lack.
fn odd_region(rng: &mut Rng, regions: &mut Vec<RegionSpec>) {
    let vaddr = match rng.below(4) {
        0 => REGION_SIZE * rng.below(8) as u64,
        1 => REGION_SIZE * (5 + rng.below(4) as u64) - rng.below(20) as u64,
        2 => HEAP_START + rng.below(64) as u64,
        _ => INPUT_START + rng.below(200) as u64,
    };
    let len = rng.below(60);
    let region = RegionSpec::new(vaddr, noise(rng, len), rng.chance(60));
    regions.push(region);
}

fn noise(rng: &mut Rng, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    for byte in bytes.iter_mut().take(64) {
        *byte = rng.word() as u8;
    }
    bytes
}

/// Bytes over which most accesses from one base address spread.
const SPREAD_BYTES: u64 = 72;

/// Addresses of memory, and now and then of the edges of memory.
#[derive(Debug)]
struct Addresses {
    inside: Vec<u64>,
    /// Those with [`SPREAD_BYTES`] after them.
    bases: Vec<u64>,
    edges: Vec<u64>,
}

impl Addresses {
    fn new(rng: &mut Rng, regions: &[RegionSpec], config: &Config) -> Self {
        let (mut inside, mut bases) = (vec![], vec![]);
        let mut edges = vec![0, u64::MAX, u64::MAX - 7, BYTECODE_START, STACK_START - 1];
        for region in regions {
            let span = (region.len as u64) << u32::from(region.gapped);
            let end = region.vaddr + span;
            for _ in 0..if span > 16 { 2 } else { 0 } {
                let within = region.vaddr + rng.below(span as usize - 8) as u64;
                inside.extend([region.vaddr, within, within & !7, end - 8]);
            }
            // Of regions with gaps, the first frame.
            let plain = if region.gapped { config.stack_frame_bytes } else { span }.min(span);
            if region.writable && plain > SPREAD_BYTES {
                bases.push(region.vaddr + rng.below((plain - SPREAD_BYTES) as usize) as u64);
            }
            edges.push(end.wrapping_add_signed(rng.range(-9, 9)));
            edges.push(region.vaddr.wrapping_add_signed(rng.range(-9, 3)));
        }
        let frame = config.stack_frame_bytes;
        for _ in 0..4 {
            let slot = rng.below(2 * config.call_depth_max + 4) as u64;
            let edge = STACK_START + slot * frame;
            edges.extend([edge + frame / 2, edge.wrapping_add_signed(rng.range(-9, 9))]);
        }
        if inside.is_empty() {
            inside.push(BYTECODE_START);
        }
        Self { inside, bases, edges }
    }

    fn pick(&self, rng: &mut Rng) -> u64 {
        let edge = rng.chance(12);
        rng.pick(if edge { &self.edges } else { &self.inside })
    }

    /// A base address with memory on both sides, or one near an edge.
    fn pick_base(&self, rng: &mut Rng) -> u64 {
        match rng.below(10) {
            0 => rng.pick(&self.edges).wrapping_add_signed(rng.range(-48, 8)),
            1 | 2 => self.pick(rng),
            _ if self.bases.is_empty() => self.pick(rng),
            _ => rng.pick(&self.bases),
        }
    }
}

/// A register's initial value: an address, a number near a limit, or any other.
fn value(rng: &mut Rng, addresses: &Addresses, slots: usize) -> u64 {
    match rng.below(8) {
        0 => rng.pick(&[0, 1, 2, 7, 8, 63, 64, 255, 256]),
        1 => {
            rng.pick(&[u64::MAX, 1 << 63, i64::MAX as u64, 1 << 31, 0xffff_ffff, 0xffff_ffff << 31])
        }
        2 => 1 << rng.below(64),
        3 => rng.word(),
        4 => rng.range(-100, 100) as u64,
        5 => {
            let pc = BYTECODE_START + 8 * rng.below(slots + 2) as u64;
            if rng.chance(80) { pc } else { pc.wrapping_add_signed(rng.range(-9, 9)) }
        }
        _ => addresses.pick(rng),
    }
}

/// Memory, registers and settings for a program loaded from a file.
pub(crate) fn around(
    rng: &mut Rng,
    version: Version,
    text: Vec<u8>,
    program: RegionSpec,
    entry_pc: u32,
) -> Case {
    let config = Config { aligned_memory: false, ..Config::default() };
    let mut stack = RegionSpec::new(STACK_START, vec![0; config.stack_bytes()], true);
    stack.gapped = version.stack_frame_gaps();
    let heap = RegionSpec::new(HEAP_START, vec![0; 4096], true);
    let input = RegionSpec::new(INPUT_START, noise(rng, 300), true);
    Case {
        style: "file",
        version,
        text,
        entry_pc,
        functions: Vec::new(),
        config,
        budget: 50 + rng.below(1000) as u64,
        registers: core::array::from_fn(|index| if index == 1 { INPUT_START } else { 0 }),
        regions: vec![program, stack, heap, input],
    }
}

struct Generator {
    rng: Rng,
    version: Version,
    /// The instructions of the version.
    ops: Vec<Op>,
    addresses: Addresses,
    functions: Vec<(u32, u32)>,
    words: Vec<u64>,
    /// Whether operands may break the verifier's rules.
    sloppy: bool,
    slots: usize,
    call_depth: usize,
    frame_bytes: i64,
}

impl Generator {
    fn text(&mut self, style: &str) -> Vec<u8> {
        self.sloppy = self.rng.chance(20);
        self.slots = match style {
            "straight" => 200 + self.rng.below(500),
            "words" => 1 + self.rng.below(24),
            _ if self.rng.chance(20) => 1 + self.rng.below(8),
            _ => 8 + self.rng.below(90),
        };
        if style == "functions" {
            self.function_text();
        } else {
            self.declare_functions();
        }
        while style != "functions" && self.words.len() < self.slots {
            match style {
                "words" => self.random_word(),
                "straight" => self.straight(),
                "blocks" => self.pattern(),
                "calls" => self.with_calls(35),
                _ => self.with_calls(9),
            }
        }
        if self.rng.chance(92) {
            self.push(Op::Exit, 0, 0, 0, 0);
        }
        if style != "words" {
            self.mend_jumps();
        }
        if style == "mutated" {
            self.mutate();
        }
        let mut text: Vec<u8> = self.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        if self.rng.chance(1) {
            text.truncate(self.rng.below(text.len() + 1));
        }
        text
    }

    fn declare_functions(&mut self) {
        for _ in 0..self.rng.below(5) {
            let pc = self.rng.below(self.slots) as u32;
            let key = if self.rng.chance(50) { pc } else { pc_key(pc) };
            if self.functions.iter().all(|&(known, at)| known != key && at != pc) {
                self.functions.push((key, pc));
            }
        }
    }

    fn push(&mut self, op: Op, dst: u8, src: u8, off: i16, imm: i32) {
        self.words.push(Slot { code: op.code(), dst, src, off, imm }.to_word());
    }

    fn op(&mut self, wanted: impl Fn(Kind) -> bool) -> Option<Op> {
        let fits = |op: &&Op| wanted(op.kind());
        let count = self.ops.iter().filter(fits).count();
        let chosen = self.rng.below(count);
        self.ops.iter().filter(fits).nth(chosen).copied()
    }

    /// A destination register. The upper ones hold addresses and are rarely chosen.
    fn data(&mut self) -> u8 {
        match self.rng.below(40) {
            0 if self.sloppy => 10,
            1 => 6 + self.rng.below(4) as u8,
            2 => 1,
            _ => self.rng.pick(&[0, 2, 3, 4, 5]),
        }
    }

    fn source(&mut self) -> u8 {
        self.rng.below(11) as u8
    }

    fn base(&mut self) -> u8 {
        match self.rng.below(10) {
            0..=5 => 6 + self.rng.below(4) as u8,
            6 | 7 => 10,
            8 => 1,
            _ if self.rng.chance(25) => self.source(),
            _ => 9,
        }
    }

    fn random_word(&mut self) {
        let word = self.rng.word();
        let mut slot = Slot::from_word(word);
        if self.rng.chance(93) {
            slot.code = self.rng.pick(&self.ops).code();
            slot.dst %= 11;
            slot.src %= 11;
            if self.rng.chance(60) {
                slot.off = self.rng.range(-2, 6) as i16;
                slot.imm = self.rng.range(0, 70) as i32;
            }
        }
        self.words.push(slot.to_word());
    }

    fn straight(&mut self) {
        match self.rng.below(100) {
            0..=64 => self.alu(),
            65..=94 => self.memory(),
            95 => self.branch(),
            96 => self.call(),
            _ => self.constant(),
        }
    }

    fn with_calls(&mut self, calls: usize) {
        if self.rng.chance(calls) {
            match self.rng.below(12) {
                0..=5 => self.call(),
                6..=8 => self.call_register(),
                9 | 10 => self.syscall(),
                _ => self.push(Op::Exit, 0, 0, 0, 0),
            }
            return;
        }
        match self.rng.below(100) {
            0..=36 => self.alu(),
            37..=65 => self.memory(),
            66..=82 => self.branch(),
            83..=86 => self.syscall(),
            87 if self.sloppy => self.random_word(),
            88 | 89 if self.version.dynamic_frames() => {
                let frames = self.rng.range(-70, 70) as i32 * 64;
                self.push(Op::Add64Imm, 10, 0, 0, frames);
            }
            90 => self.push(Op::Exit, 0, 0, 0, 0),
            _ => self.constant(),
        }
    }

    fn alu(&mut self) {
        let Some(op) =
            self.op(|kind| matches!(kind, Kind::Alu(..) | Kind::Neg(_) | Kind::Endian(_)))
        else {
            return;
        };
        let (dst, src) = (self.data(), self.source());
        let imm = self.immediate(op);
        if let Kind::Alu(Alu::Sdiv | Alu::Srem, width, _) = op.kind()
            && self.rng.chance(10)
        {
            // The only quotient that overflows.
            self.load_constant(dst, if width == Width::W64 { 1 << 63 } else { 1 << 31 });
        }
        let off = if self.rng.chance(95) { 0 } else { self.rng.word() as i16 };
        self.push(op, dst, src, off, imm);
    }

    fn immediate(&mut self, op: Op) -> i32 {
        let any = value(&mut self.rng, &self.addresses, self.slots) as i32;
        if self.sloppy && self.rng.chance(4) {
            return any;
        }
        match op.kind() {
            Kind::Alu(Alu::Lsh | Alu::Rsh | Alu::Arsh, width, _) => {
                self.rng.below(if width == Width::W64 { 64 } else { 32 }) as i32
            }
            Kind::Alu(Alu::Div | Alu::Mod | Alu::Sdiv | Alu::Srem, ..) => {
                if self.rng.chance(20) {
                    -1
                } else {
                    any.max(-5) | 1
                }
            }
            Kind::Endian(_) => self.rng.pick(&[16, 32, 64]),
            _ => any,
        }
    }

    fn memory(&mut self) {
        let Some(op) =
            self.op(|kind| matches!(kind, Kind::Load(_) | Kind::StoreImm(_) | Kind::StoreReg(_)))
        else {
            return;
        };
        let (base, other) = (self.base(), self.data());
        let off = match self.rng.below(10) {
            _ if base == 10 && self.rng.chance(90) => -(self.rng.below(64) as i16) - 8,
            0..=5 => 0,
            6 | 7 => self.rng.range(0, 16) as i16,
            8 => self.rng.range(-16, 600) as i16,
            _ if self.rng.chance(30) => self.rng.word() as i16,
            _ => 1,
        };
        let imm = self.rng.word() as i32;
        match op.kind() {
            Kind::Load(_) => self.push(op, other, base, off, 0),
            Kind::StoreReg(_) => self.push(op, base, other, off, 0),
            _ => self.push(op, base, 0, off, imm),
        }
    }

    fn branch(&mut self) {
        let Some(op) = self.op(|kind| matches!(kind, Kind::Jump | Kind::Branch(..))) else {
            return;
        };
        let pc = self.words.len() as i64;
        let last = self.slots as i64 - pc - 1;
        let off = match self.rng.below(20) {
            0 if self.sloppy => self.rng.word() as i16 as i64,
            1 | 2 => -self.rng.range(0, pc.min(12)) - 1,
            _ => self.rng.range(0, last.clamp(0, 9)),
        };
        let (dst, src) = (self.rng.below(10) as u8, self.source());
        let imm = value(&mut self.rng, &self.addresses, self.slots) as i32;
        self.push(op, dst, src, off as i16, imm);
    }

    fn call(&mut self) {
        let pc = self.words.len();
        let target = self.rng.below(self.slots);
        if self.version.static_calls() {
            let imm = if self.rng.chance(93) {
                target as i32 - pc as i32 - 1
            } else {
                self.rng.range(-200, 200) as i32
            };
            let src = if self.rng.chance(96) { 1 } else { self.source() };
            self.push(Op::CallStatic, 0, src, 0, imm);
            return;
        }
        let key = match self.functions.len() {
            0 => self.rng.below(self.slots) as u32,
            count => self.functions[self.rng.below(count)].0,
        };
        let key = if self.rng.chance(94) { key } else { self.rng.word() as u32 };
        self.push(Op::CallHash, 0, 0, 0, key.cast_signed());
    }

    fn syscall(&mut self) {
        // The failing syscall ends the program, so it is rare.
        let name = match self.rng.below(SYSCALLS.len() * 4) {
            index if SYSCALLS[index / 4] == "bpf_syscall_err" && index % 4 != 0 => SYSCALLS[0],
            index => SYSCALLS[index / 4],
        };
        if name.contains("mem") || name.contains("string") {
            let address = self.addresses.pick(&mut self.rng);
            let len = self.rng.below(12) as u64;
            self.load_constant(1, address);
            self.load_constant(2, len);
        }
        let op = if self.version.static_calls() { Op::CallStatic } else { Op::CallHash };
        self.push(op, 0, 0, 0, murmur3(name.as_bytes()).cast_signed());
    }

    fn call_register(&mut self) {
        let register = self.data();
        if self.rng.chance(80) {
            let mut target = BYTECODE_START + 8 * self.rng.below(self.slots) as u64;
            if self.rng.chance(12) {
                target = target.wrapping_add_signed(self.rng.range(-9, 9));
            } else if self.rng.chance(6) {
                target = value(&mut self.rng, &self.addresses, self.slots);
            }
            self.load_constant(register, target);
        }
        self.callx(register);
    }

    fn constant(&mut self) {
        let register = if self.rng.chance(50) { 6 + self.rng.below(4) as u8 } else { self.data() };
        let value = if register > 5 || self.rng.chance(30) {
            self.addresses.pick(&mut self.rng)
        } else {
            value(&mut self.rng, &self.addresses, self.slots)
        };
        self.load_constant(register, value);
    }

    fn load_constant(&mut self, register: u8, value: u64) {
        let (low, high) = (value as i32, (value >> 32) as i32);
        if Op::decode(self.version, Op::Lddw.code()) == Some(Op::Lddw) {
            self.push(Op::Lddw, register, 0, 0, low);
            self.push(Op::Tail, 0, 0, 0, high);
        } else {
            self.push(Op::Mov32Imm, register, 0, 0, low);
            self.push(Op::Hor64, register, 0, 0, high);
        }
    }

    /// Redirects most jumps that lead into the second half of an `lddw` or out of the program.
    fn mend_jumps(&mut self) {
        if self.sloppy && self.rng.chance(50) {
            return;
        }
        let slots = self.words.len() as i64;
        for pc in 0..self.words.len() {
            let mut slot = Slot::from_word(self.words[pc]);
            let kind = Op::decode(self.version, slot.code).map(Op::kind);
            if !matches!(kind, Some(Kind::Jump | Kind::Branch(..))) {
                continue;
            }
            let target = pc as i64 + 1 + i64::from(slot.off);
            if !(0..slots).contains(&target) {
                slot.off = 0;
            } else if self.words[target as usize] as u8 == 0 {
                slot.off += if target + 1 < slots { 1 } else { -1 };
            }
            self.words[pc] = slot.to_word();
        }
    }

    fn mutate(&mut self) {
        for _ in 0..1 + self.rng.below(4) {
            let at = self.rng.below(self.words.len());
            let other = self.rng.below(self.words.len());
            match self.rng.below(8) {
                0 | 1 => self.words[at] ^= 1 << self.rng.below(64),
                2 => self.words.swap(at, other),
                3 => self.words.insert(at, self.words[other]),
                4 if self.words.len() > 1 => {
                    self.words.remove(at);
                }
                5 => self.words[at] = self.rng.word(),
                6 => {
                    let mut slot = Slot::from_word(self.words[at]);
                    slot.code = self.rng.pick(&self.ops).code();
                    self.words[at] = slot.to_word();
                }
                _ => {
                    let mut slot = Slot::from_word(self.words[at]);
                    slot.imm = value(&mut self.rng, &self.addresses, self.slots) as i32;
                    self.words[at] = slot.to_word();
                }
            }
        }
    }
}
