//! Vectors that every transaction needs while it is processed: each thread keeps them for its next,
//! and one that ends leaves them to another.
//!
//! Invariant: what is kept is empty. Only room is kept, so nothing of a transaction is seen by
//! another; if somebody takes the vectors while they are in use, they get new ones.

use std::{
    cell::Cell,
    sync::{Mutex, PoisonError},
};

use crate::{
    programs::transaction_programs::TransactionPrograms,
    runtime::{
        buffers::{self, Buffers},
        context::Frame,
        instruction_context::InstructionContext,
        transaction_accounts::TransactionAccount,
    },
};

thread_local! {
    static ACCOUNTS: Cell<Vec<TransactionAccount>> = const { Cell::new(Vec::new()) };
    static TRACE: Cell<Vec<InstructionContext<'static>>> = const { Cell::new(Vec::new()) };
    static STACK: Cell<Vec<Frame<'static>>> = const { Cell::new(Vec::new()) };
    static PROGRAMS: Cell<TransactionPrograms> = const { Cell::new(TransactionPrograms::new()) };
    static LINES: Cell<Vec<String>> = const { Cell::new(Vec::new()) };
}

// More than this is not kept, so that an idle thread holds little memory.
const SPARE_LINES: usize = 64;
const SPARE_LINE_BYTES: usize = 256;

/// Room for the accounts of a transaction.
#[inline]
pub(crate) fn accounts() -> Vec<TransactionAccount> {
    ACCOUNTS.take()
}

/// Room for instructions, and for the frames of those that are not finished.
#[inline]
pub(crate) fn trace<'e>() -> (Vec<InstructionContext<'e>>, Vec<Frame<'e>>) {
    (emptied(TRACE.take()), emptied(STACK.take()))
}

/// Keeps the room of accounts.
#[inline]
pub(crate) fn keep_accounts(mut accounts: Vec<TransactionAccount>) {
    // One that had none must not take the place of one that has.
    if accounts.capacity() > 0 {
        accounts.clear();
        ACCOUNTS.set(accounts);
    }
}

/// Keeps the room of instructions and frames.
pub(crate) fn keep_trace(trace: Vec<InstructionContext<'_>>, stack: Vec<Frame<'_>>) {
    TRACE.set(emptied(trace));
    STACK.set(emptied(stack));
}

/// Room for programs.
#[inline]
pub(crate) fn programs() -> TransactionPrograms {
    PROGRAMS.take()
}

/// Keeps the room of programs.
#[inline]
pub(crate) fn keep_programs(mut programs: TransactionPrograms) {
    programs.clear();
    PROGRAMS.set(programs);
}

/// Lines that somebody had in a log: only their room is of use.
#[inline]
pub(crate) fn lines() -> Vec<String> {
    LINES.take()
}

/// Keeps the lines that a log did not need.
#[inline]
pub(crate) fn keep_spare_lines(spare: Vec<String>) {
    LINES.set(spare);
}

/// Empties a log, and keeps its lines for others.
pub(crate) fn keep_lines(log: &mut Vec<String>) {
    if log.is_empty() {
        return;
    }
    let mut spare = LINES.take();
    let left = SPARE_LINES.saturating_sub(spare.len());
    spare.extend(log.drain(..).filter(|it| it.capacity() <= SPARE_LINE_BYTES).take(left));
    LINES.set(spare);
}

/// The room that a thread of a batch has.
#[derive(Default)]
struct Room {
    accounts: Vec<TransactionAccount>,
    trace: Vec<InstructionContext<'static>>,
    stack: Vec<Frame<'static>>,
    lines: Vec<String>,
    buffers: Vec<Buffers>,
}

/// What threads have left.
static LEFT: Mutex<Vec<Room>> = Mutex::new(Vec::new());
/// More of it is not kept.
const LEFT_MAX: usize = 64;

/// Does the work of a thread that does nothing else: in room that one before has left, if any.
pub(crate) fn in_room_left<R>(work: impl FnOnce() -> R) -> R {
    let left = LEFT.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let Room { accounts, trace, stack, lines, buffers } = left.unwrap_or_default();
    ACCOUNTS.set(accounts);
    TRACE.set(trace);
    STACK.set(stack);
    LINES.set(lines);
    buffers::set_clean(buffers);
    let result = work();
    let room = Room {
        accounts: ACCOUNTS.take(),
        trace: TRACE.take(),
        stack: STACK.take(),
        lines: LINES.take(),
        buffers: buffers::take_clean(),
    };
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    if left.len() < LEFT_MAX {
        left.push(room);
    }
    result
}

/// The same room for values of another lifetime: the standard library collects into the vector
/// that it takes from, where sizes agree.
fn emptied<A, B>(mut values: Vec<A>) -> Vec<B> {
    values.clear();
    values.into_iter().map(|_| unreachable!("it was cleared")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_kept() {
        keep_trace(Vec::with_capacity(8), Vec::with_capacity(8));
        let (trace, stack) = trace();
        assert!(trace.capacity() >= 8 && stack.capacity() >= 8);
        assert_eq!(super::trace().0.capacity(), 0);
    }
}
