//! Vectors that every transaction needs while it is processed: each thread keeps them for its next.
//!
//! Invariant: what is kept is empty. Only room is kept, so nothing of a transaction is seen by
//! another; if somebody takes the vectors while they are in use, they get new ones.

use std::cell::Cell;

use crate::{
    context::{Frame, InstructionContext},
    transaction_accounts::TransactionAccount,
};

thread_local! {
    static ACCOUNTS: Cell<Vec<TransactionAccount>> = const { Cell::new(Vec::new()) };
    static TRACE: Cell<Vec<InstructionContext<'static>>> = const { Cell::new(Vec::new()) };
    static STACK: Cell<Vec<Frame>> = const { Cell::new(Vec::new()) };
}

/// Room for the accounts of a transaction.
pub(crate) fn accounts() -> Vec<TransactionAccount> {
    ACCOUNTS.take()
}

/// Room for instructions, and for the frames of those that are not finished.
pub(crate) fn trace<'e>() -> (Vec<InstructionContext<'e>>, Vec<Frame>) {
    (emptied(TRACE.take()), STACK.take())
}

/// Keeps the room of accounts.
pub(crate) fn keep_accounts(mut accounts: Vec<TransactionAccount>) {
    accounts.clear();
    ACCOUNTS.set(accounts);
}

/// Keeps the room of instructions and frames.
pub(crate) fn keep_trace(trace: Vec<InstructionContext<'_>>, mut stack: Vec<Frame>) {
    TRACE.set(emptied(trace));
    stack.clear();
    STACK.set(stack);
}

/// The same room for values of another lifetime: the standard library collects into the vector
/// that it takes from, where sizes agree.
fn emptied<'a, 'b>(mut trace: Vec<InstructionContext<'a>>) -> Vec<InstructionContext<'b>> {
    trace.clear();
    trace.into_iter().map(|_| unreachable!("it was cleared")).collect()
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
