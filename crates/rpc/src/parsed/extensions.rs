//! Extensions of Token-2022's accounts and mints, as clients see them.

use serde_json::{Value, json};

use crate::{
    parsed::{
        extension_table::{FEE, INTEREST, ROWS, SCALED, type_name},
        layout::read_object,
    },
    reader::Reader,
};

/// The extensions of an account: their numbers and states, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extensions<'a>(Vec<(u16, &'a [u8])>);

impl<'a> Extensions<'a> {
    /// Reads the list behind the account's type: number, length and state of each. What follows a
    /// damaged entry is ignored, as is a list with an unknown number.
    pub(crate) fn read(bytes: &'a [u8]) -> Self {
        let mut reader = Reader::new(bytes);
        let mut found = Vec::new();
        while let Some(number) = reader.u16().filter(|number| *number != 0) {
            let state = reader.u16().and_then(|len| reader.take(usize::from(len)));
            let (Some(state), Some(_)) = (state, type_name(number)) else {
                return Self::default();
            };
            found.push((number, state));
        }
        Self(found)
    }

    /// Returns whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the state of the interest-bearing extension.
    pub(crate) fn interest(&self) -> Option<&'a [u8]> {
        self.state(INTEREST)
    }

    /// Returns the state of the scaled-amount extension.
    pub(crate) fn multiplier(&self) -> Option<&'a [u8]> {
        self.state(SCALED)
    }

    fn state(&self, number: u16) -> Option<&'a [u8]> {
        self.0.iter().find(|(it, _)| *it == number).map(|(_, state)| *state)
    }

    /// Returns the extensions as clients see them.
    pub(crate) fn shown(&self) -> Value {
        self.0.iter().map(|(number, state)| show(*number, state)).collect()
    }
}

fn show(number: u16, state: &[u8]) -> Value {
    let unknown = || json!({ "extension": "unparseableExtension" });
    let Some(row) = ROWS.get(usize::from(number)) else { return unknown() };
    let Some(layout) = row.state else { return json!({ "extension": row.name }) };
    if row.size.is_some_and(|size| size != state.len()) {
        return unknown();
    }
    match read_object(state, &layout.replace("FEE", FEE)) {
        Some(fields) => json!({ "extension": row.name, "state": fields }),
        None => unknown(),
    }
}
