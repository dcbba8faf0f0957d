//! Detects programs that were built for the input layout of another loader.
//!
//! A file does not record its loader, and a program that expects the wrong layout reads lengths where
//! there are keys. It is detected by the address of its trap, where a field would lie in the other
//! layout, or by its code, if it begins with loads from fixed offsets of the first account.

use core::{fmt, ops::Range};

use selkie_elf::Executable;
use selkie_isa::{
    Insn, Kind,
    layout::INPUT_START,
    op::{Alu, Operand, Size, Width},
};
use selkie_vm::Trap;

use super::super::{ALIGNMENT, Abi, NOT_DUPLICATE};
use super::ACCOUNTS_MAX;
use crate::chain::cost::ACCOUNT_GROWTH_MAX;

/// The evidence that a program was built for the other layout.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AbiMismatch {
    /// The layout that the program seems to expect.
    pub expected: Abi,
    /// The layout of its input.
    pub given: Abi,
    /// The field of the expected layout at the address of the trap; `None` if the evidence is the code.
    pub field: Option<String>,
}

impl fmt::Display for AbiMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |abi| match abi {
            Abi::Aligned => "aligned",
            Abi::Unaligned => "unaligned",
        };
        let (expected, given) = (name(self.expected), name(self.given));
        match &self.field {
            Some(field) => write!(f, "the access is where {field} would be in {expected} input")?,
            None => write!(f, "the program reads its first account as {expected} input has it")?,
        }
        write!(f, ", and the input is {given}: it was made for ")?;
        f.write_str(match self.expected {
            Abi::Aligned => "loader v2, v3 or v4, and runs under loader v1",
            Abi::Unaligned => "loader v1, and runs under another",
        })
    }
}

/// Returns the evidence, if any, that a program that trapped was built for another layout than that of
/// its input. `input` is the input as the program left it.
#[must_use]
pub fn abi_mismatch(
    trap: &Trap,
    input: &[u8],
    given: Abi,
    executable: &Executable,
) -> Option<AbiMismatch> {
    let accessed = accessed(trap)?;
    // Without an account there is no difference.
    if input.first_chunk().is_none_or(|count| u64::from_le_bytes(*count) == 0) {
        return None;
    }
    let expected = match given {
        Abi::Aligned => Abi::Unaligned,
        Abi::Unaligned => Abi::Aligned,
    };
    let field = field_at(&accessed, input, expected);
    let is_known = field.is_some() || built_for(executable) == Some(expected);
    is_known.then_some(AbiMismatch { expected, given, field })
}

/// Returns the addresses of the access that trapped, of the program or of a syscall.
fn accessed(trap: &Trap) -> Option<Range<u64>> {
    let trap = match trap {
        Trap::Syscall(error) => error.downcast_ref::<Trap>()?,
        trap => trap,
    };
    match trap {
        // A wrong length leads to any region.
        Trap::AccessViolation { vaddr, len, .. }
        | Trap::StackAccessViolation { vaddr, len, .. } => Some(*vaddr..vaddr.saturating_add(*len)),
        _ => None,
    }
}

/// Returns the field outside of the input that a program accesses if it reads the input by a layout.
fn field_at(accessed: &Range<u64>, input: &[u8], abi: Abi) -> Option<String> {
    let mut walk = Walk { input, offset: 0, accessed, found: None };
    // The walk ends at the first length outside of the input.
    let _ = walk.all(abi);
    walk.found
}

/// Reads an input field by field as a program would, beyond its end if lengths lead there.
struct Walk<'a> {
    input: &'a [u8],
    offset: u64,
    accessed: &'a Range<u64>,
    found: Option<String>,
}

impl<'a> Walk<'a> {
    fn all(&mut self, abi: Abi) -> Option<()> {
        let count = self.pass(8, || "accounts.len".to_owned())?;
        for account in 0..count.min(ACCOUNTS_MAX) {
            let path = |field: &str| format!("accounts[{account}].{field}");
            // A marker outside of the input is unknown; most accounts are not duplicates.
            let marker = self.pass(1, || path("marker"));
            match (marker.is_none_or(|it| it == u64::from(NOT_DUPLICATE)), abi) {
                (true, Abi::Aligned) => self.aligned(&path)?,
                (true, Abi::Unaligned) => self.unaligned(&path)?,
                (false, Abi::Aligned) => self.skip(7),
                (false, Abi::Unaligned) => {}
            }
        }
        let len = self.pass(8, || "instruction_data.len".to_owned())?;
        self.data(len, || "instruction_data".to_owned());
        self.pass(32, || "program_id".to_owned());
        Some(())
    }

    fn aligned(&mut self, path: &impl Fn(&str) -> String) -> Option<()> {
        self.fields(path, &[("is_signer", 1), ("is_writable", 1), ("executable", 1)]);
        self.fields(path, &[("padding", 4), ("key", 32), ("owner", 32), ("lamports", 8)]);
        let len = self.pass(8, || path("data.len"))?;
        self.data(len, || path("data"));
        self.skip(ACCOUNT_GROWTH_MAX as u64);
        const MASK: u64 = ALIGNMENT as u64 - 1;
        self.skip(self.offset.wrapping_neg() & MASK);
        self.fields(path, &[("rent_epoch", 8)]);
        Some(())
    }

    fn unaligned(&mut self, path: &impl Fn(&str) -> String) -> Option<()> {
        self.fields(path, &[("is_signer", 1), ("is_writable", 1), ("key", 32), ("lamports", 8)]);
        let len = self.pass(8, || path("data.len"))?;
        self.data(len, || path("data"));
        self.fields(path, &[("owner", 32), ("executable", 1), ("rent_epoch", 8)]);
        Some(())
    }

    fn fields(&mut self, path: &impl Fn(&str) -> String, fields: &[(&str, u64)]) {
        for (name, len) in fields {
            self.pass(*len, || path(name));
        }
    }

    /// Passes a field. Returns its first bytes as a number, if the whole field is in the input.
    fn pass(&mut self, len: u64, path: impl Fn() -> String) -> Option<u64> {
        let bytes = self.bytes(len);
        let start = INPUT_START.wrapping_add(self.offset);
        let is_within = self.accessed.start.wrapping_sub(start) < len
            && self.accessed.end.wrapping_sub(start) <= len;
        if bytes.is_none() && is_within {
            self.found.get_or_insert_with(path);
        }
        self.skip(len);
        let mut number = [0; 8];
        for (to, from) in number.iter_mut().zip(bytes?) {
            *to = *from;
        }
        Some(u64::from_le_bytes(number))
    }

    /// Passes data. Only an access to their start counts: a wrong length covers so many addresses that an
    /// access further behind proves nothing.
    fn data(&mut self, len: u64, path: impl Fn() -> String) {
        let start = INPUT_START.wrapping_add(self.offset);
        if len > 0 && self.bytes(1).is_none() && self.accessed.start == start {
            self.found.get_or_insert_with(path);
        }
        self.skip(len);
    }

    fn skip(&mut self, len: u64) {
        self.offset = self.offset.wrapping_add(len);
    }

    fn bytes(&self, len: u64) -> Option<&'a [u8]> {
        let start = usize::try_from(self.offset).ok()?;
        self.input.get(start..)?.get(..usize::try_from(len).ok()?)
    }
}

/// Returns the layout that a program expects according to its first instructions, up to the first call;
/// branches count as not taken.
///
/// The first account has the same offset in both layouts, but its fields do not: numbers are at multiples
/// of eight in the aligned layout, and never in the other.
#[must_use]
pub fn built_for(executable: &Executable) -> Option<Abi> {
    const INSTRUCTIONS_MAX: usize = 64;
    // The offset in the input that each register points to.
    let mut offsets = [None; 16];
    offsets[1] = Some(0_i64);
    let mut pc = usize::try_from(executable.entry_pc()).ok()?;
    let mut seen = [false; 2];
    for _ in 0..INSTRUCTIONS_MAX {
        let Some(insn) = Insn::decode(executable.version(), executable.text(), pc) else { break };
        let (dst, src) = (usize::from(insn.dst), usize::from(insn.src));
        let at = |register: usize| {
            offsets.get(register)?.and_then(|it: i64| it.checked_add(insn.off.into()))
        };
        let offset = match insn.op.kind() {
            Kind::Alu(Alu::Mov, Width::W64, Operand::Reg) => offsets.get(src).copied().flatten(),
            Kind::Alu(Alu::Add, Width::W64, Operand::Imm) => {
                offsets.get(dst).copied().flatten().and_then(|it: i64| it.checked_add(insn.imm))
            }
            Kind::Load(size) => {
                if let Some(abi) = at(src).and_then(|at| only_in(at, size)) {
                    seen[abi as usize] = true;
                }
                None
            }
            Kind::Branch(..) | Kind::StoreImm(_) | Kind::StoreReg(_) => {
                pc = pc.saturating_add(1);
                continue;
            }
            Kind::Jump | Kind::CallHash | Kind::CallStatic | Kind::CallReg(_) | Kind::Exit => break,
            _ => None,
        };
        if let Some(known) = offsets.get_mut(dst) {
            *known = offset;
        }
        let slots = if matches!(insn.op.kind(), Kind::LoadImm64) { 2 } else { 1 };
        pc = pc.saturating_add(slots);
    }
    match seen {
        [true, false] => Some(Abi::Aligned),
        [false, true] => Some(Abi::Unaligned),
        _ => None,
    }
}

/// Returns the layout that has a field of this size at an offset of the input, if only one has.
fn only_in(at: i64, size: Size) -> Option<Abi> {
    /// The offsets of keys, in words of eight bytes, and of the numbers behind them.
    const ALIGNED: [i64; 10] = [16, 24, 32, 40, 48, 56, 64, 72, 80, 88];
    const UNALIGNED: [i64; 6] = [11, 19, 27, 35, 43, 51];
    match size {
        Size::Dw if ALIGNED.contains(&at) => Some(Abi::Aligned),
        Size::Dw if UNALIGNED.contains(&at) => Some(Abi::Unaligned),
        _ => None,
    }
}
