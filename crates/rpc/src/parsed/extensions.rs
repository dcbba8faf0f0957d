//! Extensions of Token-2022's accounts and mints, as clients see them.

use selkie_layout::token;
use serde_json::{Value, json};

use crate::parsed::{
    extension_table::{FEE, INTEREST, ROWS, SCALED, type_name},
    layout::read_object,
};

/// The extensions of an account: their numbers and states, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extensions<'a>(Vec<(u16, &'a [u8])>);

impl<'a> Extensions<'a> {
    /// Reads the extensions of a mint or token account. There are none if one of them is damaged, or has
    /// an unknown number.
    pub(crate) fn read(data: &'a [u8]) -> Self {
        let known = token::extensions(data)
            .map(|it| it.ok().filter(|(number, _)| type_name(*number).is_some()));
        Self(known.collect::<Option<_>>().unwrap_or_default())
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
