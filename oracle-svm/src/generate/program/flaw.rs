//! The ways in which an invocation can be malformed.

/// One defect of an invocation, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    None,
    /// A field of the account info with this index is wrong; the number selects the field.
    Info(usize, u64),
    NoInfo(usize),
    InfosTwice,
    NoInfos,
    InfoCount(u64),
    MetaCount(u64),
    DataLen(u64),
    Shifted,
    Flag(usize),
    SeedLen(u64),
    SeedCount(u64),
    SignerCount(u64),
    WrongSeed,
    InfosInInput,
    LengthCell(u64),
}
