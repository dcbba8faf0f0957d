//! Cases: programs with memory, registers and settings, in terms that both engines share.

use core::fmt::{self, Write as _};

use selkie_isa::{
    Field, Insn, Kind, NoNames, Op, Operand, Slot, Version,
    layout::{BYTECODE_START, RODATA_START, SLOT_BYTES},
    symbol::murmur3,
};
use selkie_vm::Config;

/// `ja +0`: does nothing, in every version.
pub(crate) const NOP: [u8; SLOT_BYTES] = [0x05, 0, 0, 0, 0, 0, 0, 0];

/// The syscalls of both sides, which [`crate::syscalls`] implements.
pub(crate) const SYSCALLS: [&str; 7] = [
    "accumulator",
    "bpf_gather_bytes",
    "bpf_mem_frob",
    "bpf_str_cmp",
    "bpf_syscall_err",
    "bpf_syscall_string",
    COSTING_SYSCALL,
];

/// The syscall that costs compute units.
const COSTING_SYSCALL: &str = "vmgen_mix_";

/// A region of guest memory.
#[derive(Clone, Debug)]
pub(crate) struct RegionSpec {
    pub(crate) vaddr: u64,
    /// The whole buffer; the guest sees the first `len` bytes at first.
    pub(crate) bytes: Vec<u8>,
    pub(crate) len: usize,
    pub(crate) writable: bool,
    pub(crate) gapped: bool,
    /// What the host does when an access is refused.
    pub(crate) hook: Option<Hook>,
}

impl RegionSpec {
    pub(crate) fn new(vaddr: u64, bytes: Vec<u8>, writable: bool) -> Self {
        Self { vaddr, len: bytes.len(), bytes, writable, gapped: false, hook: None }
    }

    /// Bytes by which a hook may replace the region's.
    pub(crate) fn other_bytes(&self) -> Box<[u8]> {
        self.bytes.iter().map(|byte| !byte).collect()
    }

    /// Whether a hook may have replaced the region's buffer.
    pub(crate) fn may_be_replaced(&self) -> bool {
        self.hook.is_some_and(Hook::replaces)
    }
}

/// What the host does when an access of a region is refused: a set of bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hook(pub(crate) u8);

/// A refused access, as a hook sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refused {
    pub(crate) store: bool,
    pub(crate) vaddr: u64,
    pub(crate) len: u64,
    pub(crate) len_max: u64,
    pub(crate) region_vaddr: u64,
    pub(crate) region_len: u64,
    pub(crate) capacity: u64,
}

impl Hook {
    /// Let the region grow to what the access needs.
    pub(crate) const GROW: u8 = 1;
    /// Make the region writable.
    pub(crate) const UNSHARE: u8 = 2;
    /// Act on loads too.
    pub(crate) const LOADS: u8 = 4;
    /// Let the region grow to all of its buffer, whatever follows.
    pub(crate) const GREEDY: u8 = 8;
    /// Back the region by another buffer, of the same size and with other bytes.
    pub(crate) const REPLACE: u8 = 16;

    fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }

    pub(crate) fn unshares(self) -> bool {
        self.has(Self::UNSHARE)
    }

    pub(crate) fn replaces(self) -> bool {
        self.has(Self::REPLACE)
    }

    /// Returns the change of the region, if the host makes one.
    pub(crate) fn decide(self, refused: Refused) -> Option<Decision> {
        let Refused { store, vaddr, len, len_max, region_vaddr, region_len, capacity } = refused;
        if !store && !self.has(Self::LOADS) {
            return None;
        }
        if self.replaces() {
            return Some(Decision::Replace);
        }
        let needed = vaddr.wrapping_sub(region_vaddr).saturating_add(len);
        let grown = if self.has(Self::GREEDY) {
            capacity
        } else if self.has(Self::GROW) && needed <= len_max.min(capacity) {
            needed.max(region_len)
        } else {
            region_len
        };
        Some(Decision::Change { len: grown, unshared: self.unshares() })
    }
}

/// What a hook does to a region.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Decision {
    /// The region gets this length, and becomes writable if `unshared`.
    Change { len: u64, unshared: bool },
    /// The region gets [`RegionSpec::other_bytes`].
    Replace,
}

impl Refused {
    /// The access in numbers, for a [`Trace`](crate::observed::Trace).
    pub(crate) fn numbers(self) -> [u64; 7] {
        let Self { store, vaddr, len, len_max, region_vaddr, region_len, capacity } = self;
        [store.into(), vaddr, len, len_max, region_vaddr, region_len, capacity]
    }
}

/// A program with its memory, registers and settings.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) style: &'static str,
    pub(crate) version: Version,
    pub(crate) text: Vec<u8>,
    pub(crate) entry_pc: u32,
    /// The targets of hashed calls: key and slot.
    pub(crate) functions: Vec<(u32, u32)>,
    pub(crate) config: Config,
    pub(crate) budget: u64,
    /// r0 to r9; r10 is the machine's.
    pub(crate) registers: [u64; 10],
    pub(crate) regions: Vec<RegionSpec>,
}

impl Case {
    pub(crate) fn slots(&self) -> usize {
        self.text.len() / SLOT_BYTES
    }

    pub(crate) fn slot(&self, pc: usize) -> Option<Slot> {
        Slot::read(&self.text, pc)
    }

    /// The guest address of the read-only image of a program made of text alone.
    pub(crate) fn program_vaddr(version: Version) -> u64 {
        if version.strict_elf() { RODATA_START } else { BYTECODE_START }
    }

    /// Whether anza's engine can run this program without verifying it first. Some code of it relies
    /// on the verifier, and would panic or read out of bounds.
    pub(crate) fn runs_unverified(&self) -> bool {
        let slots = self.slots();
        self.text.len() == slots * SLOT_BYTES
            && slots > 0
            && (0..slots).all(|pc| self.slot_runs_unverified(pc, slots))
    }

    fn slot_runs_unverified(&self, pc: usize, slots: usize) -> bool {
        let Some(slot) = self.slot(pc) else { return false };
        let registers = slot.dst <= 10 && slot.src <= 10;
        registers
            && match Op::decode(self.version, slot.code).map(Op::kind) {
                Some(Kind::LoadImm64) => pc + 1 < slots,
                Some(Kind::CallReg(Field::InImm)) => (0..=10).contains(&slot.imm),
                Some(Kind::Alu(alu, _, Operand::Imm | Operand::Uimm)) => {
                    slot.imm != 0 || !alu.divides()
                }
                _ => true,
            }
    }

    /// Whether a vector of the kind `exec` can express the case. It cannot if hooks handle access
    /// violations, or if a syscall costs compute units.
    pub(crate) fn can_be_vector(&self) -> bool {
        let hooked = self.regions.iter().any(|it| it.hook.is_some() || it.len != it.bytes.len());
        let key = murmur3(COSTING_SYSCALL.as_bytes()).cast_signed();
        let costs = (0..self.slots()).any(|pc| self.slot(pc).is_some_and(|slot| slot.imm == key));
        !hooked && !costs
    }

    /// The case as one line of the conformance vectors' `exec` kind, without expectations.
    pub(crate) fn to_vector(&self, name: &str, expectations: &str) -> String {
        let Self { version, text, entry_pc, functions, config, budget, .. } = self;
        let functions: Vec<String> =
            functions.iter().map(|(key, pc)| format!("[{key},{pc},\"function_{pc}\"]")).collect();
        let names = SYSCALLS.map(|name| format!("\"{name}\""));
        let registers: Vec<String> = self.registers.iter().map(u64::to_string).collect();
        let regions: Vec<String> =
            self.regions.iter().map(|it| region_vector(it, config)).collect();
        format!(
            "{{\"name\":\"{name}\",\"kind\":\"exec\",\"sbpf_version\":{},\"config\":{{\
             \"max_call_depth\":{},\"stack_frame_size\":{},\"enable_stack_frame_gaps\":{},\
             \"aligned_memory_mapping\":{},\"enable_instruction_meter\":{}}},\"syscalls\":[{}],\
             \"text\":\"{}\",\"entry_pc\":{entry_pc},\"functions\":[{}],\"budget\":{budget},\
             \"regs\":[{},null],\"regions\":[{}]{expectations}}}",
            *version as u8,
            config.call_depth_max,
            config.stack_frame_bytes,
            config.stack_frame_gaps,
            config.aligned_memory,
            config.metered,
            names.join(","),
            hex(text),
            functions.join(","),
            registers.join(","),
            regions.join(","),
        )
    }
}

fn region_vector(region: &RegionSpec, config: &Config) -> String {
    let RegionSpec { vaddr, bytes, len, writable, gapped, .. } = region;
    let gap = if *gapped { config.stack_frame_bytes } else { 0 };
    let used = bytes[..*len].iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    format!(
        "{{\"vaddr\":{vaddr},\"len\":{len},\"writable\":{writable},\"gap\":{gap},\"hex\":\"{}\"}}",
        hex(&bytes[..used])
    )
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Quotes a text for JSON.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\0'..='\x1f' => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// Describes the case for a reader, with all that is needed to execute it by hand.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?} {}, entry {}", self.version, self.style, self.entry_pc)?;
        writeln!(f, "budget {}, {:?}", self.budget, self.config)?;
        for (index, value) in self.registers.iter().enumerate().filter(|(_, value)| **value != 0) {
            writeln!(f, "  r{index} = {value:#x}")?;
        }
        for (key, pc) in &self.functions {
            writeln!(f, "  function {key:#x} at {pc}")?;
        }
        for RegionSpec { vaddr, bytes, len, writable, gapped, hook } in &self.regions {
            let access = if *writable { "rw" } else { "r" };
            let gaps = if *gapped { ", gaps" } else { "" };
            let (end, capacity) = (vaddr + *len as u64, bytes.len());
            writeln!(f, "  region {vaddr:#x}..{end:#x} {access}{gaps}, of {capacity}, {hook:?}")?;
        }
        for pc in 0..self.slots() {
            let word = &self.text[pc * SLOT_BYTES..][..SLOT_BYTES];
            // Of a sequence of no-ops, only the first and the last are printed.
            let idle = |pc: usize| self.text.as_chunks().0.get(pc) == Some(&NOP);
            if pc > 0 && idle(pc - 1) && idle(pc) && idle(pc + 1) {
                continue;
            }
            match Insn::decode(self.version, &self.text, pc) {
                Some(insn) => {
                    writeln!(f, "  {pc:4} {}  {}", hex(word), insn.display(pc, &NoNames))?
                }
                None => writeln!(f, "  {pc:4} {}", hex(word))?,
            }
        }
        if !self.can_be_vector() {
            writeln!(f, "the vector cannot say all of this; replay with the seed")?;
        }
        Ok(())
    }
}
