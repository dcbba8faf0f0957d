//! SPL Token, and Token-2022 with its extensions.
//!
//! The accounts of Token-2022 begin like those of SPL Token; a type and extensions may follow (spl-token:
//! `state.rs`, spl-token-2022: `extension/mod.rs`).

pub mod confidential;
pub mod extended;
pub mod extension;
pub mod instruction;

use solana_pubkey::Pubkey;

use crate::{
    declare::{layout, names},
    kind::{Kind, Ref},
    wire::{COption, Fixed, Malformed, Reader, Wire},
};

/// The address of the token program.
pub const ID: Pubkey = Pubkey::from_str_const("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA");
/// The address of Token-2022.
pub const ID_2022: Pubkey = Pubkey::from_str_const("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb");

/// The size of a token account without extensions, in bytes.
pub const ACCOUNT_BYTES: usize = ACCOUNT.bytes;
/// The size of a mint without extensions, in bytes.
pub const MINT_BYTES: usize = MINT.bytes;
/// The size of a multisignature account, which has no type behind it.
pub const MULTISIG_BYTES: usize = MULTISIG.bytes;

layout! {
    /// A token account, without extensions.
    TokenAccount, TokenAccountAt, ACCOUNT {
        /// The mint of its tokens.
        mint: Pubkey,
        /// The owner of its tokens.
        owner: Pubkey,
        /// How many there are, in the smallest unit.
        amount: u64,
        /// Who else may transfer some.
        delegate: COption<Pubkey>,
        /// Whether it is initialized, and whether it is frozen.
        state: AccountState,
        /// Of an account of wrapped lamports, the lamports that are not tokens.
        is_native: COption<u64>,
        /// How many tokens the delegate may transfer, in the smallest unit.
        delegated_amount: u64,
        /// Who may close the account, besides the owner.
        close_authority: COption<Pubkey>,
    }
}

layout! {
    /// A mint, without extensions.
    Mint, MintAt, MINT {
        /// Who may mint tokens.
        mint_authority: COption<Pubkey>,
        /// How many tokens there are, in the smallest unit.
        supply: u64,
        /// How many digits of amounts are behind the decimal point.
        decimals: u8,
        /// Whether it is initialized.
        is_initialized: bool,
        /// Who may freeze accounts.
        freeze_authority: COption<Pubkey>,
    }
}

layout! {
    /// A multisignature account.
    Multisig, MultisigAt, MULTISIG {
        /// How many of the signers must sign.
        required: u8,
        /// How many signers there are.
        count: u8,
        /// Whether it is initialized.
        is_initialized: bool,
        /// The signers, and zeros behind them.
        signers: Signers,
    }
}

/// The signers of a multisignature account, and zeros behind them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signers(pub [Pubkey; Self::MAX]);

impl Signers {
    /// The most signers of an account.
    pub const MAX: usize = 11;
}

impl<'a> Wire<'a> for Signers {
    const KIND: Kind = Kind::Array(Self::MAX, Ref::Static(&Kind::Key));

    fn read(it: &mut Reader<'a>) -> Result<Self, Malformed> {
        let mut signers = [Pubkey::default(); Self::MAX];
        for key in &mut signers {
            *key = it.pubkey()?;
        }
        Ok(Self(signers))
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.0.iter().for_each(|key| key.write(out));
    }
}

impl Fixed for Signers {
    const BYTES: usize = 32 * Self::MAX;
}

names! {
    /// The state of a token account.
    AccountState: u8 {
        /// It is not initialized.
        Uninitialized,
        /// Its tokens can be transferred.
        Initialized,
        /// Its tokens cannot be transferred.
        Frozen,
    }
}

/// What an account with extensions is, by the byte behind [`ACCOUNT_BYTES`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum AccountType {
    /// A mint.
    Mint = 1,
    /// A token account.
    Account = 2,
}

impl AccountType {
    /// Returns what the data of an account of a token program are, by their length and type; `None` if
    /// they are neither of both. Whether it is initialized is not looked at.
    #[must_use]
    pub fn of(data: &[u8]) -> Option<Self> {
        match data.len() {
            MINT_BYTES => Some(Self::Mint),
            ACCOUNT_BYTES => Some(Self::Account),
            MULTISIG_BYTES => None,
            _ => match data.get(ACCOUNT_BYTES)? {
                1 => Some(Self::Mint),
                2 => Some(Self::Account),
                _ => None,
            },
        }
    }
}

impl TokenAccount {
    /// Creates an account with so many tokens, initialized, without anything else.
    #[must_use]
    pub const fn new(mint: Pubkey, owner: Pubkey, amount: u64) -> Self {
        Self {
            mint,
            owner,
            amount,
            delegate: COption(None),
            state: AccountState::Initialized,
            is_native: COption(None),
            delegated_amount: 0,
            close_authority: COption(None),
        }
    }

    /// Reads an initialized token account, with or without extensions.
    #[must_use]
    pub fn of(data: &[u8]) -> Option<Self> {
        let account = Self::at_start_of(data)?;
        let is_account = AccountType::of(data) == Some(AccountType::Account);
        (is_account && account.state != AccountState::Uninitialized).then_some(account)
    }
}

impl Multisig {
    /// Reads an initialized multisignature account.
    #[must_use]
    pub fn of(data: &[u8]) -> Option<Self> {
        let multisig = Self::at_start_of(data)?;
        (data.len() == MULTISIG_BYTES && multisig.is_initialized).then_some(multisig)
    }
}

impl Mint {
    /// Reads an initialized mint, with or without extensions.
    #[must_use]
    pub fn of(data: &[u8]) -> Option<Self> {
        let mint = Self::at_start_of(data)?;
        (AccountType::of(data) == Some(AccountType::Mint) && mint.is_initialized).then_some(mint)
    }
}

/// Returns the extensions of a mint or token account: numbers and states. An entry that is longer than
/// the data is the last one, an error.
pub fn extensions(data: &[u8]) -> impl Iterator<Item = Result<(u16, &[u8]), Malformed>> {
    let mut it = Reader::new(data.get(ACCOUNT_BYTES.saturating_add(1)..).unwrap_or_default());
    core::iter::from_fn(move || {
        // Zeros follow the last extension.
        let number = it.u16().ok().filter(|number| *number != 0)?;
        let state = it.u16().and_then(|len| it.bytes(len.into()));
        if state.is_err() {
            it.rest();
        }
        Some(state.map(|state| (number, state)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_accounts_are_where_the_token_program_has_them() {
        let fields = [ACCOUNT.owner.offset, ACCOUNT.amount.offset, ACCOUNT.delegate.offset];
        assert_eq!(fields, [32, 64, 72]);
        assert_eq!([ACCOUNT.state.offset, ACCOUNT.is_native.offset], [108, 109]);
        assert_eq!([ACCOUNT.delegated_amount.offset, ACCOUNT.close_authority.offset], [121, 129]);
        assert_eq!(
            [MINT.supply.offset, MINT.decimals.offset, MINT.is_initialized.offset],
            [36, 44, 45]
        );
        assert_eq!((MINT.freeze_authority.offset, MINT_BYTES, ACCOUNT_BYTES), (46, 82, 165));
    }
}
