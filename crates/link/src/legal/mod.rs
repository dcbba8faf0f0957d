//! From what eBPF computes to instructions that the target version has. What is sBPF's stays as it
//! is.
//!
//! Each item becomes one or more instructions that compute the same. The differences: sBPF
//! sign-extends sums, differences and products of 32 bits; it has neither signed division nor
//! sign-extending moves and loads, nor atomics, nor stack arguments, nor (on V0) comparisons of 32
//! bits. Where an expansion needs a register, it takes one that does not count, or keeps what it
//! holds in the frame below all that the function uses.

mod builder;
mod expand;
mod liveness;

use selkie_isa::{Insn, Kind, Version, layout::STACK_FRAME_BYTES};

use crate::{
    decode::ARGUMENT_POINTER,
    item::{Item, Link, What},
    stack,
};

pub(crate) use builder::Built;

/// A function as the target has it.
#[derive(Debug)]
pub(crate) struct Legal {
    pub(crate) code: Vec<Built>,
    /// Bytes of stack that the function uses, with what legalising added.
    pub(crate) stack: u64,
    /// The slot, as compiled, of the instruction that reaches down to there.
    pub(crate) deepest: Option<u32>,
}

/// Makes a function legal.
///
/// # Errors
/// The slot, as compiled, of an instruction that cannot be expressed, and why.
pub(crate) fn legalise(items: &[Item], version: Version) -> Result<Legal, (u32, String)> {
    let frame = stack::frame(items);
    let arguments = arguments(items)?;
    // Rounded up, so that what is put below is aligned. A frame that is too large is refused, but
    // later, together with all others.
    let depth = frame.bytes_max.min(2 * STACK_FRAME_BYTES).next_multiple_of(8);
    let mut expander = expand::Expander::new(items, version, depth);
    if arguments.takes && !version.static_calls() {
        expander.keep_arguments();
    }
    for (index, item) in items.iter().enumerate() {
        expander.item(index, item, arguments.passed > 0).map_err(|why| (item.slot, why))?;
    }
    let (code, used) = expander.finish();
    let below = if used > 0 { frame.bytes_max.next_multiple_of(8) + used } else { frame.bytes };
    Ok(Legal { code, stack: below + arguments.passed, deepest: frame.deepest })
}

/// Leaves a function as it is: one of sBPF.
pub(crate) fn identity(items: &[Item]) -> Legal {
    let frame = stack::frame(items);
    let built = |item: &Item| {
        let What::Row(insn) = item.what else { return None };
        Some(Built { slot: item.slot, is_first: true, insn, link: item.link })
    };
    let code: Vec<Built> = items.iter().filter_map(built).collect();
    debug_assert_eq!(code.len(), items.len(), "`decode` gives rows for sBPF");
    Legal { code, stack: frame.bytes, deepest: frame.deepest }
}

/// The arguments that do not fit into registers.
#[derive(Clone, Copy, Default)]
struct Arguments {
    /// Bytes that the function passes, at most.
    passed: u64,
    /// Whether it takes any.
    takes: bool,
}

/// LLVM stores them at `[r11 - 8]`, `[r11 - 16]`, … and loads them from `[r11 + 8]`, …
fn arguments(items: &[Item]) -> Result<Arguments, (u32, String)> {
    let mut arguments = Arguments::default();
    for item in items {
        if let What::LoadSigned { src: ARGUMENT_POINTER, off, .. } = item.what {
            arguments.takes = true;
            if off < 8 || i64::from(off) >= STACK_FRAME_BYTES.cast_signed() {
                return Err((item.slot, format!("stack argument at r11{off:+}")));
            }
            continue;
        }
        let What::Row(insn) = &item.what else {
            let uses = item.what.uses().with(item.what.defines());
            if uses.has(ARGUMENT_POINTER) {
                return Err((item.slot, "r11 is no register of a program".into()));
            }
            continue;
        };
        let refused = || (item.slot, format!("stack argument at r11{:+}", insn.off));
        match insn.op.kind() {
            Kind::Load(_) if insn.src == ARGUMENT_POINTER => {
                if insn.off < 8 || i64::from(insn.off) >= STACK_FRAME_BYTES.cast_signed() {
                    return Err(refused());
                }
                arguments.takes = true;
            }
            Kind::StoreReg(_) | Kind::StoreImm(_) if insn.dst == ARGUMENT_POINTER => {
                if insn.off > -1 || i64::from(insn.off) <= -STACK_FRAME_BYTES.cast_signed() {
                    return Err(refused());
                }
                let bytes = u64::from(insn.off.unsigned_abs()).next_multiple_of(8);
                arguments.passed = arguments.passed.max(bytes);
            }
            _ => {}
        }
    }
    Ok(arguments)
}

/// Where an outgoing argument at `[r11 + off]` lies, from the frame's lowest byte on. The first
/// argument is the lowest.
fn outgoing(off: i16) -> i64 {
    let off = i64::from(off);
    let number = (7 - off).div_euclid(8);
    8 * (number - 1) + (off + 8 * number)
}

fn insn(op: selkie_isa::Op, dst: u8, src: u8, off: i16, imm: i64) -> (Insn, Link) {
    (Insn { op, dst, src, off, imm }, Link::None)
}

#[cfg(test)]
mod tests {
    use super::outgoing;

    #[test]
    fn arguments_on_the_stack_are_in_order() {
        assert_eq!([-8, -16, -24].map(outgoing), [0, 8, 16]);
        // The upper half of the second.
        assert_eq!(outgoing(-12), 12);
    }
}
