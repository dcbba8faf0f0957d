//! Cold code: what is out of the common path.

use core::mem::offset_of;

use super::{
    operands::{Arith, Bits, Flag, Reg},
    registers::{FIRST, LAST, METER, POINTER, SCRATCH, SECOND, THIRD},
    writer::Writer,
};
use crate::{
    dirty_pages::PAGE_SHIFT,
    jit::{
        lower::SideExit,
        native::{
            code_buffer::{Encode as _, Patch},
            context::{Context, RegionHint},
            writer::{Cold, ColdCode, ColdKind},
        },
        site::{Check, Site},
    },
};

impl ColdCode for Writer<'_> {
    fn write_cold(&mut self) {
        let exits = core::mem::take(&mut self.exits);
        for (jump, exit) in &exits {
            self.code.reserve();
            self.record_span(exit.pc, true);
            self.land(*jump);
            self.call_routine(self.routines.leave);
            self.sites.push_exit(self.code.here(), exit.pc, exit.refund);
        }
        self.exits = exits;
        self.exits.clear();
        let mut all = core::mem::take(&mut self.cold);
        for cold in &all {
            self.code.reserve();
            self.record_span(cold.site.pc, true);
            for jump in &cold.jumps[..usize::from(cold.count)] {
                self.land(*jump);
            }
            self.write_cold_code(cold);
        }
        all.clear();
        self.cold = all;
    }

    fn write_elsewhere(&mut self, slot: u32) {
        self.code.reserve();
        self.record_span(slot, true);
        self.labels[slot as usize] = self.code.here();
        self.load_entry(slot);
        self.code.jump_reg(SCRATCH);
    }
}

impl Writer<'_> {
    fn write_cold_code(&mut self, cold: &Cold) {
        let Cold { kind, back, slot, site, .. } = cold;
        match kind {
            ColdKind::Refund => {
                self.refund(site.refund);
                self.jump_to_block(site.pc);
            }
            ColdKind::Counted => {
                self.count_branch(*slot, 1);
                if site.refund != 0 && self.shape.metered {
                    self.refund(site.refund);
                }
                self.jump_to_block(site.pc);
            }
            ColdKind::Check => self.cold_check(site, *back),
            ColdKind::Missing => {
                self.load_field(SCRATCH, offset_of!(Context<()>, missing));
                self.code.jump_to(*back);
            }
            ColdKind::Inlined => {
                self.refund(site.refund);
                self.call_slot(*slot, 0, SideExit { pc: site.pc, refund: 0 });
                self.code.jump_to(*back);
            }
            ColdKind::Call => {
                self.call_routine(self.routines.more_stack);
                self.sites.push(self.code.here(), *site);
                self.code.jump_to(*back);
            }
        }
    }

    fn refund(&mut self, compute_units: u8) {
        self.code.add_imm(Bits::B64, Arith::Add, METER, METER, compute_units.into());
    }

    /// Tries the region that accesses of a check went to before.
    fn try_hint(&mut self, check: Check, back: u32) -> [Patch; 2] {
        let Check { base, store, span, disp, hint, .. } = check;
        let entry = offset_of!(Context<()>, hints) + size_of::<RegionHint>() * usize::from(hint);
        self.address(FIRST, base, disp);
        self.load_field(SECOND, entry + offset_of!(RegionHint, start));
        self.code.arith(Bits::B64, Arith::Sub, THIRD, FIRST, SECOND);
        // For addresses before the region, the sum is large, or small and then overflows.
        self.code.add_imm(Bits::B64, Arith::Adds, THIRD, THIRD, i64::from(span) - 1);
        let below = self.code.jump_if(Flag::HigherOrSame);
        let lens = offset_of!(RegionHint, lens) + if store { 8 } else { 0 };
        self.load_field(SECOND, entry + lens);
        self.code.arith(Bits::B64, Arith::Subs, Reg::Zero, THIRD, SECOND);
        let above = self.code.jump_if(Flag::HigherOrSame);
        self.load_field(SECOND, entry + offset_of!(RegionHint, base));
        self.code.arith(Bits::B64, Arith::Add, POINTER, FIRST, SECOND);
        self.code.jump_to(back);
        [below, above]
    }

    /// Emits the cold code of a check, which resumes at `back` once it has a pointer.
    fn cold_check(&mut self, site: &Site, back: u32) {
        if !self.shape.aligned {
            for jump in self.try_hint(site.check, back) {
                self.land(jump);
            }
        }
        let Check { base, disp, store, span, .. } = site.check;
        let may_be_dirty = self.shape.aligned && store && u32::from(span) <= 1 << PAGE_SHIFT;
        if may_be_dirty && span == 1 && !self.shape.gaps {
            // The check of a single byte needs no register for the last one.
            self.address(LAST, base, disp);
        }
        let routine = match may_be_dirty {
            true => self.routines.dirty_page_store,
            false => self.routines.leave,
        };
        self.call_routine(routine);
        let here = self.code.here();
        self.sites.push(here, Site { back: here - back, ..*site });
        if may_be_dirty {
            let last = i64::from(span) - 1;
            if last > 0 {
                self.code.add_imm(Bits::B64, Arith::Sub, POINTER, POINTER, last);
            }
            self.code.jump_to(back);
        }
    }
}
