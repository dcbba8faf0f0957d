//! Legalisation: expands eBPF operations to instructions of the target version. Functions that are
//! sBPF already are not changed.
//!
//! Each item becomes one or more instructions that compute the same. sBPF sign-extends 32-bit sums,
//! differences and products, and lacks signed division, sign-extending moves and loads, atomics,
//! stack arguments and (on V0) 32-bit comparisons. Where an expansion needs a register, it takes a
//! dead one, or saves a live one in the frame, below all bytes that the function uses. Values that are
//! extended already are not extended again.

mod builder;
mod expand;
mod frames;
mod liveness;
mod widths;

use selkie_isa::{Insn, Kind, Version, layout::STACK_FRAME_BYTES};

use crate::{
    item::{Item, Operation, Reference},
    opcode::ARGUMENT_POINTER,
    stack,
};

pub(crate) use builder::Built;
pub(crate) use frames::CALL_SLOTS;
use frames::{FRAMES_MAX, Frames};

/// A function in instructions of the target version.
#[derive(Debug)]
pub(crate) struct Legal {
    pub(crate) code: Vec<Built>,
    /// Bytes below its frame pointer that the function uses, including saved registers and arguments.
    pub(crate) stack: u64,
    /// The frames that the function has ([`frames`]).
    pub(crate) frames: u64,
    /// The slot, as compiled, of the instruction that uses the lowest byte.
    pub(crate) deepest: Option<u32>,
}

/// The reason why an instruction cannot be expressed in sBPF, and what to do about it.
#[derive(Debug)]
pub(crate) struct Inexpressible {
    pub(crate) message: String,
    pub(crate) help: &'static str,
}

impl Inexpressible {
    fn new(message: impl Into<String>, help: &'static str) -> Self {
        Self { message: message.into(), help }
    }
}

/// Legalises an eBPF function.
///
/// # Errors
/// If an instruction cannot be expressed in sBPF: its slot, as compiled, and the reason.
pub(crate) fn legalise(items: &[Item], version: Version) -> Result<Legal, (u32, Inexpressible)> {
    let frame = stack::frame(items);
    let arguments = arguments(items)?;
    // Rounded up, so that saved registers are aligned. Frames that are too large are refused later,
    // all of them at once.
    let frames = Frames::of(&frame, arguments.passed, version);
    let depth = frame.bytes_max.min(FRAMES_MAX * STACK_FRAME_BYTES).next_multiple_of(8);
    let mut expander = expand::Expander::new(items, version, depth, frames);
    expander.enter();
    if arguments.takes && !version.static_calls() {
        expander.keep_arguments();
    }
    for (index, item) in items.iter().enumerate() {
        expander.item(index, item, arguments.passed > 0).map_err(|why| (item.slot, why))?;
    }
    let (code, used) = expander.finish();
    let below = if used > 0 { frame.bytes_max.next_multiple_of(8) + used } else { frame.bytes };
    let stack = match frames.moved {
        0 => below + arguments.passed,
        moved => below + moved,
    };
    Ok(Legal { code, stack, frames: frames.count, deepest: frame.deepest })
}

/// Returns an sBPF function unchanged.
pub(crate) fn identity(items: &[Item]) -> Legal {
    let frame = stack::frame(items);
    let built = |item: &Item| {
        let Operation::Insn(insn) = item.operation else { return None };
        Some(Built { slot: item.slot, is_first: true, insn, reference: item.reference })
    };
    let code: Vec<Built> = items.iter().filter_map(built).collect();
    debug_assert_eq!(code.len(), items.len(), "`decode` returns plain instructions for sBPF");
    Legal { code, stack: frame.bytes, frames: 1, deepest: frame.deepest }
}

/// The use of stack arguments, which are those that do not fit into registers.
#[derive(Clone, Copy, Default)]
struct Arguments {
    /// The maximum number of bytes that the function passes to a callee.
    passed: u64,
    /// Whether the function has such parameters.
    takes: bool,
}

/// Finds stack arguments: LLVM stores them at `[r11 - 8]`, `[r11 - 16]`, … and loads them from
/// `[r11 + 8]`, …
fn arguments(items: &[Item]) -> Result<Arguments, (u32, Inexpressible)> {
    let mut arguments = Arguments::default();
    for item in items {
        match stack_access(&item.operation).map_err(|error| (item.slot, error))? {
            Some(Access::Load) => arguments.takes = true,
            Some(Access::Store { bytes }) => arguments.passed = arguments.passed.max(bytes),
            None => {}
        }
    }
    Ok(arguments)
}

/// An access to a stack argument.
enum Access {
    Load,
    /// The argument is among the first `bytes` bytes.
    Store {
        bytes: u64,
    },
}

/// Returns the access of an operation to a stack argument, if it is one.
fn stack_access(operation: &Operation) -> Result<Option<Access>, Inexpressible> {
    const RANGE: core::ops::Range<i64> = 8..STACK_FRAME_BYTES.cast_signed();
    let out_of_range = |off: i16| {
        let message = format!("a stack argument at r11{off:+}, out of range");
        Err(Inexpressible::new(message, "pass a pointer to a struct"))
    };
    let load = |off: i16| match RANGE.contains(&off.into()) {
        true => Ok(Some(Access::Load)),
        false => out_of_range(off),
    };
    let insn = match operation {
        Operation::LoadSigned { src: ARGUMENT_POINTER, off, .. } => return load(*off),
        Operation::Insn(insn) => insn,
        other if other.uses().with(other.defines()).has(ARGUMENT_POINTER) => {
            let help = "use r11 only as the base of stack arguments: check inline assembly";
            return Err(Inexpressible::new("r11 is not a register of sBPF", help));
        }
        _ => return Ok(None),
    };
    match insn.op.kind() {
        Kind::Load(_) if insn.src == ARGUMENT_POINTER => load(insn.off),
        Kind::StoreReg(_) | Kind::StoreImm(_) if insn.dst == ARGUMENT_POINTER => {
            if insn.off > -1 || i64::from(insn.off) <= -STACK_FRAME_BYTES.cast_signed() {
                return out_of_range(insn.off);
            }
            let bytes = u64::from(insn.off.unsigned_abs()).next_multiple_of(8);
            Ok(Some(Access::Store { bytes }))
        }
        _ => Ok(None),
    }
}

/// Returns the offset of an outgoing argument at `[r11 + off]` from the lowest byte of the frame.
/// The first argument is the lowest.
fn outgoing(off: i16) -> i64 {
    let off = i64::from(off);
    let number = (7 - off).div_euclid(8);
    8 * (number - 1) + (off + 8 * number)
}

fn insn(op: selkie_isa::Op, dst: u8, src: u8, off: i16, imm: i64) -> (Insn, Reference) {
    (Insn { op, dst, src, off, imm }, Reference::None)
}

#[cfg(test)]
mod tests {
    use super::outgoing;

    #[test]
    fn outgoing_stack_arguments_ascend_from_the_lowest_byte_of_the_frame() {
        assert_eq!([-8, -16, -24].map(outgoing), [0, 8, 16]);
        // The upper half of the second.
        assert_eq!(outgoing(-12), 12);
    }
}
