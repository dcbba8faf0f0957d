//! The compilation units of a program.
//!
//! Units are only added and never change, so they can be looked up without a lock while others are
//! compiled.

use std::sync::OnceLock;

use super::buffer::Executable;
use crate::jit::{
    options::JitOptions,
    scope::Selection,
    site::{Site, Sites},
};

/// The most units of a program. Each has pages of its own.
pub(super) const UNITS_MAX: usize = 256;
/// The size of a unit doubles after this many units, so that compiling a program bit by bit cannot
/// take much longer than compiling it at once.
const UNITS_ALIKE: usize = 48;
/// On systems with larger pages than these, units are larger by the same factor: otherwise their
/// pages, mostly empty, would take all of [`JitOptions::code_bytes_max`].
const USUAL_PAGE_BYTES: usize = 16 << 10;

/// Returns what the unit of a number is to contain if it starts at a slot, on a system with pages
/// of so many bytes.
pub(super) fn selection(
    unit: usize,
    slot: usize,
    options: &JitOptions,
    page_bytes: usize,
) -> Selection {
    if options.slots_at_once == usize::MAX || unit + 1 >= UNITS_MAX {
        return Selection::Everything;
    }
    let factor = (page_bytes / USUAL_PAGE_BYTES).max(1) << (unit / UNITS_ALIKE);
    Selection::Slots(slot, options.slots_at_once.max(1).saturating_mul(factor))
}

/// The slot of code that belongs to no instruction.
pub(super) const SHARED: u32 = u32::MAX;

/// A compilation unit: code that was compiled together.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) memory: Executable,
    pub(super) sites: Sites,
    /// Slots and code offsets of calls, sorted by slot.
    pub(super) calls: Vec<[u32; 2]>,
    /// Where the code of each instruction starts, if [`JitOptions::spans`] is set: offset, slot,
    /// cold.
    pub(super) spans: Vec<(u32, u32, bool)>,
}

impl Unit {
    /// Returns the address of the first byte.
    pub(super) fn base(&self) -> usize {
        self.memory.bytes().as_ptr() as usize
    }

    /// Returns how many bytes of memory the unit takes, in whole pages.
    pub(super) fn memory_bytes(&self) -> usize {
        self.memory.memory_bytes()
            + self.sites.memory_bytes()
            + size_of_val(&self.calls[..])
            + size_of_val(&self.spans[..])
    }

    fn site(&self, address: usize) -> Option<Site> {
        let at = u32::try_from(address.checked_sub(self.base())?).ok()?;
        self.sites.find(at)
    }
}

/// The compilation units of a program.
#[derive(Debug)]
pub(super) struct Units(Box<[OnceLock<Unit>]>);

impl Units {
    pub(super) fn new() -> Self {
        Self((0..UNITS_MAX).map(|_| OnceLock::new()).collect())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Unit> {
        self.0.iter().map_while(OnceLock::get)
    }

    pub(super) fn first(&self) -> Option<&Unit> {
        self.0[0].get()
    }

    /// Adds a unit and returns the address of its code.
    pub(super) fn set(&self, number: usize, unit: Unit) -> usize {
        self.0[number].get_or_init(|| unit).base()
    }

    /// Returns the site with a return address. `guess` is the unit of the last site, which is tried
    /// first.
    pub(super) fn site(&self, address: usize, guess: &mut usize) -> Option<Site> {
        let guessed = self.0.get(*guess).and_then(OnceLock::get);
        if let Some(site) = guessed.and_then(|unit| unit.site(address)) {
            return Some(site);
        }
        let mut units = self.iter().enumerate();
        let (number, site) =
            units.find_map(|(number, unit)| Some((number, unit.site(address)?)))?;
        *guess = number;
        Some(site)
    }

    /// Returns the address of the machine code of a call, after its charge.
    pub(super) fn call(&self, pc: usize) -> Option<usize> {
        self.iter().find_map(|unit| {
            let index = unit.calls.binary_search_by_key(&pc, |[pc, _]| *pc as usize).ok()?;
            Some(unit.base() + unit.calls[index][1] as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of code per slot, roughly.
    const SLOT_CODE_BYTES: usize = 16;

    #[test]
    fn units_of_a_large_program_fit_the_limit_with_every_page_size() {
        let options = JitOptions::default();
        for page_bytes in [4, 16, 64].map(|it| it << 10) {
            let (mut left, mut bytes, mut units) = (200_000, 0, 0);
            while left > 0 {
                let Selection::Slots(0, slots) = selection(units, 0, &options, page_bytes) else {
                    panic!("{left} slots are left for the last unit");
                };
                bytes += (slots * SLOT_CODE_BYTES).next_multiple_of(page_bytes);
                left = usize::saturating_sub(left, slots);
                units += 1;
            }
            assert!(bytes < options.code_bytes_max / 2, "{units} units take {bytes} bytes");
        }
    }
}
