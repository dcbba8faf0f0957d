//! The writer thread: takes commands, one after the other.

use core::time::Duration;
use std::{
    fmt,
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError},
    thread,
};

use crate::{
    error::NodeError,
    producer::{Producer, Submission},
    timeline::milliseconds,
};

/// How many commands may wait.
pub(crate) const COMMANDS_MAX: usize = 16_384;
/// How many transactions go into a block at most.
const TRANSACTIONS_MAX: usize = 4096;
/// How many transactions have to come together for their block to wait for others.
const CROWD: usize = 5;
/// How long it waits. With a tenth of it, a fifth fewer transfers land under load.
const GATHERING: Duration = Duration::from_millis(10);

/// What the writer is asked to do.
pub(crate) enum Command {
    /// Puts a transaction into a block.
    Transaction(Box<Submission>),
    /// Calls a function between two blocks.
    Call(Box<dyn FnOnce(&mut Producer) + Send>),
    /// Ends the thread.
    Stop(SyncSender<Result<(), NodeError>>),
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Transaction(_) => "Transaction",
            Self::Call(_) => "Call",
            Self::Stop(_) => "Stop",
        })
    }
}

/// Takes commands until it is stopped.
pub(crate) fn run(mut producer: Producer, commands: &Receiver<Command>) {
    let mut next = None;
    loop {
        let command = match next.take() {
            Some(command) => command,
            None => match wait(&producer, commands) {
                Ok(command) => command,
                Err(RecvTimeoutError::Timeout) => {
                    // An error of the ledger is reported to those who send transactions.
                    let _ = producer.tick();
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            },
        };
        match command {
            Command::Transaction(first) => {
                let mut transactions = vec![*first];
                next = take_waiting(&mut transactions, commands);
                let is_crowd = transactions.len() >= CROWD && next.is_none();
                if is_crowd && producer.makes_blocks_on_demand() {
                    thread::sleep(GATHERING);
                    next = take_waiting(&mut transactions, commands);
                }
                let _ = producer.add(transactions);
            }
            Command::Call(call) => call(&mut producer),
            Command::Stop(reply) => {
                let _ = reply.send(producer.stop());
                return;
            }
        }
    }
    let _ = producer.stop();
}

/// Waits for a command, or until a block is due.
fn wait(producer: &Producer, commands: &Receiver<Command>) -> Result<Command, RecvTimeoutError> {
    let Some(due) = producer.due_at() else {
        return commands.recv().map_err(|_| RecvTimeoutError::Disconnected);
    };
    let now = milliseconds(producer.shared.clock());
    commands.recv_timeout(Duration::from_millis(due.saturating_sub(now)))
}

/// Takes the transactions that are waiting; returns the command behind them.
fn take_waiting(
    transactions: &mut Vec<Submission>,
    commands: &Receiver<Command>,
) -> Option<Command> {
    while transactions.len() < TRANSACTIONS_MAX {
        match commands.try_recv().ok()? {
            Command::Transaction(next) => transactions.push(*next),
            other => return Some(other),
        }
    }
    None
}

/// Queues a transaction unless too many are waiting.
pub(crate) fn submit(
    commands: &SyncSender<Command>,
    submission: Submission,
) -> Result<(), crate::error::SendError> {
    use crate::error::SendError;
    commands.try_send(Command::Transaction(Box::new(submission))).map_err(|error| match error {
        TrySendError::Full(_) => SendError::QueueFull,
        TrySendError::Disconnected(_) => SendError::Stopped,
    })
}
