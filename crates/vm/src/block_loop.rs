//! The interpreter's fast path where calls cannot become jumps: a loop around one `match`.

use crate::{
    decoded::{DecodedInsn, DecodedProgram},
    execute::{Flow, stop, stop_before},
    machine::Machine,
};

/// Executes blocks from `pc` on, as the handlers of `fast_path.rs` do. Returns the compute units that
/// are left.
#[allow(unsafe_code, reason = "the sentinel has no arm, so that the loop ends at it")]
pub(crate) fn run_loop(
    machine: &mut Machine<'_>,
    program: &DecodedProgram,
    mut pc: usize,
    mut compute_units: u64,
) -> u64 {
    let slots = program.text.len();
    loop {
        let Some(mut cursor) = program.text.cursor(pc) else {
            return stop(machine, pc, compute_units);
        };
        let Some(left) = compute_units.checked_sub(u64::from(cursor.insn().block_len)) else {
            return stop(machine, pc, compute_units);
        };
        compute_units = left;
        pc = loop {
            let insn = cursor.insn();
            let flow = execute(machine, insn, slots);
            if let Flow::Bail = flow
                && machine.access_any_region(insn.action(), insn).is_none()
            {
                return stop_before(machine, program, cursor, compute_units);
            }
            // SAFETY: the cursor is not at the sentinel, whose code has no arm and which accesses no
            // memory.
            cursor = unsafe { cursor.next() };
            match flow {
                Flow::Next | Flow::Bail => {}
                // SAFETY: an `lddw` in the last slot is decoded as an unsupported instruction.
                Flow::Skip => cursor = unsafe { cursor.next() },
                Flow::Goto(target) => break target,
                // The rest of the block is refunded.
                Flow::Branch(target) => {
                    compute_units += u64::from(insn.block_len) - 1;
                    break target;
                }
            }
        };
    }
}

/// Executes an instruction, by an arm for each code.
#[cfg(not(unoptimized))]
#[inline(always)]
fn execute(machine: &mut Machine<'_>, insn: &DecodedInsn, slots: usize) -> Flow {
    use selkie_isa::for_each_op;

    use crate::decoded::{ACTIONS, Action, code};

    macro_rules! execute {
        ($($opcode:literal, $versions:ident => $name:ident = $mnemonic:literal, $kind:expr;)*) => {
            match insn.code {
                $(row::$name => {
                    let action = const { ACTIONS[row::$name as usize] };
                    machine.execute::<true>(action, insn, slots)
                })*
                code::CALL_LOCAL => machine.execute::<true>(Action::CallLocal, insn, slots),
                code::CALL_REGISTER => machine.execute::<true>(Action::CallRegister, insn, slots),
                _ => Flow::Bail,
            }
        };
    }
    for_each_op!(execute)
}

/// Executes an instruction. Without optimization an arm for each code would be a copy of all.
#[cfg(unoptimized)]
fn execute(machine: &mut Machine<'_>, insn: &DecodedInsn, slots: usize) -> Flow {
    machine.execute::<true>(insn.action(), insn, slots)
}

/// The codes of the instruction table's rows as constants, which patterns need.
#[cfg(not(unoptimized))]
mod row {
    #![allow(non_upper_case_globals, reason = "named as the rows are")]

    use selkie_isa::{Op, for_each_op};

    macro_rules! rows {
        ($($opcode:literal, $versions:ident => $name:ident = $mnemonic:literal, $kind:expr;)*) => {
            $(pub(super) const $name: u8 = Op::$name as u8;)*
        };
    }
    for_each_op!(rows);
}
