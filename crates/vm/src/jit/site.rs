//! Sites: the calls by which machine code leaves the common path.
//!
//! The key of a site is its return address.

use crate::decoded::Register;

/// A call from machine code. Holds the fields of all kinds: an enumeration with fields would be
/// copied with wide loads directly after narrow stores, which stall.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Site {
    /// The slot of the instruction.
    pub(super) pc: u32,
    /// Compute units to refund: those of the instruction and of the rest of its block.
    pub(super) refund: u8,
    pub(super) kind: SiteKind,
    /// For calls: which of r6 to r9 (lowest bit first), and r10 if it is in a register (fifth bit),
    /// are on the stack above the return address.
    pub(super) saved: u8,
    /// For checks.
    pub(super) check: Check,
    /// For checks: how many bytes before the return address execution resumes with a pointer.
    pub(super) back: u32,
}

/// The reason for a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum SiteKind {
    /// The interpreter must execute the instruction.
    GiveUp,
    /// The check of a group of accesses failed.
    Check,
    /// A function of the program.
    Call,
    /// A syscall.
    Syscall,
    /// The routine `missing`, for functions without machine code. The slot is in the context.
    Missing,
    /// The routine that enters machine code.
    Enter,
}

impl SiteKind {
    const ALL: [Self; 8] = [
        Self::GiveUp,
        Self::Check,
        Self::Call,
        Self::Syscall,
        Self::Missing,
        Self::Enter,
        // Three bits can hold more values than are used.
        Self::GiveUp,
        Self::GiveUp,
    ];
}

const _: () = {
    let mut number = 0;
    while number <= SiteKind::Enter as usize {
        assert!(SiteKind::ALL[number] as usize == number, "numbers are indices");
        number += 1;
    }
};

/// The check of a group of accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Check {
    /// The offset of the first byte from the base register.
    pub(super) disp: i32,
    /// Bytes from the first to the last.
    pub(super) span: u16,
    /// From the start of the first access to that of the last.
    pub(super) stride: u16,
    /// The base register. r10 may be a frame pointer that is not in a register.
    pub(super) base: Register,
    pub(super) store: bool,
    /// The index of the [`RegionHint`](super::context::RegionHint) that the check tries, if windows
    /// may have several regions.
    pub(super) hint: u8,
}

impl Check {
    pub(super) const NONE: Self =
        Self { disp: 0, span: 0, stride: 0, base: Register::R0, store: false, hint: 0 };
}

impl Site {
    pub(super) fn new(pc: u32, refund: u8, kind: SiteKind) -> Self {
        Self { pc, refund, kind, saved: 0, check: Check::NONE, back: 0 }
    }

    fn pack(self, at: u32) -> Packed {
        let Self { pc, refund, kind, saved, check, back } = self;
        let Check { disp, span, stride, base, store, hint } = check;
        let bits = kind as u8 | (base as u8) << 3 | u8::from(store) << 7;
        let [span, stride] = [span, stride].map(u32::from);
        let last = u32::from_le_bytes([refund, saved, hint, bits]);
        [at, pc, disp.cast_unsigned(), span | stride << 16, last, back]
    }

    fn unpack([_, pc, disp, spans, last, back]: Packed) -> Self {
        let [refund, saved, hint, bits] = last.to_le_bytes();
        let [a, b, c, d] = spans.to_le_bytes();
        let check = Check {
            disp: disp.cast_signed(),
            span: u16::from_le_bytes([a, b]),
            stride: u16::from_le_bytes([c, d]),
            base: Register::new(bits >> 3),
            store: bits >> 7 == 1,
            hint,
        };
        Self { pc, refund, kind: SiteKind::ALL[usize::from(bits & 7)], saved, check, back }
    }
}

/// A site as it is stored, because programs have many. The first word is the offset of the return
/// address in the code.
pub(super) type Packed = [u32; 6];

/// The sites of a compilation unit, by return address.
#[derive(Debug, Default)]
pub(super) struct Sites {
    all: Vec<Packed>,
    /// The number of sites before each stretch of code. A binary search over all sites would cause
    /// too many cache misses.
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
        debug_assert!(self.all.last().is_none_or(|last| last[0] < at), "code is written in order");
        self.all.push(site.pack(at));
    }

    /// Adds a site of the kind [`SiteKind::GiveUp`].
    #[inline(always)]
    pub(super) fn push_exit(&mut self, at: u32, pc: u32, refund: u8) {
        let last = u32::from_le_bytes([refund, 0, 0, SiteKind::GiveUp as u8]);
        self.all.push([at, pc, 0, 0, last, 0]);
    }

    /// Builds the index, once all sites are added.
    pub(super) fn index(&mut self) {
        for (number, [at, ..]) in (0..).zip(&self.all) {
            while self.starts.len() <= (at >> STRETCH_SHIFT) as usize {
                self.starts.push(number);
            }
        }
        self.all.shrink_to_fit();
    }

    /// Returns the site with a return address, given as an offset in the code.
    pub(super) fn find(&self, at: u32) -> Option<Site> {
        let start = *self.starts.get((at >> STRETCH_SHIFT) as usize)?;
        let found = self.all.get(start as usize..)?.iter().find(|[it, ..]| *it >= at);
        found.filter(|[it, ..]| *it == at).map(|packed| Site::unpack(*packed))
    }

    /// Returns how many bytes of memory the sites take.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&self.all[..]) + size_of_val(&self.starts[..])
    }

    /// Returns the sites as they are stored.
    pub(super) fn packed(&self) -> &[Packed] {
        &self.all
    }

    /// Creates sites from stored ones, for code of `code_bytes` bytes. Returns `None` if they are
    /// out of order or out of bounds.
    pub(super) fn of_packed(all: Vec<Packed>, code_bytes: usize) -> Option<Self> {
        let in_order = all.is_sorted_by(|a, b| a[0] < b[0]);
        let within = all.last().is_none_or(|last| last[0] as usize <= code_bytes);
        let mut sites = Self { all, starts: Vec::new() };
        (in_order && within).then(|| {
            sites.index();
            sites
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_are_found_as_they_were_put() {
        let mut sites = Sites::default();
        let mut all = Vec::new();
        for (number, kind) in (1_u32..).zip(SiteKind::ALL.into_iter().cycle().take(64)) {
            let hint = number.to_le_bytes()[0];
            let site = Site {
                pc: number << 20,
                refund: 255 - hint,
                kind,
                saved: hint & 31,
                check: Check {
                    disp: -(number.cast_signed() << 20),
                    span: u16::MAX - u16::from(hint),
                    stride: u16::from(hint) << 8,
                    base: Register::new(hint),
                    store: number % 3 == 0,
                    hint,
                },
                back: number << 8,
            };
            sites.push(number * 100, site);
            all.push((number * 100, site));
        }
        sites.index();
        let again = Sites::of_packed(sites.packed().to_vec(), 6400).expect("they are in order");
        assert!(Sites::of_packed(sites.packed().to_vec(), 6399).is_none());
        for sites in [sites, again] {
            for (at, site) in &all {
                assert_eq!((sites.find(*at), sites.find(*at + 1)), (Some(*site), None));
            }
        }
    }
}
