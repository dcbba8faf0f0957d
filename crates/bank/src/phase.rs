//! The phases of a bank.

/// The phase of a bank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Phase {
    /// It processes transactions.
    Open,
    /// It does not change any more.
    Frozen,
    /// It is before the root, which took over its state.
    Rooted,
    /// It is on an abandoned fork.
    Dead,
}

impl Phase {
    const ALL: [Self; 4] = [Self::Open, Self::Frozen, Self::Rooted, Self::Dead];

    /// Returns the phase of a discriminant.
    pub(crate) fn from_u8(phase: u8) -> Self {
        Self::ALL.into_iter().find(|known| *known as u8 == phase).unwrap_or(Self::Dead)
    }
}
