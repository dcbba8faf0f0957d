//! Everything at a step, as plain data.

use selkie::{AccountSharedData, Pubkey, ReturnData, runtime::Layout};

use crate::visit::ReachedStep;

/// The state before a step, or after the last one.
#[derive(Clone, PartialEq, Debug)]
pub struct State {
    /// The number of instructions executed before.
    pub step: u64,
    /// The programs in progress, outermost first: each but the last is in a CPI. Empty at the end.
    pub levels: Vec<Level>,
    /// The log lines so far.
    pub logs: Vec<String>,
    /// The transaction's accounts. What a program in progress has changed in its input is not part of
    /// them until it ends or invokes another one.
    pub accounts: Vec<(Pubkey, AccountSharedData)>,
    /// The return data that was set last.
    pub return_data: ReturnData,
}

/// A program in progress.
#[derive(Clone, PartialEq, Debug)]
pub struct Level {
    /// The index of the invocation, in [`Timeline::invocations`](crate::Timeline::invocations).
    pub invocation: usize,
    /// The program.
    pub program: Pubkey,
    /// The step at which the level is; for a caller that of its CPI.
    pub step: u64,
    /// The slot of the instruction that is executed next; for a caller that of its CPI.
    pub pc: usize,
    /// r0 to r10.
    pub registers: [u64; 11],
    /// The calls within the program that have not returned, outermost first.
    pub frames: Vec<CallFrame>,
    /// The compute units that remain before the instruction.
    pub units_left: u64,
    /// The program's memory.
    pub memory: Memory,
    /// Where the input region has its accounts and data.
    pub layout: Layout,
    /// The addresses of the instruction's accounts.
    pub accounts: Vec<Pubkey>,
}

/// A call within a program that has not returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallFrame {
    /// The slot to return to, the one after the call.
    pub return_pc: usize,
    /// r6 to r10 of the caller.
    pub saved: [u64; 5],
}

/// A copy of a program's memory.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Memory {
    /// The regions, in ascending order of addresses.
    pub regions: Vec<MemoryRegion>,
}

/// A region of a program's memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryRegion {
    /// The address of the first byte.
    pub vaddr: u64,
    /// The bytes, gaps left out.
    pub bytes: Vec<u8>,
    /// The bytes of a frame, if frames alternate with gaps of that size (V0).
    pub gap_bytes: Option<u64>,
    /// Whether the program may write.
    pub is_writable: bool,
}

impl Level {
    /// Copies the state of the program that is about to execute a step.
    pub(crate) fn of(moment: &ReachedStep<'_, '_, '_>) -> Self {
        let machine = &*moment.machine;
        let instruction = moment.context.instruction();
        let key = |index: u16| moment.context.accounts().get(usize::from(index)).ok();
        let keys = instruction.accounts.iter().map(|it| key(it.index).map(|it| it.key));
        let frames = machine.saved_frames();
        Self {
            invocation: moment.invocation,
            program: instruction.program_id,
            step: moment.step,
            pc: machine.pc(),
            registers: *machine.registers(),
            frames: frames.map(|(saved, return_pc)| CallFrame { return_pc, saved }).collect(),
            units_left: machine.meter.remaining(),
            memory: Memory::of(moment),
            layout: moment.context.running().map(|(layout, _)| layout.clone()).unwrap_or_default(),
            accounts: keys.map(Option::unwrap_or_default).collect(),
        }
    }

    /// Returns the slots of the functions in progress, innermost first: that of the next instruction,
    /// then those of the calls.
    pub fn call_sites(&self) -> impl Iterator<Item = usize> {
        let callers = self.frames.iter().rev().map(|frame| frame.return_pc.saturating_sub(1));
        core::iter::once(self.pc).chain(callers)
    }

    /// Returns the registers of a function in progress, as far as calls preserve them: 0 is the
    /// innermost one, whose registers are all known; of the others r6 to r10 are.
    #[must_use]
    pub fn registers_of(&self, frame: usize) -> Option<[Option<u64>; 11]> {
        let Some(outer) = frame.checked_sub(1) else { return Some(self.registers.map(Some)) };
        let index = self.frames.len().checked_sub(outer + 1)?;
        let [r6, r7, r8, r9, r10] = self.frames.get(index)?.saved.map(Some);
        Some([None, None, None, None, None, None, r6, r7, r8, r9, r10])
    }
}

impl Memory {
    fn of(moment: &ReachedStep<'_, '_, '_>) -> Self {
        let regions = moment.machine.memory.regions().iter();
        let regions = regions.filter(|region| region.len() > 0).map(|region| MemoryRegion {
            vaddr: region.vaddr(),
            bytes: region.bytes().to_vec(),
            gap_bytes: region.gap_bytes(),
            is_writable: region.is_writable(),
        });
        Self { regions: regions.collect() }
    }

    /// Returns up to `len` bytes from an address on: those that are mapped without interruption.
    #[must_use]
    pub fn read(&self, vaddr: u64, len: usize) -> &[u8] {
        let after = self.regions.partition_point(|region| region.vaddr <= vaddr);
        let region = after.checked_sub(1).and_then(|index| self.regions.get(index));
        region.map_or(&[], |region| region.read(vaddr, len))
    }

    /// Returns `N` bytes at an address, if all are mapped.
    #[must_use]
    pub fn array<const N: usize>(&self, vaddr: u64) -> Option<[u8; N]> {
        self.read(vaddr, N).try_into().ok()
    }
}

impl MemoryRegion {
    fn read(&self, vaddr: u64, len: usize) -> &[u8] {
        let Some(offset) = vaddr.checked_sub(self.vaddr) else { return &[] };
        let (start, len_max) = match self.gap_bytes {
            Some(frame) if (offset / frame) % 2 == 1 => return &[],
            Some(frame) => (offset / (2 * frame) * frame + offset % frame, frame - offset % frame),
            None => (offset, u64::MAX),
        };
        let Ok(start) = usize::try_from(start) else { return &[] };
        let rest = self.bytes.get(start..).unwrap_or_default();
        let len = len.min(usize::try_from(len_max).unwrap_or(usize::MAX)).min(rest.len());
        &rest[..len]
    }

    /// Returns what the region is for: `program`, `stack`, `heap` or `input`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        region_name(self.vaddr)
    }
}

/// Returns what the region at an address is for: `program`, `stack`, `heap` or `input`.
#[must_use]
pub fn region_name(vaddr: u64) -> &'static str {
    match vaddr >> 32 {
        0 | 1 => "program",
        2 => "stack",
        3 => "heap",
        4 => "input",
        _ => "other",
    }
}
