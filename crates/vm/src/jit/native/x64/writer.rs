//! The writer of a unit's code, with what all operations have in common.

use core::mem::offset_of;
use std::io;

use super::{
    encoder::{Arith, Bits, Encoder, Flag, Mem, Patch, Reg},
    registers::{CONTEXT, CONTEXT_BIAS, FRAME, POINTER, REGISTERS, SCRATCH},
    shape::Shape,
};
use crate::{
    decoded::Register,
    jit::{
        harden::HardeningRng,
        lower::{MemLocation, Next, SideExit, Value},
        native::{
            buffer::{Executable, Pages},
            context::{Context, REGION_HINTS},
            units::{SHARED, Unit},
        },
        options::JitOptions,
        scope::Scope,
        site::{Site, SiteKind, Sites},
    },
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
    pub(super) stopped: u32,
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
pub(in crate::jit) struct Writer<'o> {
    pub(super) code: Encoder,
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
    /// The register whose value the flags reflect (64 bits), and the offset at which they do.
    pub(super) flags: (Reg, u32),
    pub(super) hint: u8,
    /// The maximum size of the unit.
    pub(super) bytes_max: usize,
    /// The jump that skips an inlined function, the function, and the call.
    pub(super) inlined: Option<(Patch, u32, SideExit)>,
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

impl<'o> Writer<'o> {
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
            code: Encoder::new(slots * 20 + 2048),
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
            flags: (SCRATCH, 0),
            hint: 0,
            bytes_max,
            inlined: None,
        };
        writer.record_span(SHARED, false);
        for _ in 0..writer.rng.padding() {
            writer.code.reserve();
            writer.code.nop();
        }
        writer
    }

    /// Returns the unit, in executable memory.
    ///
    /// # Errors
    /// If the operating system provides no such memory.
    pub(in crate::jit) fn finish(mut self, pages: &mut Pages) -> io::Result<Written> {
        self.flush_cold();
        let fixups = core::mem::take(&mut self.fixups);
        for (patch, slot) in fixups {
            if self.labels[slot as usize] == 0 {
                self.block_elsewhere(slot);
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

    /// Emits a jump to a block in another unit.
    pub(super) fn block_elsewhere(&mut self, slot: u32) {
        self.code.reserve();
        self.record_span(slot, true);
        self.labels[slot as usize] = self.code.here();
        let entry = self.entry(slot);
        self.code.jump_mem(entry);
    }

    /// Returns the location of the address of a slot's code. The pointer register gets the slot,
    /// for the routine `missing`.
    pub(super) fn entry(&mut self, slot: u32) -> Mem {
        self.far.push(slot);
        self.code.mov_imm(POINTER, slot.into());
        self.code.load(3, SCRATCH, self.context(offset_of!(Context<()>, entries)));
        Mem::at(SCRATCH, 8 * slot.cast_signed())
    }

    /// Returns a field of the context.
    #[inline(always)]
    pub(super) fn context(&self, field: usize) -> Mem {
        Mem::at(CONTEXT, self.disp(field))
    }

    /// Returns a field of a window's entry, whose offset is in the scratch register.
    #[inline(always)]
    pub(super) fn window(&self, field: usize) -> Mem {
        Mem::indexed(CONTEXT, SCRATCH, 0, self.disp(field))
    }

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "it is small")]
    pub(super) fn disp(&self, field: usize) -> i32 {
        (field as i32 - CONTEXT_BIAS).wrapping_add(self.shape.key)
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

    /// `dst = r10 + addend`, where r10 is not in a register.
    #[inline(never)]
    pub(super) fn guest_frame(&mut self, dst: Reg, addend: i32) {
        self.code.load(3, dst, self.context(offset_of!(Context<()>, frame_key)));
        self.code.lea(dst, Mem::indexed(dst, FRAME, u8::from(self.shape.gaps), addend));
    }

    /// Loads a constant of the program.
    #[inline(always)]
    pub(super) fn constant(&mut self, dst: Reg, number: u64) {
        if !self.rng.blinds(number) {
            self.code.mov_imm(dst, number);
            return;
        }
        self.blinded_constant(dst, number);
    }

    #[allow(clippy::cast_possible_truncation, reason = "halves are taken apart on purpose")]
    pub(super) fn blinded_constant(&mut self, dst: Reg, number: u64) {
        if let Ok(number) = u32::try_from(number) {
            let part = self.rng.number() as u32;
            self.code.mov_imm(dst, part.into());
            self.code.lea32(dst, Mem::at(dst, number.wrapping_sub(part).cast_signed()));
        } else if let Ok(number) = i32::try_from(number.cast_signed()) {
            let (a, b) = self.parts(number);
            self.code.mov_imm(dst, i64::from(a).cast_unsigned());
            self.code.lea(dst, Mem::at(dst, b));
        } else {
            self.code.mov_imm(dst, number.wrapping_sub(self.shape.blinding_key));
            let key = self.context(offset_of!(Context<()>, blinding_key));
            self.code.arith_mem(Bits::B64, Arith::Add, dst, key);
        }
    }

    /// Splits a number into two random summands, without overflow.
    #[allow(clippy::cast_possible_truncation, reason = "any bits will do")]
    pub(super) fn parts(&mut self, number: i32) -> (i32, i32) {
        let random = (self.rng.number() as u32).cast_signed();
        let part = if number < 0 { random | i32::MIN } else { random & i32::MAX };
        (part, number - part)
    }

    /// Returns a register with the right-hand side: its own, or the scratch register.
    #[inline(always)]
    pub(super) fn register(&mut self, value: Value) -> Reg {
        match value {
            Value::Register(register) => REGISTERS[register as usize],
            Value::Constant(constant) => {
                self.constant(SCRATCH, constant);
                SCRATCH
            }
            Value::FramePointer => {
                self.guest_frame(SCRATCH, 0);
                SCRATCH
            }
        }
    }

    /// `dst = dst op value`, with the low 32 bits or all 64 bits of an immediate.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "a half is what 32-bit operations see")]
    pub(super) fn arith_value(&mut self, bits: Bits, op: Arith, dst: Reg, value: Value) {
        let Value::Constant(constant) = value else {
            let src = self.register(value);
            return self.code.arith(bits, op, dst, src);
        };
        let imm = match bits {
            Bits::B32 => Ok((constant as u32).cast_signed()),
            Bits::B64 => i32::try_from(constant.cast_signed()),
        };
        match imm {
            Ok(imm) if !self.rng.blinds(i64::from(imm).cast_unsigned()) => {
                self.code.arith_imm(bits, op, dst, imm);
            }
            Ok(imm) if matches!(op, Arith::Add | Arith::Sub) => {
                let (a, b) = self.parts(imm);
                self.code.arith_imm(bits, op, dst, a);
                self.code.arith_imm(bits, op, dst, b);
            }
            Ok(imm) if op == Arith::Xor => {
                let part = (self.rng.number() as u32).cast_signed();
                self.code.arith_imm(bits, op, dst, part);
                self.code.arith_imm(bits, op, dst, part ^ imm);
            }
            _ => {
                self.constant(SCRATCH, constant);
                self.code.arith(bits, op, dst, SCRATCH);
            }
        }
    }

    pub(super) fn leave(&mut self, site: Site) {
        self.code.call_to(self.routines.leave);
        self.sites.push(self.code.here(), site);
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

    pub(super) fn jump_to_block(&mut self, slot: u32) {
        let label = self.labels[slot as usize];
        if label != 0 {
            return self.code.jump_to(label);
        }
        let jump = self.code.jump();
        self.lead(jump, slot);
    }

    pub(super) fn memory(&self, location: MemLocation) -> Mem {
        match location {
            MemLocation::Frame(disp) => Mem::at(FRAME, disp),
            MemLocation::Pointer(disp) => Mem::at(POINTER, disp),
        }
    }

    /// `dst = base + disp`, a guest address.
    #[inline(always)]
    pub(super) fn address(&mut self, dst: Reg, base: Register, disp: i32) {
        if self.shape.fixed_frames && base == Register::R10 {
            self.guest_frame(dst, disp);
            return;
        }
        let base = REGISTERS[base as usize];
        if disp == 0 {
            self.code.mov(Bits::B64, dst, base);
        } else {
            self.code.lea(dst, Mem::at(base, disp));
        }
    }

    #[inline(never)]
    pub(super) fn branch_to(&mut self, flag: Flag, next: Next, refund: u8) {
        if let Next::Block(slot) = next
            && (refund == 0 || !self.shape.metered)
        {
            let label = self.labels[slot as usize];
            if label != 0 {
                return self.code.jump_if_to(flag, label);
            }
            let jump = self.code.jump_if(flag);
            return self.lead(jump, slot);
        }
        let jump = self.code.jump_if(flag);
        match next {
            Next::Exit(exit) => self.cold_give_up(jump, exit),
            Next::Block(pc) => self.cold_jump(jump, SideExit { pc, refund }, ColdKind::Refund, 0),
        }
    }

    /// Calls a function in this unit or another. It overwrites these of r6 to r9.
    pub(super) fn call_slot(&mut self, slot: u32, overwritten: u8, exit: SideExit) {
        if self.scope.is_own(slot as usize) {
            return self.call_around(exit, overwritten, |it| {
                let call = it.code.call();
                it.lead(call, slot);
            });
        }
        self.call_around(exit, overwritten, |it| {
            let entry = it.entry(slot);
            it.code.call_mem(entry);
        });
    }

    /// Emits a call between saving and restoring registers and the frame register.
    pub(super) fn call_around(&mut self, exit: SideExit, saved: u8, call: impl FnOnce(&mut Self)) {
        let saved = if self.shape.fixed_frames { saved } else { 0b1_1111 };
        for number in 0..5 {
            if saved >> number & 1 == 1 {
                self.code.push(REGISTERS[6 + number]);
            }
        }
        if self.shape.fixed_frames {
            self.code.arith_imm(Bits::B64, Arith::Add, FRAME, self.shape.frame_bytes);
        }
        call(self);
        let site = Site { saved, ..Site::new(exit.pc, 0, SiteKind::Call) };
        self.sites.push(self.code.here(), site);
        if self.shape.fixed_frames {
            self.code.arith_imm(Bits::B64, Arith::Sub, FRAME, self.shape.frame_bytes);
        }
        for number in (0..5).rev() {
            if saved >> number & 1 == 1 {
                self.code.pop(REGISTERS[6 + number]);
            }
        }
    }

    /// Emits the check of the call depth.
    pub(super) fn check_depth(&mut self, exit: SideExit) {
        let start = self.code.here();
        let limit = self.context(offset_of!(Context<()>, frame_limit));
        let (register, flag) = if self.shape.fixed_frames {
            (FRAME, Flag::AboveOrEqual)
        } else {
            (Reg::Rsp, Flag::Below)
        };
        self.code.arith_mem(Bits::B64, Arith::Cmp, register, limit);
        let jump = self.code.jump_if(flag);
        self.cold_jump(jump, exit, ColdKind::Call, start);
    }

    /// Multiplies or divides `rax` by the scratch register, with `rdx` saved. `high` tells whether
    /// the result is in `rdx`.
    pub(super) fn with_rdx(
        &mut self,
        bits: Bits,
        dst: Reg,
        high: bool,
        work: impl FnOnce(&mut Encoder),
    ) {
        let save = dst != Reg::Rdx;
        self.code.mov(bits, Reg::Rax, dst);
        if save {
            self.code.push(Reg::Rdx);
        }
        work(&mut self.code);
        let result = if high { Reg::Rdx } else { Reg::Rax };
        if dst != result {
            self.code.mov(bits, dst, result);
        }
        if save {
            self.code.pop(Reg::Rdx);
        }
    }
}
