//! What the forms of instructions are made of.

use super::keys::Role;

/// A part of an instruction's data.
#[derive(Clone, Copy)]
pub(super) enum Data {
    /// The number of an instruction of an extension.
    Number(u8),
    /// The rest of the first eight bytes of an instruction that has a name.
    Name(&'static str),
    Decimals,
    Key,
    OptionalKey,
    Amount,
    /// A byte below this.
    Below(u8),
    Text,
    /// A text after its length in four bytes.
    String,
    /// Up to this many bytes.
    Bytes(usize),
    /// This many bytes.
    Exactly(usize),
    /// Where proofs are: bytes of zero, as they are in accounts, and seldom others.
    Offsets(usize),
    /// The amount that proofs are about, seldom another.
    ProvedAmount,
    /// The ciphertexts of the amount for the auditor, seldom others.
    AuditorCiphertexts,
    /// A number of two bytes, up to 10,000 and seldom more.
    BasisPoints,
    /// A floating-point number of eight bytes.
    Multiplier,
}

/// An account of an instruction: its role, and whether it is writable or a signer.
pub(super) type Use = (Role, bool, bool);

pub(super) const MINT: Use = (Role::Mint, true, false);
pub(super) const ACCOUNT: Use = (Role::Account, true, false);
pub(super) const FRESH_MINT: Use = (Role::FreshMint, true, false);
pub(super) const FRESH: Use = (Role::FreshAccount, true, false);
pub(super) const MULTISIG: Use = (Role::Multisig, true, false);
pub(super) const WALLET: Use = (Role::Wallet, true, false);
pub(super) const AUTHORITY: Use = (Role::Wallet, false, true);
pub(super) const PAYER: Use = (Role::Wallet, true, true);
pub(super) const RENT: Use = (Role::Rent, false, false);
pub(super) const SYSTEM: Use = (Role::System, false, false);
pub(super) const TOKEN: Use = (Role::Token, false, false);
pub(super) const ASSOCIATED: Use = (Role::Associated, true, false);

/// The form of an instruction: its number, data and accounts.
pub(super) type Shape = (u8, &'static [Data], &'static [Use]);
