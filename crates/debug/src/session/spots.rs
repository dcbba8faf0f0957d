//! Spots: the line that an instruction belongs to, for steps from line to line.
//!
//! Optimised code is mostly inlined calls. A spot is in the innermost function of the user's own, so
//! that a step does not stop in each iterator of the standard library.

use std::sync::Arc;

use selkie_inspect::Location;

use super::Model;
use crate::{history::Moment, info::EntryId};

/// The line that an instruction belongs to, and the functions around it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Spot {
    /// The position in the innermost function that counts. `None` if no function counts.
    pub(crate) location: Option<Location>,
    /// Whether a macro wrote the code, as far as can be told: the function begins at the line itself.
    pub(crate) is_generated: bool,
    /// The scopes around it, the innermost one first.
    scopes: Vec<EntryId>,
}

impl Spot {
    /// Returns whether an instruction is on the same line of the same inlined call.
    pub(crate) fn is_same_line(&self, other: &Self) -> bool {
        let line = |it: &Self| it.location.as_ref().map(|at| (at.file.clone(), at.line));
        line(self) == line(other) && self.scopes.first() == other.scopes.first()
    }

    /// Returns whether both are at the same line, in different functions that a macro wrote for it.
    pub(crate) fn is_same_macro(&self, other: &Self) -> bool {
        let line = |it: &Self| it.location.as_ref().map(|at| (at.file.clone(), at.line));
        self.is_generated
            && other.is_generated
            && line(self) == line(other)
            && self.scopes.first() != other.scopes.first()
    }

    /// Returns whether this is in a call, inlined into the function that the other one is in.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        other.scopes.first().is_some_and(|it| self.scopes.iter().skip(1).any(|scope| scope == it))
    }

    /// Returns whether this is in the inlined call that the other one is in, or in one within it.
    pub(crate) fn is_in_scope_of(&self, other: &Self) -> bool {
        other.scopes.first().is_none_or(|it| self.scopes.contains(it))
    }
}

impl Model {
    /// Returns the spot of a moment's instruction.
    pub(crate) fn spot(&self, moment: &dyn Moment) -> Arc<Spot> {
        let key = (moment.program(), moment.pc());
        let mut spots = self.spots.borrow_mut();
        Arc::clone(spots.entry(key).or_insert_with(|| Arc::new(self.find_spot(key))))
    }

    fn find_spot(&self, (program, pc): (usize, u32)) -> Spot {
        let Some(program) = self.programs.get(program) else { return Spot::default() };
        let scopes = program.info.scopes_at(pc);
        let calls = scopes.iter().map(|it| it.call.clone());
        let mut locations = core::iter::once(program.info.location(pc)).chain(calls);
        let counts = |it: &Option<Location>| {
            it.as_ref().is_some_and(|it| {
                self.steps_into_libraries || program.info.own().contains(&it.file)
            })
        };
        let Some(index) = locations.position(|it| counts(&it)) else { return Spot::default() };
        let location = match index.checked_sub(1) {
            None => program.info.location(pc),
            Some(inner) => scopes[inner].call.clone(),
        };
        let declared = scopes.get(index).and_then(|it| program.info.declaration(it.id));
        let is_generated = location.as_ref().zip(declared.as_ref()).is_some_and(|(here, it)| {
            here.file.ends_with(".rs") && (&here.file, here.line) == (&it.file, it.line)
        });
        Spot { location, is_generated, scopes: scopes.iter().skip(index).map(|it| it.id).collect() }
    }
}
