//! Mints and token accounts: what they hold, and changes that no transaction makes.
//!
//! Invariant: an account that is made or changed here
//! is one that the token program could have made, and the supply of its mint covers it.

mod edit;
mod extensions;

pub use selkie_layout::token::{ACCOUNT_BYTES, MINT_BYTES};
use selkie_layout::{
    token::{ACCOUNT, AccountType, MINT, Mint},
    wire::COption,
};
use solana_account::{Account, AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;

pub use self::edit::{
    TokenEdit, TokenEditError, TokenState, Written, edit_associated_account, new_account,
};
use crate::{ASSOCIATED_TOKEN, TOKEN, is_token_program};

/// The mint of wrapped lamports of the token program, which is part of the genesis.
pub const NATIVE_MINT: Pubkey =
    Pubkey::from_str_const("So11111111111111111111111111111111111111112");
/// The mint of wrapped lamports of Token-2022, which a transaction creates.
pub const NATIVE_MINT_2022: Pubkey =
    Pubkey::from_str_const("9pan9bMn5HatX4EJdBwg9VgCa7Uz5HL8N1m5D3NdXejP");
const NATIVE_DECIMALS: u8 = 9;
/// What the genesis of clusters gives to the native mint.
const NATIVE_MINT_LAMPORTS: u64 = 1_000_000_000;

/// A token account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TokenAccount {
    /// The mint of its tokens.
    pub mint: Pubkey,
    /// The owner of its tokens.
    pub owner: Pubkey,
    /// How many there are, in the smallest unit.
    pub amount: u64,
    /// Who else may transfer some.
    pub delegate: Option<Pubkey>,
}

impl TokenAccount {
    /// Reads an account; `None` if it is not an initialized token account.
    #[must_use]
    pub fn read(account: &AccountSharedData) -> Option<Self> {
        let data = account.data();
        let is_account = AccountType::of(data) == Some(AccountType::Account);
        if !is_token_program(account.owner())
            || !is_account
            || *data.get(ACCOUNT.state.offset)? == 0
        {
            return None;
        }
        Some(Self {
            mint: ACCOUNT.mint.get(data)?,
            owner: ACCOUNT.owner.get(data)?,
            amount: ACCOUNT.amount.get(data)?,
            delegate: ACCOUNT.delegate.get(data).and_then(|it| it.0),
        })
    }
}

/// Returns the decimals of a mint; `None` if the account is not an initialized mint.
#[must_use]
pub fn decimals(mint: &Pubkey, account: Option<&AccountSharedData>) -> Option<u8> {
    if *mint == NATIVE_MINT {
        return Some(NATIVE_DECIMALS);
    }
    let account = account.filter(|account| is_mint(account))?;
    MINT.decimals.get(account.data())
}

/// Returns whether an account is an initialized mint.
#[must_use]
pub fn is_mint(account: &AccountSharedData) -> bool {
    let data = account.data();
    is_token_program(account.owner())
        && AccountType::of(data) == Some(AccountType::Mint)
        && MINT.is_initialized.get(data) == Some(true)
}

/// Returns whether a mint is one of wrapped lamports, whose supply is not counted.
#[must_use]
pub fn is_native(mint: &Pubkey) -> bool {
    [NATIVE_MINT, NATIVE_MINT_2022].contains(mint)
}

/// Returns the account of [`NATIVE_MINT`].
#[must_use]
pub fn native_mint() -> AccountSharedData {
    let mint = Mint {
        mint_authority: COption(None),
        supply: 0,
        decimals: NATIVE_DECIMALS,
        is_initialized: true,
        freeze_authority: COption(None),
    };
    let data = mint.bytes();
    let lamports = NATIVE_MINT_LAMPORTS;
    Account { lamports, data, owner: TOKEN.id, executable: false, rent_epoch: u64::MAX }.into()
}

/// Returns the address of an owner's associated token account.
#[must_use]
pub fn associated_address(program: &Pubkey, owner: &Pubkey, mint: &Pubkey) -> Pubkey {
    let seeds = [owner.as_ref(), program.as_ref(), mint.as_ref()];
    Pubkey::find_program_address(&seeds, &ASSOCIATED_TOKEN.id).0
}
