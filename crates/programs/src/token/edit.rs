//! Token accounts that are made and changed without transactions, and the supply of their mints.

use core::fmt;

use selkie_layout::{
    token::{self, ACCOUNT, AccountState, MINT},
    wire::COption,
};
use selkie_svm::{
    AccountStore,
    sysvars::{Rent, minimum_balance},
};
use solana_account::{Account, AccountSharedData, ReadableAccount, WritableAccount};
use solana_pubkey::Pubkey;

use super::{
    NATIVE_MINT, TokenAccount, associated_address, extensions, is_mint, is_native, native_mint,
};
use crate::TOKEN_2022;

/// The state of a token account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum TokenState {
    /// It is none for the token program, which makes one of it.
    Uninitialized = 0,
    /// Its tokens can be transferred.
    Initialized = 1,
    /// Its tokens cannot be transferred.
    Frozen = 2,
}

impl From<TokenState> for AccountState {
    fn from(state: TokenState) -> Self {
        match state {
            TokenState::Uninitialized => Self::Uninitialized,
            TokenState::Initialized => Self::Initialized,
            TokenState::Frozen => Self::Frozen,
        }
    }
}

/// A change of a token account. `None` leaves a field as it is; an account that is created has then
/// what the token program gives it: the amount 0, the state that the mint prescribes, no delegate and
/// no close authority.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TokenEdit {
    /// The owner of the tokens.
    pub owner: Pubkey,
    /// The mint.
    pub mint: Pubkey,
    /// The token program; `None` for the owner of the mint.
    pub program: Option<Pubkey>,
    /// The amount, in the smallest unit.
    pub amount: Option<u64>,
    /// The delegate; `Some(None)` removes it, and with it the delegated amount.
    pub delegate: Option<Option<Pubkey>>,
    /// How much the delegate may transfer.
    pub delegated_amount: Option<u64>,
    /// The state.
    pub state: Option<TokenState>,
    /// The close authority; `Some(None)` removes it.
    pub close_authority: Option<Option<Pubkey>>,
}

impl TokenEdit {
    /// Creates an edit that changes nothing.
    #[must_use]
    pub fn new(owner: Pubkey, mint: Pubkey) -> Self {
        Self {
            owner,
            mint,
            program: None,
            amount: None,
            delegate: None,
            delegated_amount: None,
            state: None,
            close_authority: None,
        }
    }
}

/// A token account that no token program could have made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TokenEditError {
    /// There is no mint at the address.
    NotAMint(Pubkey),
    /// The program is not the one that owns the mint.
    WrongProgram {
        /// The program that was named.
        program: Pubkey,
        /// The mint.
        mint: Pubkey,
    },
    /// The account at the address is not the token account that it should be.
    NotTheAccount(Pubkey),
    /// There would be more tokens of the mint than can be counted.
    Supply(Pubkey),
    /// An amount was delegated, but no delegate is named.
    NoDelegate(Pubkey),
}

impl fmt::Display for TokenEditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAMint(key) => write!(f, "{key} is not a mint"),
            Self::WrongProgram { program, mint } => {
                write!(f, "{program} is not the token program that owns the mint {mint}")
            }
            Self::NotTheAccount(key) => {
                write!(f, "{key} is not a token account of this owner and mint")
            }
            Self::Supply(mint) => write!(f, "the supply of {mint} would be more than 2^64 - 1"),
            Self::NoDelegate(key) => {
                write!(f, "{key} has no delegate to whom an amount could be delegated")
            }
        }
    }
}

impl core::error::Error for TokenEditError {}

/// The accounts to write after a change of a token account.
#[derive(Clone, PartialEq, Debug)]
pub struct Written {
    /// The address of the token account.
    pub address: Pubkey,
    /// The token account, and mints whose supply has changed.
    pub accounts: Vec<(Pubkey, AccountSharedData)>,
}

/// Makes a token account with an amount at any address, in the place of any account that is there.
///
/// # Errors
/// If there is no such mint of the program, or the supply would be too large.
pub fn new_account(
    address: Pubkey,
    program: &Pubkey,
    edit: &TokenEdit,
    accounts: &impl AccountStore,
    rent: &Rent,
) -> Result<Written, TokenEditError> {
    let mint = Mint::find(&edit.mint, Some(program), accounts)?;
    // Only Token-2022 makes associated accounts that differ from others.
    let is_associated = *program == TOKEN_2022.id
        && address == associated_address(program, &edit.owner, &edit.mint);
    let mut account = mint.new_account(&edit.owner, is_associated, rent);
    apply(edit, &address, &mut account, rent)?;
    written(address, account, accounts)
}

/// Changes the token account that an owner has of a mint at the associated address, creating it if it
/// does not exist.
///
/// # Errors
/// If there is no such mint of the program, another account is at the address, the supply would be too
/// large, or an amount is delegated without a delegate.
pub fn edit_associated_account(
    edit: &TokenEdit,
    accounts: &impl AccountStore,
    rent: &Rent,
) -> Result<Written, TokenEditError> {
    let mint = Mint::find(&edit.mint, edit.program.as_ref(), accounts)?;
    let program = *mint.account.owner();
    let address = associated_address(&program, &edit.owner, &edit.mint);
    let found = accounts.account(&address).filter(|account| *account.owner() == program);
    let is_initialized =
        |it: &AccountSharedData| ACCOUNT.state.get(it.data()) != Some(AccountState::Uninitialized);
    let mut account = match found.filter(is_initialized) {
        None => mint.new_account(&edit.owner, true, rent),
        Some(account) => {
            let is_it = TokenAccount::read(&account)
                .is_some_and(|it| it.mint == edit.mint && it.owner == edit.owner);
            Some(account).filter(|_| is_it).ok_or(TokenEditError::NotTheAccount(address))?
        }
    };
    apply(edit, &address, &mut account, rent)?;
    written(address, account, accounts)
}

/// An initialized mint.
struct Mint {
    key: Pubkey,
    account: AccountSharedData,
}

impl Mint {
    fn find(
        key: &Pubkey,
        program: Option<&Pubkey>,
        accounts: &impl AccountStore,
    ) -> Result<Self, TokenEditError> {
        let genesis = || Some(native_mint()).filter(|_| *key == NATIVE_MINT);
        let account = accounts.account(key).or_else(genesis).filter(is_mint);
        let account = account.ok_or(TokenEditError::NotAMint(*key))?;
        match program {
            Some(program) if program != account.owner() => {
                Err(TokenEditError::WrongProgram { program: *program, mint: *key })
            }
            _ => Ok(Self { key: *key, account }),
        }
    }

    /// Returns a new account of the mint, as the token program makes it.
    fn new_account(&self, owner: &Pubkey, is_associated: bool, rent: &Rent) -> AccountSharedData {
        let (program, mint) = (*self.account.owner(), self.account.data());
        let mut data = token::TokenAccount::new(self.key, *owner, 0).bytes();
        if program == TOKEN_2022.id {
            if let (Some(state), Some(byte)) =
                (extensions::default_state(mint), data.get_mut(ACCOUNT.state.offset))
            {
                *byte = state;
            }
            data.extend(extensions::of_new_account(mint, is_associated));
        }
        let lamports = minimum_balance(rent, data.len());
        if is_native(&self.key) {
            let _ = ACCOUNT.is_native.put(&mut data, &COption(Some(lamports)));
        }
        Account { lamports, data, owner: program, executable: false, rent_epoch: u64::MAX }.into()
    }
}

/// Applies an edit to the token account at `address`.
fn apply(
    edit: &TokenEdit,
    address: &Pubkey,
    account: &mut AccountSharedData,
    rent: &Rent,
) -> Result<(), TokenEditError> {
    let wrong = TokenEditError::NotTheAccount(*address);
    let before = ACCOUNT.amount.get(account.data()).ok_or(wrong)?;
    if let Some(amount) = edit.amount
        && is_native(&edit.mint)
    {
        wrap(account, before, amount, rent);
    }
    let data = account.data_as_mut_slice();
    put_all(edit, data).ok_or(wrong)?;
    let has_delegate = ACCOUNT.delegate.get(data).is_some_and(|it| it.0.is_some());
    match (has_delegate, edit.delegated_amount) {
        (false, Some(1..)) => Err(TokenEditError::NoDelegate(*address)),
        (false, _) => ACCOUNT.delegated_amount.put(data, &0).ok_or(wrong),
        (true, _) => Ok(()),
    }
}

/// Gives a native account the lamports of its amount. What it has in addition, it keeps.
fn wrap(account: &mut AccountSharedData, before: u64, amount: u64, rent: &Rent) {
    let exempt = minimum_balance(rent, account.data().len());
    let reserve = ACCOUNT.is_native.get(account.data()).and_then(|it| it.0).unwrap_or(exempt);
    let besides = account.lamports().saturating_sub(before).max(reserve);
    account.set_lamports(besides.saturating_add(amount));
}

fn put_all(edit: &TokenEdit, data: &mut [u8]) -> Option<()> {
    if let Some(amount) = edit.amount {
        ACCOUNT.amount.put(data, &amount)?;
    }
    if let Some(delegate) = edit.delegate {
        ACCOUNT.delegate.put(data, &COption(delegate))?;
    }
    if let Some(amount) = edit.delegated_amount {
        ACCOUNT.delegated_amount.put(data, &amount)?;
    }
    if let Some(state) = edit.state {
        ACCOUNT.state.put(data, &state.into())?;
    }
    if let Some(authority) = edit.close_authority {
        ACCOUNT.close_authority.put(data, &COption(authority))?;
    }
    Some(())
}

/// Returns what to write for a new version of the token account at `address`: also the mints, so that
/// their supply counts the tokens that it has now and not those that the account there had before.
fn written(
    address: Pubkey,
    account: AccountSharedData,
    accounts: &impl AccountStore,
) -> Result<Written, TokenEditError> {
    let before = accounts.account(&address).as_ref().and_then(TokenAccount::read);
    let mint = ACCOUNT.mint.get(account.data()).ok_or(TokenEditError::NotTheAccount(address))?;
    // Tokens of an account that is not initialized do not count.
    let after = TokenAccount::read(&account).map_or(0, |it| it.amount);
    let mut written = vec![(address, account)];
    let (removed, added) = match before {
        Some(before) if before.mint == mint => (before.amount, after),
        Some(before) => {
            written.extend(with_supply(&before.mint, before.amount, 0, accounts)?);
            (0, after)
        }
        None => (0, after),
    };
    written.extend(with_supply(&mint, removed, added, accounts)?);
    Ok(Written { address, accounts: written })
}

/// Returns a mint with its new supply; `None` if it does not change, or is not counted.
fn with_supply(
    mint: &Pubkey,
    removed: u64,
    added: u64,
    accounts: &impl AccountStore,
) -> Result<Option<(Pubkey, AccountSharedData)>, TokenEditError> {
    let is_counted = !is_native(mint) && removed != added;
    let Some(mut account) = accounts.account(mint).filter(|it| is_counted && is_mint(it)) else {
        return Ok(None);
    };
    let supply = MINT.supply.get(account.data()).unwrap_or(0);
    // A supply that was set without counting does not become negative.
    let supply = supply.saturating_sub(removed).checked_add(added);
    let supply = supply.ok_or(TokenEditError::Supply(*mint))?;
    let _ = MINT.supply.put(account.data_as_mut_slice(), &supply);
    Ok(Some((*mint, account)))
}
