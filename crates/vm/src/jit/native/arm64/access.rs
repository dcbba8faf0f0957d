//! Checks of accesses.

use core::mem::offset_of;

use super::{
    operands::{Arith, Bits, Flag, Reg, Shift, When},
    registers::{CONTEXT, FIRST, LAST, POINTER, REGISTERS, SCRATCH, SECOND, THIRD, WINDOW},
    writer::Writer,
};
use crate::{
    decoded::Register,
    dirty_pages::PAGE_SHIFT,
    jit::{
        lower::SideExit,
        native::{
            code_buffer::{Encode as _, Patch},
            context::{Context, WINDOW_BITS},
            writer::{Cold, ColdKind},
        },
        site::{Check, Site, SiteKind},
    },
};

/// What a check has computed.
struct Checked {
    /// Dense addresses of the first and the last byte.
    first: Reg,
    last: Reg,
    /// The jump that is taken if an access starts in a gap.
    in_gap: Option<Patch>,
}

impl Writer<'_> {
    // Not inlined into every load and store, because it is long.
    #[inline(never)]
    pub(super) fn write_check(&mut self, check: Check, spilled: Option<u8>, exit: SideExit) {
        let Check { disp, base, span, store, .. } = check;
        let last = i64::from(span) - 1;
        let limits = offset_of!(Context<()>, windows.limits) + if store { 8 } else { 0 };
        let first = self.first_byte(base, disp);
        let checked = if self.shape.gaps {
            self.check_gaps(check, first)
        } else {
            self.window_of(first);
            let last_byte = if last == 0 { first } else { LAST };
            if last > 0 {
                self.code.add_imm(Bits::B64, Arith::Add, LAST, first, last);
            }
            Checked { first, last: last_byte, in_gap: None }
        };
        self.load_of_window(SECOND, limits);
        self.code.arith(Bits::B64, Arith::Subs, Reg::Zero, checked.last, SECOND);
        let beyond = self.code.jump_if(Flag::HigherOrSame);
        self.load_of_window(SECOND, offset_of!(Context<()>, windows.bases));
        self.code.arith(Bits::B64, Arith::Add, POINTER, checked.first, SECOND);
        let back = self.code.here();
        if let Some(spilled) = spilled {
            let field = offset_of!(Context<()>, spilled) + 8 * usize::from(spilled);
            self.store_field(POINTER, field);
        }
        let mut site = Site::new(exit.pc, exit.refund, SiteKind::Check);
        site.check = Check { hint: self.next_hint(), ..check };
        let jumps = [beyond, checked.in_gap.unwrap_or(Patch(0))];
        let count = 1 + u8::from(checked.in_gap.is_some());
        self.cold.push(Cold { jumps, count, kind: ColdKind::Check, back, slot: 0, site });
    }

    /// Returns a register with the address of a group's first byte.
    #[inline(always)]
    fn first_byte(&mut self, base: Register, disp: i32) -> Reg {
        let is_in_register = base != Register::R10 || !self.shape.fixed_frames;
        if disp == 0 && is_in_register {
            return REGISTERS[base as usize];
        }
        self.address(FIRST, base, disp);
        FIRST
    }

    /// Points to the entry of an address's window.
    #[inline(always)]
    pub(super) fn window_of(&mut self, address: Reg) {
        let (low, high) = (32, 32 + WINDOW_BITS - 1);
        self.code.bits_of(Bits::B64, WINDOW, address, low, high);
        self.code.arith_shifted(Arith::Add, WINDOW, CONTEXT, (WINDOW, Shift::Lsl, 4));
    }

    /// Loads a field of the window's entry.
    #[inline(always)]
    pub(super) fn load_of_window(&mut self, to: Reg, field: usize) {
        let disp = self.disp(field);
        self.code.load(3, to, WINDOW, disp);
    }

    /// Emits the check that the first and the last access of a group start outside of gaps, and
    /// what makes addresses dense.
    fn check_gaps(&mut self, check: Check, first: Reg) -> Checked {
        let tested = if check.stride > 0 {
            // If the first or the last access starts in a gap, the bit is set in their disjunction.
            self.code.add_imm(Bits::B64, Arith::Add, LAST, first, check.stride.into());
            self.code.arith(Bits::B64, Arith::Orr, LAST, LAST, first);
            LAST
        } else {
            first
        };
        self.window_of(first);
        self.load_of_window(SECOND, offset_of!(Context<()>, windows.bases) + 8);
        self.code.arith(Bits::B64, Arith::Ands, Reg::Zero, tested, SECOND);
        let in_gap = self.code.jump_if(Flag::NotEqual);
        let last = i64::from(check.span) - 1;
        let dense = if last == 0 { LAST } else { FIRST };
        self.remove_gaps(dense, first);
        if last > 0 {
            self.code.add_imm(Bits::B64, Arith::Add, LAST, FIRST, last);
        }
        Checked { first: dense, last: LAST, in_gap: Some(in_gap) }
    }

    /// `dense = address` without the bit of gaps, which is 0 in it. The bit is in `SECOND`; where
    /// there are no gaps, that is 0.
    pub(super) fn remove_gaps(&mut self, dense: Reg, address: Reg) {
        self.code.arith(Bits::B64, Arith::Sub, THIRD, Reg::Zero, SECOND);
        self.code.arith(Bits::B64, Arith::And, THIRD, THIRD, address);
        self.code.arith_shifted(Arith::Sub, dense, address, (THIRD, Shift::Lsr, 1));
    }

    /// Emits a check of the page of the dense address in a register, which it overwrites. Returns
    /// the jumps that are taken if the page is clean or not recorded.
    pub(super) fn check_dirty_page(&mut self, address: Reg) -> [Patch; 2] {
        let ranges = offset_of!(Context<()>, windows.tracked_ranges);
        self.load_of_window(SCRATCH, ranges);
        self.code.arith(Bits::B64, Arith::Sub, address, address, SCRATCH);
        self.load_of_window(SCRATCH, ranges + 8);
        self.code.arith(Bits::B64, Arith::Subs, Reg::Zero, address, SCRATCH);
        let beyond = self.code.jump_if(Flag::HigherOrSame);
        self.load_of_window(SCRATCH, offset_of!(Context<()>, windows.dirty_pages));
        let page = (address, Shift::Lsr, PAGE_SHIFT);
        self.code.arith_shifted(Arith::Add, SCRATCH, SCRATCH, page);
        self.code.load(0, SCRATCH, SCRATCH, 0);
        let clean = self.code.jump_when(When::Zero(Bits::B32, SCRATCH));
        [beyond, clean]
    }
}
