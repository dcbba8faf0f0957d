//! The state of a program at a trap, and notes on likely causes.

mod heap;

use std::sync::Arc;

use selkie_isa::layout::{INPUT_START, STACK_FRAME_BYTES};
use selkie_vm::Access;
pub use selkie_vm::Trap;
use solana_pubkey::Pubkey;

use crate::programs::engine::Engine;

/// How a program's run ended, for tools.
#[derive(Clone, Debug)]
pub struct Run {
    /// r0, or the trap that ended the program.
    pub result: Result<u64, Arc<Trap>>,
    /// The pc of the instruction that ended the run.
    pub pc: usize,
    /// r0 to r10.
    pub registers: [u64; 11],
    /// The return addresses (pc) of the calls that had not returned, outermost first.
    pub return_pcs: Vec<usize>,
    /// Compute units used by the program, syscalls included.
    pub compute_units: u64,
    /// The engine that ran the program: the interpreter or the JIT.
    pub engine: Engine,
    /// The size of the input region in bytes.
    pub input_bytes: usize,
    /// The size of the heap in bytes.
    pub heap_bytes: u64,
}

/// The state of a program at a trap.
#[derive(Clone, Copy, Debug)]
pub struct Stop<'a> {
    /// The trap.
    pub trap: &'a Trap,
    /// The pc of the instruction that trapped.
    pub pc: usize,
    /// r0 to r10.
    pub registers: &'a [u64; 11],
    /// The return addresses (pc) of the calls that had not returned, outermost first.
    pub return_pcs: &'a [usize],
    /// The size of the input region in bytes.
    pub input_bytes: usize,
    /// The size of the heap in bytes.
    pub heap_bytes: u64,
}

/// An owned [`Stop`]: of the first program of a transaction that trapped, which is the innermost.
#[derive(Clone, Debug)]
pub struct Stopped {
    /// The program.
    pub program_id: Pubkey,
    pub(crate) trap: Arc<Trap>,
    pub(crate) pc: usize,
    pub(crate) registers: [u64; 11],
    pub(crate) return_pcs: Vec<usize>,
    pub(crate) input_bytes: usize,
    pub(crate) heap_bytes: u64,
}

impl Stopped {
    /// Keeps the end of a run of `program_id`; `None` if the program has not trapped.
    pub(crate) fn new(program_id: Pubkey, run: Run) -> Option<Self> {
        let Run { result, pc, registers, return_pcs, input_bytes, heap_bytes, .. } = run;
        Some(Self {
            program_id,
            trap: result.err()?,
            pc,
            registers,
            return_pcs,
            input_bytes,
            heap_bytes,
        })
    }

    /// Returns the state at the trap.
    #[must_use]
    pub fn stop(&self) -> Stop<'_> {
        let Self { trap, pc, registers, return_pcs, input_bytes, heap_bytes, .. } = self;
        let (input_bytes, heap_bytes) = (*input_bytes, *heap_bytes);
        Stop { trap, pc: *pc, registers, return_pcs, input_bytes, heap_bytes }
    }
}

impl PartialEq for Stopped {
    /// Compares traps by their texts.
    fn eq(&self, other: &Self) -> bool {
        let all = |it: &Self| (it.program_id, it.pc, it.registers, it.input_bytes, it.heap_bytes);
        all(self) == all(other)
            && self.return_pcs == other.return_pcs
            && self.trap.to_string() == other.trap.to_string()
    }
}

impl Eq for Stopped {}

impl Run {
    /// Returns the state at the trap, if the program trapped.
    #[must_use]
    pub fn stop(&self) -> Option<Stop<'_>> {
        let Self { result, pc, registers, return_pcs, input_bytes, heap_bytes, .. } = self;
        let trap = result.as_ref().err()?;
        let (input_bytes, heap_bytes) = (*input_bytes, *heap_bytes);
        Some(Stop { trap, pc: *pc, registers, return_pcs, input_bytes, heap_bytes })
    }
}

impl Stop<'_> {
    /// Returns the pcs of the calls that had not returned, innermost first.
    pub fn call_sites(&self) -> impl Iterator<Item = usize> {
        self.return_pcs.iter().rev().map(|pc| pc.saturating_sub(1))
    }

    /// Returns notes on likely causes of the trap, as sentences. `logs` are those of the transaction.
    #[must_use]
    pub fn notes(&self, logs: &[String]) -> Vec<String> {
        let note = match self.trap {
            Trap::StackAccessViolation { vaddr, len, .. } => self.stack_note(*vaddr, *len),
            Trap::AccessViolation {
                access: Access::Store,
                region: "program" | "allocated",
                ..
            } => Some("the program's code and constants can only be read".to_owned()),
            Trap::AccessViolation { vaddr, len, .. } => self.input_note(*vaddr, *len),
            Trap::CallDepthExceeded => {
                Some("64 frames are all there is: is this recursion meant?".to_owned())
            }
            Trap::ExecutionOverrun => {
                Some("the last instruction that runs must be `exit` or a jump".to_owned())
            }
            _ => None,
        };
        note.into_iter().chain(heap::notes(self.trap, self.heap_bytes, logs)).collect()
    }

    /// Explains by how much an access leaves the call frame of its function.
    fn stack_note(&self, vaddr: u64, len: u64) -> Option<String> {
        let [.., frame_end] = *self.registers;
        let frame_start = frame_end.saturating_sub(STACK_FRAME_BYTES);
        let access_end = vaddr.saturating_add(len);
        let how = if vaddr < frame_start {
            let below = frame_start.saturating_sub(vaddr);
            format!(
                "starts {below} bytes below it; make large variables smaller, or move them to the \
                 heap"
            )
        } else if access_end > frame_end {
            format!("ends {} bytes above it", access_end.saturating_sub(frame_end))
        } else {
            return None;
        };
        Some(format!(
            "the function's frame has {STACK_FRAME_BYTES} bytes, from {frame_start:#x} to \
             {frame_end:#x}: the access {how}"
        ))
    }

    /// Explains how far behind the input an access ends.
    fn input_note(&self, vaddr: u64, len: u64) -> Option<String> {
        let bytes = self.input_bytes;
        let end = INPUT_START.saturating_add(bytes as u64);
        let is_near = (INPUT_START..end.saturating_add(1 << 20)).contains(&vaddr);
        let past = vaddr.saturating_add(len).saturating_sub(end);
        is_near.then(|| {
            format!(
                "the input has {bytes} bytes and ends at {end:#x}: the access ends {past} bytes \
                 behind it; `selkie input` shows what lies where"
            )
        })
    }
}
