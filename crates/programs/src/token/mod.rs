//! Mints and token accounts: their layout, and changes that no transaction makes.
//!
//! The layouts are those of SPL Token; Token-2022 appends a type and extensions (spl-token:
//! `state.rs`, spl-token-2022: `extension/mod.rs`). Invariant: an account that is made or changed here
//! is one that the token program could have made, and the supply of its mint covers it.

mod edit;
mod extensions;

use solana_account::{Account, AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;

pub use self::edit::{
    TokenEdit, TokenEditError, TokenState, Written, edit_associated_account, new_account,
};
use crate::{ASSOCIATED_TOKEN, TOKEN, is_token_program};

/// The size of a mint without extensions, in bytes.
pub const MINT_BYTES: usize = 82;
/// The size of a token account without extensions, in bytes.
pub const ACCOUNT_BYTES: usize = 165;
/// The size of a multisig account, which has no type behind it.
const MULTISIG_BYTES: usize = 355;
/// The types that Token-2022 writes behind the state of an account with extensions.
const TYPE_MINT: u8 = 1;
const TYPE_ACCOUNT: u8 = 2;

/// The mint of wrapped lamports of the token program, which is part of the genesis.
pub const NATIVE_MINT: Pubkey =
    Pubkey::from_str_const("So11111111111111111111111111111111111111112");
/// The mint of wrapped lamports of Token-2022, which a transaction creates.
pub const NATIVE_MINT_2022: Pubkey =
    Pubkey::from_str_const("9pan9bMn5HatX4EJdBwg9VgCa7Uz5HL8N1m5D3NdXejP");
const NATIVE_DECIMALS: u8 = 9;
/// What the genesis of clusters gives to the native mint.
const NATIVE_MINT_LAMPORTS: u64 = 1_000_000_000;

const SUPPLY: usize = 36;
const DECIMALS: usize = 44;
const IS_INITIALIZED: usize = 45;
const AMOUNT: usize = 64;
const DELEGATE: usize = 72;
const STATE: usize = 108;
const NATIVE: usize = 109;
const DELEGATED_AMOUNT: usize = 121;
const CLOSE_AUTHORITY: usize = 129;

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
        if !is_token_program(account.owner()) || !is_type(data, ACCOUNT_BYTES, TYPE_ACCOUNT) {
            return None;
        }
        if *data.get(STATE)? == 0 {
            return None;
        }
        let has_delegate = data.get(DELEGATE..)?.first_chunk() == Some(&1_u32.to_le_bytes());
        Some(Self {
            mint: key_at(data, 0)?,
            owner: key_at(data, 32)?,
            amount: number_at(data, AMOUNT)?,
            delegate: key_at(data, DELEGATE.saturating_add(4)).filter(|_| has_delegate),
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
    account.data().get(DECIMALS).copied()
}

/// Returns whether an account is an initialized mint.
#[must_use]
pub fn is_mint(account: &AccountSharedData) -> bool {
    let data = account.data();
    let is_long = data.len() > ACCOUNT_BYTES && is_type(data, ACCOUNT_BYTES, TYPE_MINT);
    is_token_program(account.owner())
        && (data.len() == MINT_BYTES || is_long)
        && data.get(IS_INITIALIZED) == Some(&1)
}

/// Returns whether a mint is one of wrapped lamports, whose supply is not counted.
#[must_use]
pub fn is_native(mint: &Pubkey) -> bool {
    [NATIVE_MINT, NATIVE_MINT_2022].contains(mint)
}

/// Returns the account of [`NATIVE_MINT`].
#[must_use]
pub fn native_mint() -> AccountSharedData {
    let mut data = vec![0; MINT_BYTES];
    (data[DECIMALS], data[IS_INITIALIZED]) = (NATIVE_DECIMALS, 1);
    let lamports = NATIVE_MINT_LAMPORTS;
    Account { lamports, data, owner: TOKEN.id, executable: false, rent_epoch: u64::MAX }.into()
}

/// Returns the address of an owner's associated token account.
#[must_use]
pub fn associated_address(program: &Pubkey, owner: &Pubkey, mint: &Pubkey) -> Pubkey {
    let seeds = [owner.as_ref(), program.as_ref(), mint.as_ref()];
    Pubkey::find_program_address(&seeds, &ASSOCIATED_TOKEN.id).0
}

/// Returns whether data have this size, or this type behind it.
fn is_type(data: &[u8], bytes: usize, kind: u8) -> bool {
    data.len() == bytes || data.len() != MULTISIG_BYTES && data.get(ACCOUNT_BYTES) == Some(&kind)
}

fn key_at(data: &[u8], offset: usize) -> Option<Pubkey> {
    Some(Pubkey::new_from_array(*data.get(offset..)?.first_chunk()?))
}

fn number_at(data: &[u8], offset: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*data.get(offset..)?.first_chunk()?))
}
