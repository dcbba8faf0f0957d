//! Token accounts and mints, as far as indexes and balances need them.
//!
//! The layouts are those of SPL Token; Token-2022 appends a type and extensions (spl-token:
//! `state.rs`, spl-token-2022: `extension/mod.rs`).

use selkie_programs::{TOKEN, is_token_program};
use solana_account::{Account, AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;

/// The size of a mint without extensions, in bytes.
pub(crate) const MINT_BYTES: usize = 82;
/// The size of a token account without extensions, in bytes.
pub(crate) const ACCOUNT_BYTES: usize = 165;
/// The size of a multisig account, which has no type behind it.
const MULTISIG_BYTES: usize = 355;
/// The types that Token-2022 writes behind the state of an account with extensions.
const TYPE_MINT: u8 = 1;
const TYPE_ACCOUNT: u8 = 2;

/// The mint of wrapped lamports.
pub(crate) const NATIVE_MINT: Pubkey =
    Pubkey::from_str_const("So11111111111111111111111111111111111111112");
const NATIVE_DECIMALS: u8 = 9;

const DECIMALS: usize = 44;
const IS_INITIALIZED: usize = 45;
const AMOUNT: usize = 64;
const DELEGATE: usize = 72;
const STATE: usize = 108;

/// A token account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TokenAccount {
    pub(crate) mint: Pubkey,
    pub(crate) owner: Pubkey,
    pub(crate) amount: u64,
    pub(crate) delegate: Option<Pubkey>,
}

impl TokenAccount {
    /// Reads an account; `None` if it is not an initialized token account.
    pub(crate) fn read(account: &AccountSharedData) -> Option<Self> {
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
            amount: u64::from_le_bytes(*data.get(AMOUNT..)?.first_chunk()?),
            delegate: key_at(data, DELEGATE.saturating_add(4)).filter(|_| has_delegate),
        })
    }
}

/// Returns the decimals of a mint; `None` if the account is not an initialized mint.
pub(crate) fn decimals(mint: &Pubkey, account: Option<&AccountSharedData>) -> Option<u8> {
    if *mint == NATIVE_MINT {
        return Some(NATIVE_DECIMALS);
    }
    let account = account.filter(|account| is_token_program(account.owner()))?;
    let data = account.data();
    let is_mint = match data.len() {
        MINT_BYTES => true,
        _ => is_type(data, ACCOUNT_BYTES, TYPE_MINT) && data.len() > ACCOUNT_BYTES,
    };
    let is_initialized = *data.get(IS_INITIALIZED)? == 1;
    data.get(DECIMALS).copied().filter(|_| is_mint && is_initialized)
}

/// Returns the account of the mint of wrapped lamports.
pub(crate) fn native_mint() -> AccountSharedData {
    let mut data = vec![0; MINT_BYTES];
    (data[DECIMALS], data[IS_INITIALIZED]) = (NATIVE_DECIMALS, 1);
    let lamports = 1_000_000_000;
    Account { lamports, data, owner: TOKEN.id, executable: false, rent_epoch: u64::MAX }.into()
}

/// Returns whether data have this size, or this type behind it.
fn is_type(data: &[u8], bytes: usize, kind: u8) -> bool {
    data.len() == bytes || data.len() != MULTISIG_BYTES && data.get(ACCOUNT_BYTES) == Some(&kind)
}

fn key_at(data: &[u8], offset: usize) -> Option<Pubkey> {
    Some(Pubkey::new_from_array(*data.get(offset..)?.first_chunk()?))
}
