//! How long the interpreter's chains of handlers may be.
//!
//! Handlers call each other last, which a compiler may or may not make jumps of: that depends on how
//! this crate is built, and on nothing that a program can ask for. So it is tried, once: a chain of
//! all the handlers that a program can make one of shows how much of the host's stack it takes.

use std::sync::OnceLock;

use selkie_elf::{Executable, Functions};
use selkie_isa::{Kind, Version, layout::HEAP_START};

use crate::{
    config::Config,
    decoded::{ACTIONS, Action, DecodedInsn, DecodedProgram, DecodedText, Register, code},
    fast_path::{handlers, run_blocks},
    machine::Machine,
    memory::{MemoryMap, Region},
};

/// The units of a chain where handlers nest. Unoptimised, each takes 3 KiB of the host's stack, of
/// which a thread may have no more than 2 MiB.
const UNITS_NESTED: u64 = 64;
/// The same where they do not.
const UNITS_FLAT: u64 = 2048;
/// A chain of all handlers that takes less of the host's stack does not nest. Should one handler nest
/// all the same, it takes no more than this, and a chain of it alone fits a thread's stack.
const FLAT_BYTES: usize = 512;

/// The most units that a chain may use in programs of a version.
pub(crate) fn units(version: Version) -> u64 {
    // By whether the handlers are those for gaps.
    static UNITS: [OnceLock<u64>; 2] = [OnceLock::new(), OnceLock::new()];
    *UNITS[usize::from(version.stack_frame_gaps())].get_or_init(|| {
        let is_flat = try_all(version).is_some_and(|bytes| bytes < FLAT_BYTES);
        if is_flat { UNITS_FLAT } else { UNITS_NESTED }
    })
}

/// Executes a chain of all handlers; gives what it took of the host's stack, if it came to its end.
fn try_all(version: Version) -> Option<usize> {
    let text = [0; 8];
    let program = Executable::from_text(version, text, 0, Functions::default(), <_>::default());
    let config = Config::default();
    let mut bytes = [1; 16];
    let heap = vec![Region::writable(HEAP_START, &mut bytes)];
    let memory = MemoryMap::new(heap, &config, version).ok()?;
    let mut machine = Machine::new(&program.ok()?, &config, memory, UNITS_FLAT);
    machine.registers = [7; 16];
    machine.registers[Register::R6 as usize] = HEAP_START;
    let start = 0_u8;
    run_blocks(&all(version), &mut machine);
    (machine.chain_end != 0).then(|| machine.chain_end.abs_diff(&raw const start as usize))
}

/// A chain of all handlers but that of calls of registers, which is the one of calls with a look at
/// the register.
fn all(version: Version) -> DecodedProgram {
    let handlers = handlers(version);
    let mut chain = Vec::new();
    for code in 0..=u8::MAX {
        let Action::Row(kind) = ACTIONS[usize::from(code)] else { continue };
        let next = u32::try_from(chain.len() + 1).unwrap_or_default();
        let insn = DecodedInsn {
            dst: Register::R1,
            src: Register::R2,
            ..DecodedInsn::new(code, handlers)
        };
        match kind {
            Kind::Alu(..) | Kind::Neg(_) => chain.push(DecodedInsn { imm: 3, ..insn }),
            Kind::Endian(_) => chain.push(DecodedInsn { imm: 16, ..insn }),
            // Control skips the decoded instruction behind it.
            Kind::LoadImm64 => chain.extend([insn; 2]),
            Kind::Load(_) => chain.push(DecodedInsn { src: Register::R6, ..insn }),
            Kind::StoreImm(_) | Kind::StoreReg(_) => {
                chain.push(DecodedInsn { dst: Register::R6, ..insn })
            }
            Kind::Jump | Kind::Branch(..) => chain.push(DecodedInsn { aux: next, ..insn }),
            Kind::Exit | Kind::Tail | Kind::CallHash | Kind::CallStatic | Kind::CallReg(_) => {}
        }
    }
    // A call of an exit, which returns to the end.
    let call = chain.len();
    let [exit, end] = [call + 1, call + 2];
    let mut callee = DecodedInsn::new(code::CALL_LOCAL, handlers);
    (callee.aux, callee.imm) = (u32::try_from(exit).unwrap_or_default(), end as u64);
    chain.push(callee);
    let is_exit = |code: &u8| ACTIONS[usize::from(*code)] == Action::Row(Kind::Exit);
    chain.extend((0..=u8::MAX).find(is_exit).map(|code| DecodedInsn::new(code, handlers)));
    let mut insns = DecodedText::new(chain.len(), handlers);
    for (at, insn) in chain.into_iter().enumerate() {
        *insns.slot(at) = insn;
    }
    DecodedProgram { text: insns, cut: Vec::new(), chain_units: UNITS_FLAT }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_handlers_are_tried() {
        for version in [Version::V0, Version::V3] {
            assert!(try_all(version).is_some(), "{version:?}: the chain stops before its end");
        }
    }
}
