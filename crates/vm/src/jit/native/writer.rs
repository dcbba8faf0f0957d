//! The writer of a unit's code, as far as it is the same for all processors.
//!
//! It is generic over the encoder, so that each back end adds the operations of its processor.

use std::io;

use super::{
    buffer::{Executable, Pages},
    code_buffer::{Encode, Patch},
    context::REGION_HINTS,
    shape::Shape,
    units::{SHARED, Unit},
};
use crate::jit::{
    harden::HardeningRng,
    lower::{NumberBranch, SideExit},
    options::JitOptions,
    scope::Scope,
    site::{Site, SiteKind, Sites},
};

/// Cold code: emitted after the block, and reached if one of two jumps is taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cold {
    pub(super) jumps: [Patch; 2],
    pub(super) count: u8,
    pub(super) kind: ColdKind,
    /// The offset at which the common path continues.
    pub(super) back: u32,
    /// The function that is called.
    pub(super) slot: u32,
    pub(super) site: Site,
}

/// The purpose of cold code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ColdKind {
    /// Refunds compute units on the way to a block.
    Refund,
    /// Counts a branch that is taken, refunds, and continues at its target. `slot` is the number of
    /// the branch.
    Counted,
    /// Asks for the pointer of a check that failed.
    Check,
    /// Asks for more stack for a call.
    Call,
    /// Calls the routine `missing` for a function that is not compiled.
    Missing,
    /// Calls a function that was inlined, because the budget does not suffice for all of it.
    Inlined,
}

/// The offsets of the routines. Each unit has those that its code calls; in all units but the first
/// they jump to those of the first.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::jit) struct Routines {
    pub(in crate::jit) enter: u32,
    pub(in crate::jit) leave: u32,
    pub(in crate::jit) stopped: u32,
    /// Raises the limits of the stack.
    pub(in crate::jit) more_stack: u32,
    /// Finds the pointer of a store to a dirty page.
    pub(in crate::jit) dirty_page_store: u32,
    pub(in crate::jit) syscall: u32,
    pub(in crate::jit) missing: u32,
    /// A bare `ret`.
    pub(in crate::jit) ret: u32,
    /// The routines of [`MemoryCalls`](crate::MemoryCalls); 0 for those that are not used.
    pub(in crate::jit) memory: [u32; 4],
}

impl Routines {
    /// Returns the offsets as words, for freezing.
    pub(in crate::jit) fn words(self) -> [u32; 12] {
        let Self {
            enter,
            leave,
            stopped,
            more_stack,
            dirty_page_store,
            syscall,
            missing,
            ret,
            memory,
        } = self;
        let [a, b, c, d] = memory;
        [enter, leave, stopped, more_stack, dirty_page_store, syscall, missing, ret, a, b, c, d]
    }

    pub(in crate::jit) fn of_words(words: [u32; 12]) -> Self {
        let [
            enter,
            leave,
            stopped,
            more_stack,
            dirty_page_store,
            syscall,
            missing,
            ret,
            a,
            b,
            c,
            d,
        ] = words;
        let memory = [a, b, c, d];
        Self { enter, leave, stopped, more_stack, dirty_page_store, syscall, missing, ret, memory }
    }
}

/// The writer of a unit's code.
#[derive(Debug)]
pub(in crate::jit) struct Writer<'o, E> {
    pub(super) code: E,
    pub(super) rng: HardeningRng<'o>,
    pub(super) scope: &'o Scope,
    pub(super) shape: &'o Shape,
    pub(super) routines: Routines,
    pub(super) sites: Sites,
    /// Slots and code offsets of calls.
    pub(super) calls: Vec<[u32; 2]>,
    /// By slot, the offset of the block of this unit that starts there, or 0.
    pub(super) labels: &'o mut [u32],
    /// The slots of all blocks.
    pub(super) blocks: Vec<u32>,
    /// Slots in other units that this unit refers to.
    pub(super) far: Vec<u32>,
    /// Jumps and calls of blocks that are not written yet.
    pub(super) fixups: Vec<(Patch, u32)>,
    pub(super) cold: Vec<Cold>,
    /// Cold code that leaves to the interpreter: the jumps that lead there.
    pub(super) exits: Vec<(Patch, SideExit)>,
    /// Where the code of each instruction starts, if that is asked for: offset, slot, cold.
    pub(super) spans: Option<Vec<(u32, u32, bool)>>,
    pub(super) hint: u8,
    /// The maximum size of the unit.
    pub(super) bytes_max: usize,
    /// The jump that skips an inlined function, the function, and the call.
    pub(super) inlined: Option<(Patch, u32, SideExit)>,
    /// The number of the next branch in the counters, if it is counted.
    pub(super) counted: Option<u32>,
}

/// A finished unit.
#[derive(Debug)]
pub(in crate::jit) struct Written {
    pub(in crate::jit) unit: Unit,
    pub(in crate::jit) routines: Routines,
    /// Slots and offsets of its blocks.
    pub(in crate::jit) blocks: Vec<(u32, u32)>,
    /// Slots in other units that it refers to.
    pub(in crate::jit) far: Vec<u32>,
}

/// The code that a unit has besides its blocks.
pub(super) trait ColdCode {
    /// Writes the cold code that was added so far.
    fn write_cold(&mut self);

    /// Writes a jump to a block in another unit.
    fn write_elsewhere(&mut self, slot: u32);
}

impl<E> NumberBranch for Writer<'_, E> {
    #[inline(always)]
    fn number_branch(&mut self, pc: u32) {
        if let Some(counters) = &self.shape.counters {
            self.counted = counters.number(pc as usize);
        }
    }
}

impl<'o, E: Encode> Writer<'o, E> {
    /// Creates a writer for the unit of a number, which takes about `bytes_max` bytes at most. All
    /// `labels` must be 0.
    pub(in crate::jit) fn new(
        unit: usize,
        bytes_max: usize,
        scope: &'o Scope,
        shape: &'o Shape,
        options: &'o JitOptions,
        labels: &'o mut [u32],
    ) -> Self {
        let slots = scope.slots;
        let mut writer = Self {
            code: E::new(slots * 20 + 2048),
            rng: HardeningRng::new(options, unit),
            scope,
            shape,
            routines: Routines::default(),
            sites: Sites::with_capacity(slots / 2),
            calls: Vec::with_capacity(slots / 16),
            labels,
            blocks: Vec::with_capacity(slots / 4),
            far: Vec::new(),
            fixups: Vec::with_capacity(slots / 4),
            cold: Vec::with_capacity(64),
            exits: Vec::with_capacity(64),
            spans: options.spans.then(Vec::new),
            hint: 0,
            bytes_max,
            inlined: None,
            counted: None,
        };
        writer.record_span(SHARED, false);
        for _ in 0..writer.rng.padding() / E::NOP_BYTES {
            writer.code.reserve();
            writer.code.nop();
        }
        writer
    }

    #[inline(always)]
    pub(super) fn record_span(&mut self, slot: u32, cold: bool) {
        if self.spans.is_some() {
            self.push_span(slot, cold);
        }
    }

    #[cold]
    pub(super) fn push_span(&mut self, slot: u32, cold: bool) {
        let here = self.code.here();
        self.spans.get_or_insert_default().push((here, slot, cold));
    }

    /// Returns the index of the region hint for the next check.
    #[inline(always)]
    pub(super) fn next_hint(&mut self) -> u8 {
        self.hint = (self.hint + 1) % REGION_HINTS;
        self.hint
    }

    /// Sets the target of a jump or call to a block.
    #[inline(always)]
    pub(super) fn lead(&mut self, patch: Patch, slot: u32) {
        let label = self.labels[slot as usize];
        if label == 0 {
            self.fixups.push((patch, slot));
        } else {
            self.code.patch(patch, label);
        }
    }

    /// Adds cold code for a branch that is counted where it is taken.
    pub(super) fn cold_counted(&mut self, jump: Patch, number: u32, pc: u32, refund: u8) {
        self.cold_jump(jump, SideExit { pc, refund }, ColdKind::Counted, 0);
        if let Some(cold) = self.cold.last_mut() {
            cold.slot = number;
        }
    }

    /// Adds cold code that leaves to the interpreter.
    #[inline(always)]
    pub(super) fn cold_give_up(&mut self, jump: Patch, exit: SideExit) {
        self.exits.push((jump, exit));
    }

    /// Adds cold code that is reached by one jump.
    #[inline(always)]
    pub(super) fn cold_jump(&mut self, jump: Patch, exit: SideExit, kind: ColdKind, back: u32) {
        let site = Site::new(exit.pc, exit.refund, SiteKind::GiveUp);
        self.cold.push(Cold { jumps: [jump, Patch(0)], count: 1, kind, back, slot: 0, site });
    }

    /// Returns whether the unit has reached its maximum size. Cold code and jumps to other units
    /// are written later, each with so many bytes at most.
    #[inline(always)]
    pub(super) fn has_reached_maximum(&self, cold_bytes: usize, far_bytes: usize) -> bool {
        let cold = self.cold.len() + self.exits.len();
        let later = cold * cold_bytes + self.fixups.len() * far_bytes;
        let tables = self.sites.memory_bytes() + size_of_val(&self.calls[..]);
        self.code.here() as usize + tables + later >= self.bytes_max
    }
}

impl<E: Encode> Writer<'_, E>
where
    Self: ColdCode,
{
    /// Returns the unit, in executable memory.
    ///
    /// # Errors
    /// If the operating system provides no such memory.
    pub(in crate::jit) fn finish(mut self, pages: &mut Pages) -> io::Result<Written> {
        self.write_cold();
        let fixups = core::mem::take(&mut self.fixups);
        for (patch, slot) in fixups {
            if self.labels[slot as usize] == 0 {
                self.write_elsewhere(slot);
            }
            self.code.patch(patch, self.labels[slot as usize]);
        }
        for slot in &self.far {
            self.labels[*slot as usize] = 0;
        }
        let blocks = self.blocks.iter().map(|slot| (*slot, self.labels[*slot as usize])).collect();
        for slot in &self.blocks {
            self.labels[*slot as usize] = 0;
        }
        self.sites.index();
        // Blocks are in order, except where one starts within an `lddw` of another.
        self.calls.sort_unstable();
        let unit = Unit {
            memory: Executable::new(self.code.bytes(), pages)?,
            sites: self.sites,
            calls: self.calls,
            spans: self.spans.unwrap_or_default(),
        };
        Ok(Written { unit, routines: self.routines, blocks, far: self.far })
    }
}
