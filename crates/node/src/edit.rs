//! Edits of token accounts.

use selkie_programs::{ASSOCIATED_TOKEN, TOKEN_2022, is_token_program};
use selkie_svm::sysvars::{Rent, minimum_balance};
use solana_account::{Account, AccountSharedData, ReadableAccount, WritableAccount};
use solana_pubkey::Pubkey;

use crate::{
    error::NodeError,
    token::{ACCOUNT_BYTES, NATIVE_MINT, decimals},
};

const AMOUNT: usize = 64;
const DELEGATE: usize = 72;
const STATE: usize = 108;
const IS_NATIVE: usize = 109;
const DELEGATED_AMOUNT: usize = 121;
const CLOSE_AUTHORITY: usize = 129;

/// The state of a token account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum TokenState {
    /// Its tokens can be transferred.
    Initialized = 1,
    /// Its tokens cannot be transferred.
    Frozen = 2,
}

/// A change of a token account. `None` leaves a field as it is; in an account that is created, the
/// amount is then 0, and there is no delegate and no close authority.
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
    /// The delegate; `Some(None)` removes it.
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

/// Returns the address of an edited token account, and the account.
pub(crate) fn token_account(
    edit: &TokenEdit,
    find: &dyn Fn(&Pubkey) -> Option<AccountSharedData>,
    rent: &Rent,
) -> Result<(Pubkey, AccountSharedData), NodeError> {
    let mint = find(&edit.mint);
    if decimals(&edit.mint, mint.as_ref()).is_none() {
        return Err(NodeError::Account(format!("{} is not a mint", edit.mint)));
    }
    let program = edit.program.or_else(|| mint.map(|mint| *mint.owner()));
    let program = program
        .filter(is_token_program)
        .ok_or_else(|| NodeError::Account("the program is not a token program".to_owned()))?;
    let seeds = [edit.owner.as_ref(), program.as_ref(), edit.mint.as_ref()];
    let key = Pubkey::find_program_address(&seeds, &ASSOCIATED_TOKEN.id).0;
    let found = find(&key).filter(|account| *account.owner() == program);
    let mut account = found.unwrap_or_else(|| new_account(edit, program, rent));
    apply(edit, &mut account, rent)
        .ok_or_else(|| NodeError::Account(format!("{key} is not a token account")))?;
    Ok((key, account))
}

fn new_account(edit: &TokenEdit, program: Pubkey, rent: &Rent) -> AccountSharedData {
    /// What Token-2022 appends to associated accounts: the type, and the extension that says that the
    /// owner never changes.
    const IMMUTABLE_OWNER: [u8; 5] = [2, 7, 0, 0, 0];
    let mut data = vec![0; ACCOUNT_BYTES];
    data[..32].copy_from_slice(edit.mint.as_ref());
    data[32..64].copy_from_slice(edit.owner.as_ref());
    data[STATE] = TokenState::Initialized as u8;
    if program == TOKEN_2022.id {
        data.extend(IMMUTABLE_OWNER);
    }
    let exempt = minimum_balance(rent, data.len());
    if edit.mint == NATIVE_MINT {
        data[IS_NATIVE] = 1;
        data[IS_NATIVE + 4..IS_NATIVE + 12].copy_from_slice(&exempt.to_le_bytes());
    }
    let lamports = exempt;
    Account { lamports, data, owner: program, executable: false, rent_epoch: u64::MAX }.into()
}

fn apply(edit: &TokenEdit, account: &mut AccountSharedData, rent: &Rent) -> Option<()> {
    let exempt = minimum_balance(rent, account.data().len());
    let data = account.data_as_mut_slice();
    if let Some(amount) = edit.amount {
        put(data, AMOUNT, &amount.to_le_bytes())?;
    }
    if let Some(delegate) = &edit.delegate {
        put_option(data, DELEGATE, delegate.as_ref())?;
    }
    if let Some(amount) = edit.delegated_amount {
        put(data, DELEGATED_AMOUNT, &amount.to_le_bytes())?;
    }
    if let Some(state) = edit.state {
        put(data, STATE, &[state as u8])?;
    }
    if let Some(authority) = &edit.close_authority {
        put_option(data, CLOSE_AUTHORITY, authority.as_ref())?;
    }
    // Wrapped lamports are lamports of the account.
    if let Some(amount) = edit.amount.filter(|_| edit.mint == NATIVE_MINT) {
        account.set_lamports(exempt.saturating_add(amount));
    }
    Some(())
}

fn put(data: &mut [u8], offset: usize, bytes: &[u8]) -> Option<()> {
    data.get_mut(offset..)?.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(())
}

/// Writes an optional address: a tag of 4 bytes, then the address.
fn put_option(data: &mut [u8], offset: usize, key: Option<&Pubkey>) -> Option<()> {
    put(data, offset, &u32::from(key.is_some()).to_le_bytes())?;
    put(data, offset.checked_add(4)?, key.map_or(&[0; 32], |key| key.as_array()))
}
