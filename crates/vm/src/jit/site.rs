//! What is known about the places where machine code leaves its usual flow.
//!
//! Every such place is a call, and its return address is the key.

use crate::decoded::Register;

/// A place where machine code calls something. Fields of all kinds side by side: an enumeration
/// with fields would be copied in ways that make wide loads wait for narrow stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Site {
    /// The slot of the instruction.
    pub(super) pc: u32,
    /// Units charged for it and for what comes behind it in its block, to be given back.
    pub(super) refund: u8,
    pub(super) kind: SiteKind,
    /// Of calls: some of r6 to r9 (lowest bit first), and r10 if it is a register (fifth bit), are
    /// on the stack above the return address.
    pub(super) saved: u8,
    /// Of checks.
    pub(super) check: Check,
    /// Of checks, how far before the return address the code goes on once there is a pointer.
    pub(super) back: u32,
}

/// Why it calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum SiteKind {
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

impl SiteKind {
    const ALL: [Self; 8] = [
        Self::GiveUp,
        Self::Check,
        Self::Call,
        Self::Syscall,
        Self::Missing,
        Self::Enter,
        // Three bits have more numbers than are in use.
        Self::GiveUp,
        Self::GiveUp,
    ];
}

const _: () = {
    let mut number = 0;
    while number <= SiteKind::Enter as usize {
        assert!(SiteKind::ALL[number] as usize == number, "numbers are places");
        number += 1;
    }
};

/// Accesses that are checked together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
    /// The number of the [`RegionHint`](super::context::RegionHint) that it tries besides, if there are any.
    pub(super) near: u8,
}

impl Check {
    pub(super) const NONE: Self =
        Self { disp: 0, span: 0, stride: 0, base: Register::R0, store: false, near: 0 };
}

impl Site {
    pub(super) fn new(pc: u32, refund: u8, kind: SiteKind) -> Self {
        Self { pc, refund, kind, saved: 0, check: Check::NONE, back: 0 }
    }

    fn pack(self, at: u32) -> Packed {
        let Self { pc, refund, kind, saved, check, back } = self;
        let Check { disp, span, stride, base, store, near } = check;
        let bits = kind as u8 | (base as u8) << 3 | u8::from(store) << 7;
        let [span, stride] = [span, stride].map(u32::from);
        let last = u32::from_le_bytes([refund, saved, near, bits]);
        [at, pc, disp.cast_unsigned(), span | stride << 16, last, back]
    }

    fn unpack([_, pc, disp, spans, last, back]: Packed) -> Self {
        let [refund, saved, near, bits] = last.to_le_bytes();
        let [a, b, c, d] = spans.to_le_bytes();
        let check = Check {
            disp: disp.cast_signed(),
            span: u16::from_le_bytes([a, b]),
            stride: u16::from_le_bytes([c, d]),
            base: Register::new(bits >> 3),
            store: bits >> 7 == 1,
            near,
        };
        Self { pc, refund, kind: SiteKind::ALL[usize::from(bits & 7)], saved, check, back }
    }
}

/// A site as it is kept, for programs have many: the offset of the instruction behind the call
/// first.
pub(super) type Packed = [u32; 6];

/// All sites, by return address.
#[derive(Debug, Default)]
pub(super) struct Sites {
    all: Vec<Packed>,
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
        debug_assert!(self.all.last().is_none_or(|last| last[0] < at), "code is written in order");
        self.all.push(site.pack(at));
    }

    /// Makes sites be found, once all are there.
    pub(super) fn index(&mut self) {
        for (number, [at, ..]) in (0..).zip(&self.all) {
            while self.starts.len() <= (at >> STRETCH_SHIFT) as usize {
                self.starts.push(number);
            }
        }
        self.all.shrink_to_fit();
    }

    /// The site behind which the code goes on at an offset.
    pub(super) fn find(&self, at: u32) -> Option<Site> {
        let start = *self.starts.get((at >> STRETCH_SHIFT) as usize)?;
        let found = self.all.get(start as usize..)?.iter().find(|[it, ..]| *it >= at);
        found.filter(|[it, ..]| *it == at).map(|packed| Site::unpack(*packed))
    }

    /// Bytes of memory that they take.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&self.all[..]) + size_of_val(&self.starts[..])
    }

    /// All of them as they are kept.
    pub(super) fn packed(&self) -> &[Packed] {
        &self.all
    }

    /// Sites of code of so many bytes, as they were kept. `None` if they are out of place.
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
            let near = number.to_le_bytes()[0];
            let site = Site {
                pc: number << 20,
                refund: 255 - near,
                kind,
                saved: near & 31,
                check: Check {
                    disp: -(number.cast_signed() << 20),
                    span: u16::MAX - u16::from(near),
                    stride: u16::from(near) << 8,
                    base: Register::new(near),
                    store: number % 3 == 0,
                    near,
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
