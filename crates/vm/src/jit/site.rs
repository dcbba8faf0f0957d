//! What is known about the places where machine code leaves its usual flow.
//!
//! Every such place is a call, and its return address is the key.

use crate::program::Register;

/// A place where machine code calls something.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site {
    /// Offset of the instruction behind the call.
    pub(super) at: u32,
    /// The slot of the instruction.
    pub(super) pc: u32,
    /// Units charged for it and for what comes behind it in its block, to be given back.
    pub(super) refund: u16,
    pub(super) what: What,
}

/// Why it calls.
#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    /// The interpreter has to do the instruction.
    GiveUp,
    /// Some addresses are not in what the context knows of memory.
    Check {
        base: Register,
        store: bool,
        span: u16,
        stride: u16,
        disp: i32,
        /// The number of the [`Near`](super::windows::Near) that it tries besides.
        near: Option<u8>,
    },
    /// A function of the program; some of r6 to r9 (lowest bit first), and r10 if it is a register
    /// (fifth bit), are on the stack above the return address.
    Call { saved: u8 },
    /// A syscall.
    Syscall,
    /// The routine for functions that have no entry: the slot is not known before.
    Missing,
    /// The routine that enters machine code.
    Enter,
}

/// All sites, by return address.
#[derive(Debug, Default)]
pub(super) struct Sites(Vec<Site>);

impl Sites {
    pub(super) fn push(&mut self, site: Site) {
        debug_assert!(
            self.0.last().is_none_or(|last| last.at < site.at),
            "code is written in order"
        );
        self.0.push(site);
    }

    pub(super) fn find(&self, at: u32) -> Option<&Site> {
        let index = self.0.binary_search_by_key(&at, |site| site.at).ok()?;
        Some(&self.0[index])
    }
}
