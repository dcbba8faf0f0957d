//! Cold code: what is out of the common path.

use core::mem::offset_of;

use super::{
    encoder::{Arith, Bits, Flag, Mem},
    registers::{METER, POINTER, SCRATCH},
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
            let here = self.code.here();
            self.code.patch(*jump, here);
            self.code.call_to(self.routines.leave);
            self.sites.push_exit(self.code.here(), exit.pc, exit.refund);
        }
        self.exits = exits;
        self.exits.clear();
        let mut all = core::mem::take(&mut self.cold);
        for Cold { jumps, count, kind, back, slot, site } in &all {
            self.code.reserve();
            self.record_span(site.pc, true);
            let here = self.code.here();
            for jump in &jumps[..usize::from(*count)] {
                self.code.patch(*jump, here);
            }
            match kind {
                ColdKind::Refund => {
                    self.code.arith_imm(Bits::B64, Arith::Add, METER, site.refund.into());
                    self.jump_to_block(site.pc);
                }
                ColdKind::Counted => {
                    self.count_branch(*slot, 1);
                    if site.refund != 0 && self.shape.metered {
                        self.code.arith_imm(Bits::B64, Arith::Add, METER, site.refund.into());
                    }
                    self.jump_to_block(site.pc);
                }
                ColdKind::Check => self.cold_check(site, *back),
                ColdKind::Missing => {
                    let missing = self.context(offset_of!(Context<()>, missing));
                    self.code.load(3, SCRATCH, missing);
                    self.code.jump_to(*back);
                }
                ColdKind::Inlined => {
                    self.code.arith_imm(Bits::B64, Arith::Add, METER, site.refund.into());
                    self.call_slot(*slot, 0, SideExit { pc: site.pc, refund: 0 });
                    self.code.jump_to(*back);
                }
                ColdKind::Call => {
                    self.code.call_to(self.routines.more_stack);
                    self.sites.push(self.code.here(), *site);
                    self.code.jump_to(*back);
                }
            }
        }
        all.clear();
        self.cold = all;
    }

    fn write_elsewhere(&mut self, slot: u32) {
        self.code.reserve();
        self.record_span(slot, true);
        self.labels[slot as usize] = self.code.here();
        let entry = self.entry(slot);
        self.code.jump_mem(entry);
    }
}

impl Writer<'_> {
    /// Tries the region that accesses of a check went to before.
    pub(super) fn try_hint(&mut self, check: Check, back: u32) -> [Patch; 2] {
        let Check { base, store, span, disp, hint, .. } = check;
        let entry = offset_of!(Context<()>, hints) + size_of::<RegionHint>() * usize::from(hint);
        let last = i32::from(span) - 1;
        self.address(SCRATCH, base, disp);
        if self.shape.gaps {
            self.code.lea(POINTER, Mem::at(SCRATCH, last));
        }
        let start = self.context(entry + offset_of!(RegionHint, start));
        self.code.arith_mem(Bits::B64, Arith::Sub, SCRATCH, start);
        // For addresses before the region, the sum is large, or small and then overflows.
        self.code.arith_imm(Bits::B64, Arith::Add, SCRATCH, last);
        let below = self.code.jump_if(Flag::Below);
        let lens = offset_of!(RegionHint, lens) + if store { 8 } else { 0 };
        let len = self.context(entry + lens);
        self.code.arith_mem(Bits::B64, Arith::Cmp, SCRATCH, len);
        let above = self.code.jump_if(Flag::AboveOrEqual);
        let base = self.context(entry + offset_of!(RegionHint, base));
        self.code.arith_mem(Bits::B64, Arith::Add, POINTER, base);
        self.code.jump_to(back);
        [below, above]
    }

    /// Emits the cold code of a check, which resumes at `back` once it has a pointer.
    fn cold_check(&mut self, site: &Site, back: u32) {
        if !self.shape.aligned {
            let far = self.try_hint(site.check, back);
            let here = self.code.here();
            for jump in far {
                self.code.patch(jump, here);
            }
        }
        let Check { store, span, .. } = site.check;
        let may_be_dirty = self.shape.aligned && store && u32::from(span) <= 1 << PAGE_SHIFT;
        let routine = match may_be_dirty {
            true => self.routines.dirty_page_store,
            false => self.routines.leave,
        };
        self.code.call_to(routine);
        let here = self.code.here();
        self.sites.push(here, Site { back: here - back, ..*site });
        if may_be_dirty {
            self.code.jump_to(back);
        }
    }
}
