//! What is known about the places where machine code leaves its usual flow.
//!
//! Every such place is a call, and its return address is the key.

use crate::program::Register;

/// A place where machine code calls something. Fields of all kinds side by side: an enumeration
/// with fields would be copied in ways that make wide loads wait for narrow stores.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site {
    /// Offset of the instruction behind the call.
    pub(super) at: u32,
    /// The slot of the instruction.
    pub(super) pc: u32,
    /// Units charged for it and for what comes behind it in its block, to be given back.
    pub(super) refund: u8,
    pub(super) what: What,
    /// Of calls: some of r6 to r9 (lowest bit first), and r10 if it is a register (fifth bit), are
    /// on the stack above the return address.
    pub(super) saved: u8,
    /// Of checks.
    pub(super) check: Check,
}

const _: () = assert!(size_of::<Site>() == 24, "programs have many");

/// Why it calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// The interpreter has to do the instruction.
    GiveUp,
    /// Some addresses are not in what the context knows of memory.
    Check,
    /// A function of the program.
    Call,
    /// A syscall.
    Syscall,
    /// The routine for functions that have no entry: the slot is not known before.
    Missing,
    /// The routine that enters machine code.
    Enter,
}

/// Accesses that are checked together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Check {
    /// The guest address of the first byte is this far from the base.
    pub(super) disp: i32,
    /// Bytes.
    pub(super) span: u16,
    /// From where the first access starts to where the last one does.
    pub(super) stride: u16,
    /// The base; r10 may be a frame pointer that is in no register.
    pub(super) base: Register,
    pub(super) store: bool,
    /// The number of the [`Near`](super::windows::Near) that it tries besides, if there are any.
    pub(super) near: u8,
}

impl Check {
    pub(super) const NONE: Self =
        Self { disp: 0, span: 0, stride: 0, base: Register::R0, store: false, near: 0 };
}

impl Site {
    pub(super) fn new(pc: u32, refund: u8, what: What) -> Self {
        Self { at: 0, pc, refund, what, saved: 0, check: Check::NONE }
    }
}

/// All sites, by return address.
#[derive(Debug, Default)]
pub(super) struct Sites {
    all: Vec<Site>,
    /// For every stretch of code, the number of sites before it: a search over all of them would
    /// touch too much memory that is in no cache.
    starts: Vec<u32>,
}

/// log2 of the bytes of a stretch.
const STRETCH_SHIFT: u32 = 8;

impl Sites {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self { all: Vec::with_capacity(capacity), starts: Vec::new() }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, at: u32, site: Site) {
        debug_assert!(self.all.last().is_none_or(|last| last.at < at), "code is written in order");
        self.all.push(Site { at, ..site });
    }

    /// Makes sites be found, once all are there.
    pub(super) fn index(&mut self) {
        for (number, site) in (0..).zip(&self.all) {
            while self.starts.len() <= (site.at >> STRETCH_SHIFT) as usize {
                self.starts.push(number);
            }
        }
        self.all.shrink_to_fit();
    }

    pub(super) fn find(&self, at: u32) -> Option<&Site> {
        let start = *self.starts.get((at >> STRETCH_SHIFT) as usize)?;
        self.all
            .get(start as usize..)?
            .iter()
            .find(|site| site.at >= at)
            .filter(|site| site.at == at)
    }
}
