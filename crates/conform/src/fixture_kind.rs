//! The description of a kind of fixture.

/// A kind of fixture.
#[derive(Clone, Copy, Debug)]
pub struct FixtureKind {
    /// The name of the kind.
    pub name: &'static str,
    /// The fields that are compared.
    pub compared: &'static str,
}
