//! What random instructions are about: families of programs, and the roles of accounts.

use selkie::{Pubkey, programs};

use super::proofs;

/// A family of programs with the same instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Family {
    Token,
    Token2022,
    Ata,
    Memo,
}

/// What an account is, or may become.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Mint,
    Account,
    FreshMint,
    FreshAccount,
    Multisig,
    Wallet,
    Rent,
    System,
    Token,
    Associated,
    /// A mint that may become a member of a group.
    Member,
    /// An account with a proof about an ElGamal key or encrypted amounts.
    Proof(proofs::Proof),
    /// An account of the registry of ElGamal keys.
    Registry,
}

impl Family {
    pub(super) fn by_name(name: &str) -> Option<Self> {
        Some(match name {
            "token" => Self::Token,
            "token-2022" => Self::Token2022,
            "ata" => Self::Ata,
            "memo" => Self::Memo,
            _ => return None,
        })
    }

    /// Returns the address at which the program under test runs.
    pub(super) fn program(self) -> Pubkey {
        match self {
            Self::Token => programs::TOKEN.id,
            Self::Token2022 => programs::TOKEN_2022.id,
            Self::Ata => programs::ASSOCIATED_TOKEN.id,
            Self::Memo => programs::MEMO.id,
        }
    }

    /// Returns the token program to which the accounts belong.
    pub(super) fn token(self) -> Pubkey {
        if self == Self::Token2022 { programs::TOKEN_2022.id } else { programs::TOKEN.id }
    }
}

/// The addresses of accounts, by what they are, and by the number of the extension that they have.
#[derive(Default)]
pub(super) struct Keys(Vec<(Role, Option<u8>, Pubkey)>);

impl Keys {
    pub(super) fn add(&mut self, role: Role, key: Pubkey) {
        self.0.push((role, None, key));
    }

    pub(super) fn add_extended(&mut self, role: Role, extension: u8, key: Pubkey) {
        self.0.push((role, Some(extension), key));
    }

    /// Returns the addresses of accounts in this role: those with an extension where there are any,
    /// otherwise those without.
    pub(super) fn of(&self, role: Role, extension: Option<u8>) -> Vec<Pubkey> {
        let of = |extension| {
            let is_it = |it: &&(Role, Option<u8>, Pubkey)| (it.0, it.1) == (role, extension);
            self.0.iter().filter(is_it).map(|it| it.2).collect::<Vec<_>>()
        };
        let extended = of(extension);
        if extended.is_empty() { of(None) } else { extended }
    }

    pub(super) fn all(&self) -> Vec<Pubkey> {
        self.0.iter().map(|it| it.2).collect()
    }
}
