//! The maximum length of the interpreter's chains of handlers.
//!
//! Each handler ends with a call of the next one, which the compiler may turn into a jump. Whether
//! it does depends on how this crate is built, not on the program. So it is measured once: a chain
//! of all handlers is executed, to see how much of the host's stack it takes.

use std::sync::OnceLock;

use selkie_elf::{Executable, Functions};
use selkie_isa::{Kind, Version, layout::HEAP_START};

use crate::{
    config::Config,
    decoded::{ACTIONS, Action, DecodedInsn, DecodedProgram, DecodedTextBuilder, Register, code},
    fast_path::{HAS_TAIL_CALLS, handlers, run_blocks},
    machine::Machine,
    memory::{MemoryMap, Region},
};

/// Compute units of a chain if handlers nest. In unoptimized builds each takes 3 KiB of the host's
/// stack, and a thread may have no more than 2 MiB.
const NESTED_COMPUTE_UNITS_MAX: u64 = 64;
/// Compute units of a chain if handlers do not nest.
const FLAT_COMPUTE_UNITS_MAX: u64 = 2048;
/// If a chain of all handlers takes fewer bytes of the host's stack, handlers do not nest. If a
/// single one did, it would take no more than this, so that a chain of it alone fits the stack.
const FLAT_BYTES: usize = 512;

/// Returns the most compute units that a chain may use in programs of a version.
pub(crate) fn compute_units_max(version: Version) -> u64 {
    if !HAS_TAIL_CALLS {
        // No handler is called.
        return u64::MAX;
    }
    // Indexed by whether the handlers support gaps.
    static UNITS: [OnceLock<u64>; 2] = [OnceLock::new(), OnceLock::new()];
    *UNITS[usize::from(version.stack_frame_gaps())].get_or_init(|| {
        let is_flat = measure_all(version).is_some_and(|bytes| bytes < FLAT_BYTES);
        if is_flat { FLAT_COMPUTE_UNITS_MAX } else { NESTED_COMPUTE_UNITS_MAX }
    })
}

/// Executes a chain of all handlers. Returns how many bytes of the host's stack it took, or `None`
/// if it stopped before its end.
fn measure_all(version: Version) -> Option<usize> {
    let text = [0; 8];
    let program = Executable::from_text(version, text, 0, Functions::default(), <_>::default());
    let config = Config::default();
    let mut bytes = [1; 16];
    let heap = vec![Region::writable(HEAP_START, &mut bytes)];
    let memory = MemoryMap::new(heap, &config, version).ok()?;
    let mut machine = Machine::new(&program.ok()?, &config, memory, FLAT_COMPUTE_UNITS_MAX);
    machine.registers = [7; 16];
    machine.registers[Register::R6 as usize] = HEAP_START;
    let start = 0_u8;
    run_blocks(&all_handlers(version), &mut machine);
    (machine.chain_end != 0).then(|| machine.chain_end.abs_diff(&raw const start as usize))
}

/// Builds a chain of all handlers except that of `callx`, which is that of a local call after a
/// check of the register.
fn all_handlers(version: Version) -> DecodedProgram {
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
            // Control skips the next instruction.
            Kind::LoadImm64 => chain.extend([insn; 2]),
            Kind::Load(_) => chain.push(DecodedInsn { src: Register::R6, ..insn }),
            Kind::StoreImm(_) | Kind::StoreReg(_) => {
                chain.push(DecodedInsn { dst: Register::R6, ..insn })
            }
            Kind::Jump | Kind::Branch(..) => chain.push(DecodedInsn { aux: next, ..insn }),
            Kind::Exit | Kind::Tail | Kind::CallHash | Kind::CallStatic | Kind::CallReg(_) => {}
        }
    }
    // A call of an `exit`, which returns to the sentinel.
    let call = chain.len();
    let [exit, end] = [call + 1, call + 2];
    let mut callee = DecodedInsn::new(code::CALL_LOCAL, handlers);
    (callee.aux, callee.imm) = (u32::try_from(exit).unwrap_or_default(), end as u64);
    chain.push(callee);
    let is_exit = |code: &u8| ACTIONS[usize::from(*code)] == Action::Row(Kind::Exit);
    chain.extend((0..=u8::MAX).find(is_exit).map(|code| DecodedInsn::new(code, handlers)));
    let mut insns = DecodedTextBuilder::new(chain.len(), handlers);
    insns.extend_front(chain.len(), |index| chain[index]);
    DecodedProgram {
        text: insns.finish(),
        cut: Vec::new(),
        breaks: Vec::new(),
        chain_compute_units: FLAT_COMPUTE_UNITS_MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(any(target_family = "wasm", unoptimized), ignore = "no handler is called")]
    fn chain_of_all_handlers_reaches_its_end() {
        for version in [Version::V0, Version::V3] {
            assert!(measure_all(version).is_some(), "{version:?}: the chain stops before its end");
        }
    }
}
