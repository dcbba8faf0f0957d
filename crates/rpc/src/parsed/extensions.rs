//! Extensions of Token-2022's accounts and mints, as clients see them.

use selkie_layout::token::{self, extension::ExtensionType};
use serde_json::{Value, json};

use crate::parsed::layout::read_object;

/// The extensions of an account: their types and states, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extensions<'a>(Vec<(ExtensionType, &'a [u8])>);

impl<'a> Extensions<'a> {
    /// Reads the extensions of a mint or token account. There are none if one of them is damaged, or has
    /// an unknown number.
    pub(crate) fn read(data: &'a [u8]) -> Self {
        let known = token::extensions(data).map(|it| {
            let (number, state) = it.ok()?;
            Some((ExtensionType::of(number)?, state))
        });
        Self(known.collect::<Option<_>>().unwrap_or_default())
    }

    /// Returns whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the state of the interest-bearing extension.
    pub(crate) fn interest(&self) -> Option<&'a [u8]> {
        self.state(ExtensionType::InterestBearingConfig)
    }

    /// Returns the state of the scaled-amount extension.
    pub(crate) fn multiplier(&self) -> Option<&'a [u8]> {
        self.state(ExtensionType::ScaledUiAmount)
    }

    fn state(&self, kind: ExtensionType) -> Option<&'a [u8]> {
        self.0.iter().find(|(it, _)| *it == kind).map(|(_, state)| *state)
    }

    /// Returns the extensions as clients see them.
    pub(crate) fn shown(&self) -> Value {
        self.0.iter().map(|(kind, state)| show(*kind, state)).collect()
    }
}

fn show(kind: ExtensionType, state: &[u8]) -> Value {
    let row = kind.row();
    let Some(fields) = row.state else { return json!({ "extension": row.name }) };
    let is_whole = row.size.is_none_or(|size| size == state.len());
    match is_whole.then(|| read_object(state, fields)).flatten() {
        Some(fields) => json!({ "extension": row.name, "state": fields }),
        None => json!({ "extension": "unparseableExtension" }),
    }
}
