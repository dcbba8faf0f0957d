//! The interpreter's fast path: instructions that neither need the host nor raise a trap.
//!
//! There is a handler for each row of the instruction table, and each ends by calling the handler
//! of the next instruction. The optimizer turns these calls into jumps, which predict better than
//! one central dispatch. In builds where it does not, the calls nest on the host's stack, so a
//! chain of them must be short: see `chain.rs`. WebAssembly has no such jumps, and without any
//! optimization the handlers are large and slow to compile: there, the loop of `block_loop.rs` executes
//! blocks instead.

#[cfg_attr(unoptimized, allow(unused_imports, reason = "no handler is compiled"))]
use selkie_isa::{Kind, Op, Version, for_each_op};

#[cfg_attr(unoptimized, allow(unused_imports, reason = "no handler is compiled"))]
use crate::{
    block_loop::run_loop,
    decoded::{ACTIONS, Action, Cursor, DecodedProgram, Handler, code},
    execute::{Flow, stop, stop_before},
    machine::Machine,
};

/// Whether the compiler can turn a call into a jump. It does not without optimization. For WebAssembly it needs an extension (`tail-call`),
/// with which chains of handlers take twice as long as the loop.
pub(crate) const HAS_TAIL_CALLS: bool = !cfg!(any(target_family = "wasm", unoptimized));

/// Executes blocks until an instruction needs the slow path, the next block might exceed the
/// budget, or the chain of handlers has reached its maximum length.
pub(crate) fn run_blocks(program: &DecodedProgram, machine: &mut Machine<'_>) {
    let remaining = if machine.metered { machine.meter.remaining() } else { u64::MAX };
    let compute_units = remaining.min(program.chain_compute_units);
    let left = match HAS_TAIL_CALLS {
        true => enter(machine, program, machine.pc, compute_units),
        false => run_loop(machine, program, machine.pc, compute_units),
    };
    if machine.metered {
        machine.meter.set_remaining(remaining - compute_units + left);
    }
}

/// Charges the block that starts at `pc`, and executes it.
#[inline(always)]
fn enter(
    machine: &mut Machine<'_>,
    program: &DecodedProgram,
    pc: usize,
    compute_units: u64,
) -> u64 {
    if let Some(cursor) = program.text.cursor(pc)
        && let Some(compute_units) = compute_units.checked_sub(u64::from(cursor.insn().block_len))
    {
        return go(machine, program, cursor, compute_units);
    }
    stop(machine, pc, compute_units)
}

#[inline(always)]
fn go<'p>(
    machine: &mut Machine<'_>,
    program: &'p DecodedProgram,
    cursor: Cursor<'p>,
    compute_units: u64,
) -> u64 {
    (cursor.insn().handler)(machine, program, cursor, compute_units)
}

#[allow(unsafe_code, reason = "the handler of the sentinel does not move on")]
#[cfg(not(unoptimized))]
fn handle<const CODE: usize, const GAPS: bool>(
    machine: &mut Machine<'_>,
    program: &DecodedProgram,
    cursor: Cursor<'_>,
    compute_units: u64,
) -> u64 {
    if const { CODE == code::END as usize } {
        return end(machine, program, cursor, compute_units);
    }
    let insn = cursor.insn();
    // SAFETY: the cursor is not at the sentinel: each instruction has the handler of its code, only
    // the sentinel has `code::END`, and for that code this line is not reached.
    let next = unsafe { cursor.next() };
    match machine.execute::<GAPS>(const { ACTIONS[CODE] }, insn, program.text.len()) {
        Flow::Next => go(machine, program, next, compute_units),
        // SAFETY: an `lddw` in the last slot is decoded as an unsupported instruction.
        Flow::Skip => go(machine, program, unsafe { next.next() }, compute_units),
        Flow::Goto(target) => enter(machine, program, target, compute_units),
        // The rest of the block is refunded.
        Flow::Branch(target) => {
            enter(machine, program, target, compute_units + u64::from(insn.block_len) - 1)
        }
        Flow::Bail if const { accesses_memory(ACTIONS[CODE]) } => {
            handle_any_region::<CODE>(machine, program, cursor, compute_units)
        }
        Flow::Bail => stop_before(machine, program, cursor, compute_units),
    }
}

/// The handler of the sentinel. Records the host's stack pointer for `chain.rs`.
#[cold]
#[inline(never)]
fn end(
    machine: &mut Machine<'_>,
    program: &DecodedProgram,
    cursor: Cursor<'_>,
    compute_units: u64,
) -> u64 {
    let here = 0_u8;
    machine.chain_end = &raw const here as usize;
    stop_before(machine, program, cursor, compute_units)
}

#[cfg(not(unoptimized))]
const fn accesses_memory(action: Action) -> bool {
    matches!(action, Action::Row(Kind::Load(_) | Kind::StoreImm(_) | Kind::StoreReg(_)))
}

/// Executes a load or store through a region that is not cached. A handler of its own, so that the
/// handlers of loads and stores call nothing and need no stack.
#[allow(unsafe_code, reason = "loads and stores are not the sentinel")]
#[cfg(not(unoptimized))]
#[inline(never)]
fn handle_any_region<const CODE: usize>(
    machine: &mut Machine<'_>,
    program: &DecodedProgram,
    cursor: Cursor<'_>,
    compute_units: u64,
) -> u64 {
    match machine.access_any_region(const { ACTIONS[CODE] }, cursor.insn()) {
        // SAFETY: the cursor is at a load or store, which is not the sentinel.
        Some(()) => go(machine, program, unsafe { cursor.next() }, compute_units),
        None => stop_before(machine, program, cursor, compute_units),
    }
}

/// Returns the handlers for a version, by the codes of [`ACTIONS`].
pub(crate) const fn handlers(version: Version) -> &'static [Handler; 256] {
    static FLAT: [Handler; 256] = handler_table::<false>();
    static GAPPED: [Handler; 256] = handler_table::<true>();
    if version.stack_frame_gaps() { &GAPPED } else { &FLAT }
}

/// No handler is called.
#[cfg(unoptimized)]
const fn handler_table<const GAPS: bool>() -> [Handler; 256] {
    [end; 256]
}

#[cfg(not(unoptimized))]
const fn handler_table<const GAPS: bool>() -> [Handler; 256] {
    macro_rules! rows {
        ($($opcode:literal, $versions:ident => $name:ident = $mnemonic:literal, $kind:expr;)*) => {
            [$(handle::<{ Op::$name as usize }, GAPS> as Handler),*]
        };
    }
    let rows = for_each_op!(rows);
    let mut handlers: [Handler; 256] = [handle::<{ code::UNSUPPORTED as usize }, GAPS>; 256];
    let mut index = 0;
    while index < rows.len() {
        handlers[index] = rows[index];
        index += 1;
    }
    handlers[code::END as usize] = handle::<{ code::END as usize }, GAPS>;
    handlers[code::CALL_LOCAL as usize] = handle::<{ code::CALL_LOCAL as usize }, GAPS>;
    handlers[code::CALL_REGISTER as usize] = handle::<{ code::CALL_REGISTER as usize }, GAPS>;
    handlers
}
