//! Programs with memory, registers and settings, decoded from a fuzzer's bytes, and the observable
//! outcome of their runs.

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use selkie_elf::{Executable, Functions, SyscallId, Syscalls};
use selkie_isa::{
    Kind, Op, Slot, Version,
    layout::{HEAP_START, INPUT_START, SLOT_BYTES, STACK_START},
    symbol::{murmur3, pc_key},
};
use selkie_vm::{
    Access, Config, Host, Machine, MemoryMap, Meter, Outcome, Program, Region, SyscallError,
    Violation,
};

/// A program, its memory, registers and settings, decoded from the bytes of a fuzzer.
#[derive(Arbitrary, Debug)]
pub struct Input<'a> {
    version: u8,
    call_depth: u8,
    gaps: bool,
    aligned: bool,
    /// Whether words are instructions as they are, or made valid first.
    raw: bool,
    budget: u16,
    /// What the host does on an access violation.
    hook: u8,
    /// Seed of an engine's random numbers.
    #[allow(dead_code, reason = "targets that run the interpreter alone have no use for it")]
    pub seed: u64,
    registers: [u64; 10],
    functions: [u8; 3],
    heap: &'a [u8],
    input: [&'a [u8]; 3],
    text: &'a [u8],
}

/// The observable outcome of a run.
#[derive(PartialEq, Debug)]
pub struct Left {
    result: Result<u64, String>,
    consumed: u64,
    remaining: u64,
    pc: usize,
    registers: [u64; 11],
    depth: usize,
    return_pcs: Vec<usize>,
    memory: Vec<Vec<u8>>,
    asked: Vec<Asked>,
}

/// A call of the host.
#[derive(PartialEq, Debug)]
enum Asked {
    Syscall(u16, [u64; 5], u64),
    Violation(Violation),
}

/// A host with two syscalls, which handles access violations by [`Input::hook`].
struct TestHost {
    hook: u8,
    asked: Vec<Asked>,
}

const FILL: &str = "fill";
const SUM: &str = "sum";

impl Host for TestHost {
    fn syscall(
        &mut self,
        SyscallId(id): SyscallId,
        arguments: [u64; 5],
        memory: &mut MemoryMap<'_>,
        meter: &mut Meter,
    ) -> Result<u64, SyscallError> {
        self.asked.push(Asked::Syscall(id, arguments, meter.remaining()));
        let [vaddr, len, byte, ..] = arguments;
        if id == 1 {
            return Ok(arguments.into_iter().fold(0, u64::wrapping_add));
        }
        // Writes to the given memory, and costs as many compute units as bytes.
        meter.consume(len).map_err(|_| "too much")?;
        memory.slice_mut(vaddr, len)?.fill(byte as u8);
        Ok(len)
    }

    fn access_violation(&mut self, violation: &Violation, region: &mut Region<'_>) {
        self.asked.push(Asked::Violation(*violation));
        if self.hook & 1 != 0 && violation.access == Access::Store {
            region.make_writable();
        }
        if self.hook & 2 != 0 {
            let needed = violation.vaddr.wrapping_sub(region.vaddr()).saturating_add(violation.len);
            region.grow(needed.max(region.len()));
        }
        if self.hook & 4 != 0 {
            region.grow(u64::MAX);
        }
    }
}

impl Input<'_> {
    /// Returns the settings of the machine.
    pub fn config(&self) -> Config {
        Config {
            call_depth_max: usize::from(self.call_depth % 64) + 1,
            stack_frame_gaps: self.gaps,
            aligned_memory: self.aligned,
            ..Config::default()
        }
    }

    /// The program, if its functions do not collide.
    pub fn program(&self) -> Option<Program> {
        let version = Version::ALL[usize::from(self.version) % Version::ALL.len()];
        let mut functions = Functions::default();
        for pc in self.functions.map(u32::from) {
            let _ = functions.register(pc_key(pc), pc, "");
        }
        let syscalls = Syscalls::new([FILL, SUM]).into();
        let text = if self.raw {
            self.text[..self.text.len() / SLOT_BYTES * SLOT_BYTES].to_vec()
        } else {
            self.shaped_text(version)
        };
        Executable::from_text(version, text, 0, functions, syscalls).ok().map(Program::new)
    }

    /// The text, with each word changed to an instruction of the version that the verifier accepts in
    /// most cases.
    fn shaped_text(&self, version: Version) -> Vec<u8> {
        let ops: Vec<Op> =
            Op::ALL.iter().copied().filter(|op| op.versions().contains(version)).collect();
        let words = self.text.as_chunks::<SLOT_BYTES>().0;
        let slots = words.len();
        let mut text = Vec::with_capacity(self.text.len());
        for (pc, word) in words.iter().enumerate() {
            let mut slot = Slot::from_word(u64::from_le_bytes(*word));
            let op = ops[usize::from(slot.code) % ops.len()];
            slot.code = op.code();
            slot.dst %= if matches!(op.kind(), Kind::Alu(..) | Kind::Load(_)) { 10 } else { 11 };
            slot.src %= 11;
            self.bend(op, pc, slots, &mut slot);
            text.extend(slot.to_word().to_le_bytes());
        }
        text
    }

    fn bend(&self, op: Op, pc: usize, slots: usize, slot: &mut Slot) {
        let bits = slot.imm.cast_unsigned();
        let target = bits as usize % slots;
        match op.kind() {
            Kind::Jump | Kind::Branch(..) if slot.off & 7 != 0 => {
                let target = slot.off.cast_unsigned() as usize % slots;
                slot.off = (target as i64 - pc as i64 - 1) as i16;
            }
            Kind::Endian(_) => slot.imm = [16, 32, 64][bits as usize % 3],
            Kind::CallReg(_) => slot.imm %= 11,
            Kind::CallHash if bits & 1 == 0 => {
                slot.imm = pc_key(self.functions[bits as usize / 2 % 3].into()).cast_signed();
            }
            Kind::CallStatic if bits & 1 == 0 => {
                (slot.src, slot.imm) = (1, target as i32 - pc as i32 - 1);
            }
            Kind::CallHash | Kind::CallStatic => {
                let name = if bits & 2 == 0 { FILL } else { SUM };
                (slot.src, slot.imm) = (0, murmur3(name.as_bytes()).cast_signed());
            }
            Kind::Alu(alu, ..) if !alu.divides() && slot.off & 1 == 0 => slot.imm %= 32,
            _ => {}
        }
    }

    /// Runs the program by an engine. `None` if memory cannot be mapped.
    pub fn execute(
        &self,
        program: &Program,
        engine: impl FnOnce(&Program, &mut Machine<'_>, &mut dyn Host) -> Outcome,
    ) -> Option<Left> {
        let (version, config) = (program.executable().version(), self.config());
        let mut buffers = vec![vec![0; config.stack_bytes()], self.heap.to_vec()];
        buffers.extend(self.input.iter().map(|bytes| bytes.to_vec()));
        let mut vaddrs = vec![STACK_START, HEAP_START, INPUT_START];
        vaddrs.push(vaddrs[2] + buffers[2].len() as u64);
        vaddrs.push(vaddrs[3] + buffers[3].len() as u64 + 1);
        let gaps = version.stack_frame_gaps() && config.stack_frame_gaps;
        let regions =
            vaddrs.iter().zip(&mut buffers).enumerate().map(|(index, (&vaddr, bytes))| {
                let half = bytes.len() as u64 / 2;
                let region = Region::writable(vaddr, bytes);
                match index {
                    0 if gaps => region.gapped(config.stack_frame_bytes),
                    3 => region.protected(),
                    4 => region.reserve(half),
                    _ => region,
                }
            });
        // In one window there is one region at most, if memory is aligned.
        let count = if config.aligned_memory || version.aligned_memory() { 3 } else { 5 };
        let regions = regions.take(count).collect();
        let memory = MemoryMap::new(regions, &config, version).ok()?;
        let mut machine = Machine::new(program.executable(), &config, memory, self.budget.into());
        machine.registers_mut()[..10].copy_from_slice(&self.registers);
        let mut host = TestHost { hook: self.hook, asked: Vec::new() };
        let Outcome { result, consumed } = engine(program, &mut machine, &mut host);
        let left = Left {
            result: result.map_err(|trap| format!("{trap:?}")),
            consumed,
            remaining: machine.meter.remaining(),
            pc: machine.pc(),
            registers: *machine.registers(),
            depth: machine.call_depth(),
            return_pcs: machine.return_pcs().collect(),
            memory: Vec::new(),
            asked: host.asked,
        };
        drop(machine);
        Some(Left { memory: buffers, ..left })
    }
}
