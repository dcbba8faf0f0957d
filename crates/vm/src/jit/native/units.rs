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

/// Returns what the unit of a number is to contain if it starts at a slot.
pub(super) fn selection(unit: usize, slot: usize, options: &JitOptions) -> Selection {
    if options.slots_at_once == usize::MAX || unit + 1 >= UNITS_MAX {
        return Selection::Everything;
    }
    Selection::Slots(slot, options.slots_at_once.max(1).saturating_mul(1 << (unit / UNITS_ALIKE)))
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
