//! The run that is debugged, as the debugger sees it: any of its moments, in any order.

use core::{fmt, ops::ControlFlow, ops::Range};
use std::sync::Arc;

use crate::guest::{Guest, Unreadable};

/// A program of a run.
#[derive(Clone, Debug)]
pub struct ProgramFile {
    /// Its name, or its address.
    pub name: String,
    /// Its address in base58.
    pub address: String,
    /// The file that runs.
    pub file: Arc<[u8]>,
    /// The file with its debug information; the same one if there is no other.
    pub debug: Arc<[u8]>,
}

/// Where an activation is among all of a moment. A greater one is called, directly or not, by a
/// smaller one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct FrameId {
    /// The number of the instruction in the order in which instructions of the transaction start.
    pub instruction: u32,
    /// Its stack height: 1 for a top-level instruction.
    pub height: u32,
    /// The functions of the program that have called.
    pub depth: u32,
}

impl FrameId {
    /// Returns stack height and call depth, by which activations are nested.
    #[must_use]
    pub fn nesting(self) -> (u32, u32) {
        (self.height, self.depth)
    }
}

/// A function that was called and has not returned, inlined calls apart.
#[derive(Clone, Debug)]
pub struct Activation {
    /// Where it is.
    pub frame: FrameId,
    /// The index of its program.
    pub program: usize,
    /// The instruction to be executed, or the call that has not returned.
    pub pc: u32,
    /// The registers; those that are not known are `None`.
    pub registers: [Option<u64>; 11],
}

/// The moment before an instruction is executed.
pub trait Moment {
    /// Returns its number: the instructions that were executed before it.
    fn position(&self) -> u64;

    /// Returns the index of the program that runs.
    fn program(&self) -> usize;

    /// Returns the slot of the instruction.
    fn pc(&self) -> u32;

    /// Returns the innermost activation's place.
    fn frame(&self) -> FrameId;

    /// Returns the compute units that are left.
    fn units_left(&self) -> u64;

    /// Returns the activations, the innermost one first.
    fn activations(&self) -> Vec<Activation>;

    /// Fills `bytes` with those at an address of the memory of the instruction at a stack height.
    ///
    /// # Errors
    /// If not all of them are in its memory.
    fn read(&self, height: u32, address: u64, bytes: &mut [u8]) -> Result<(), Unreadable>;
}

/// Something that happened in a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// The moment before the instruction with which it happened.
    pub position: u64,
    /// What happened.
    pub kind: EventKind,
    /// The log line, the trap, the error.
    pub text: String,
}

/// Kinds of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventKind {
    /// A line was logged.
    Log,
    /// A program was ended by the machine.
    Trap,
    /// A program returned an error.
    Error,
}

/// A write to memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Write {
    /// The moment before the instruction that wrote.
    pub position: u64,
    /// What wrote, if it was not the instruction itself: a syscall, a called program.
    pub by: Option<String>,
    /// The bytes before.
    pub old: Vec<u8>,
    /// The bytes after.
    pub new: Vec<u8>,
}

/// A run whose moments can be visited in any order.
pub trait History {
    /// Returns the programs that run in it.
    fn programs(&self) -> &[ProgramFile];

    /// Returns the number of moments, and so the position of the end.
    fn len(&self) -> u64;

    /// Returns whether no instruction was executed.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns what happened, in order.
    fn events(&self) -> &[Event];

    /// Returns the number of instruction slots of a program.
    fn slots(&self, program: usize) -> u32;

    /// Returns an instruction of a program as text.
    fn instruction(&self, program: usize, pc: u32) -> String;

    /// Returns how the run ended, as text.
    fn result(&self) -> &str;

    /// Visits the moments of a range in order, until the visitor breaks.
    ///
    /// # Errors
    /// If the run cannot be repeated.
    fn visit(
        &mut self,
        range: Range<u64>,
        visitor: &mut dyn FnMut(&dyn Moment) -> ControlFlow<()>,
    ) -> Result<(), HistoryError>;

    /// Returns the last write, before a moment, to any of the bytes at an address of the memory of the
    /// instruction that runs at the moment.
    ///
    /// # Errors
    /// If the run cannot be repeated.
    fn last_write(
        &mut self,
        address: u64,
        len: u64,
        before: u64,
    ) -> Result<Option<Write>, HistoryError>;
}

/// Why a run cannot be repeated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HistoryError(pub String);

impl fmt::Display for HistoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for HistoryError {}

/// An activation of a moment, as values are read from it.
pub(crate) struct ActivationGuest<'a> {
    pub(crate) moment: &'a dyn Moment,
    pub(crate) activation: &'a Activation,
}

impl Guest for ActivationGuest<'_> {
    fn register(&self, index: u16) -> Option<u64> {
        self.activation.registers.get(usize::from(index)).copied().flatten()
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Unreadable> {
        self.moment.read(self.activation.frame.height, address, bytes)
    }
}
