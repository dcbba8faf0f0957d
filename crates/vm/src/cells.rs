//! A program's cells in memory, and the cursor that walks them.
//!
//! Invariant: behind the cells stands a sentinel, which ends every walk: its handler is that of
//! [`code::END`], which never moves on. So a handler may step to the
//! next cell without asking whether there is one.

#![allow(unsafe_code, reason = "cursors step without a look at the length")]

use core::{fmt, marker::PhantomData};

use selkie_isa::Version;

use crate::program::{Cell, code};

/// The cells of a program, and the sentinel.
pub(crate) struct Cells(Box<[Cell]>);

impl Cells {
    /// As many cells as there are slots, each to be written, and the sentinel.
    pub(crate) fn new(slots: usize, version: Version) -> Self {
        Self(vec![Cell::new(code::END, version); slots + 1].into_boxed_slice())
    }

    /// The cell of a slot, to be written.
    ///
    /// # Panics
    /// If there is no such slot: the sentinel stays.
    #[inline(always)]
    pub(crate) fn slot(&mut self, pc: usize) -> &mut Cell {
        assert!(pc < self.len(), "the sentinel stays");
        &mut self.0[pc]
    }

    /// Slots of the program.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.0.len() - 1
    }

    /// The cell of a slot.
    #[inline(always)]
    pub(crate) fn get(&self, pc: usize) -> Option<&Cell> {
        self.0.get(pc).filter(|_| pc < self.len())
    }

    /// The cells of all slots.
    #[inline(always)]
    pub(crate) fn all(&self) -> &[Cell] {
        &self.0[..self.len()]
    }

    /// The sentinel.
    pub(crate) fn end(&self) -> &Cell {
        &self.0[self.len()]
    }

    /// A cursor at a slot, or at the end.
    #[inline(always)]
    pub(crate) fn cursor(&self, pc: usize) -> Option<Cursor<'_>> {
        (pc < self.0.len())
            .then(|| Cursor { cell: self.0.as_ptr().wrapping_add(pc), cells: PhantomData })
    }

    /// The slot that a cursor of these cells is at.
    #[inline(always)]
    pub(crate) fn pc(&self, cursor: Cursor<'_>) -> usize {
        (cursor.cell as usize).wrapping_sub(self.0.as_ptr() as usize) / size_of::<Cell>()
    }
}

impl fmt::Debug for Cells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.0).finish()
    }
}

/// A place among the cells of a program, the sentinel included.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'p> {
    cell: *const Cell,
    cells: PhantomData<&'p Cells>,
}

impl<'p> Cursor<'p> {
    /// The cell there.
    #[inline(always)]
    pub(crate) fn cell(self) -> &'p Cell {
        // SAFETY: `Cells::cursor` and `Cursor::next` stay within the cells and the sentinel, which
        // are borrowed for `'p`.
        unsafe { &*self.cell }
    }

    /// The next place.
    ///
    /// # Safety
    /// The cursor must not be at the sentinel.
    #[inline(always)]
    pub(crate) unsafe fn next(self) -> Self {
        Self { cell: self.cell.wrapping_add(1), ..self }
    }
}
