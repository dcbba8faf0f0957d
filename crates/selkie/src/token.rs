//! Instructions of the token programs, and the layout of their accounts.
//!
//! `program` selects the token program or Token-2022, which share these instructions.

use selkie_svm::sysvars::SysvarError;
use solana_account::{Account, ReadableAccount as _};
use solana_instruction::{AccountMeta, Instruction};
use solana_pubkey::Pubkey;
use solana_sdk_ids::system_program;

use crate::{programs::ASSOCIATED_TOKEN, svm::Svm};

/// Size of a mint without extensions, in bytes.
pub const MINT_BYTES: usize = 82;
/// Size of a token account without extensions, in bytes.
pub const ACCOUNT_BYTES: usize = 165;

fn instruction(program: &Pubkey, accounts: Vec<AccountMeta>, data: &[&[u8]]) -> Instruction {
    Instruction { program_id: *program, accounts, data: data.concat() }
}

/// Initializes a mint in an account of [`MINT_BYTES`] that the token program owns.
#[must_use]
pub fn initialize_mint(
    program: &Pubkey,
    mint: &Pubkey,
    authority: &Pubkey,
    decimals: u8,
) -> Instruction {
    let accounts = vec![AccountMeta::new(*mint, false)];
    instruction(program, accounts, &[&[20, decimals], authority.as_ref(), &[0]])
}

/// Initializes a token account in an account of [`ACCOUNT_BYTES`] that the token program owns.
#[must_use]
pub fn initialize_account(
    program: &Pubkey,
    account: &Pubkey,
    mint: &Pubkey,
    owner: &Pubkey,
) -> Instruction {
    let accounts = vec![AccountMeta::new(*account, false), AccountMeta::new_readonly(*mint, false)];
    instruction(program, accounts, &[&[18], owner.as_ref()])
}

/// Mints tokens, in the mint's smallest unit. The mint authority signs.
#[must_use]
pub fn mint_to(
    program: &Pubkey,
    mint: &Pubkey,
    account: &Pubkey,
    authority: &Pubkey,
    amount: u64,
) -> Instruction {
    let accounts = vec![
        AccountMeta::new(*mint, false),
        AccountMeta::new(*account, false),
        AccountMeta::new_readonly(*authority, true),
    ];
    instruction(program, accounts, &[&[7], &amount.to_le_bytes()])
}

/// Transfers tokens, in the mint's smallest unit. The owner signs.
#[must_use]
pub fn transfer(
    program: &Pubkey,
    from: &Pubkey,
    to: &Pubkey,
    owner: &Pubkey,
    amount: u64,
) -> Instruction {
    let accounts = vec![
        AccountMeta::new(*from, false),
        AccountMeta::new(*to, false),
        AccountMeta::new_readonly(*owner, true),
    ];
    instruction(program, accounts, &[&[3], &amount.to_le_bytes()])
}

/// Transfers tokens and checks mint and decimals. The owner signs. Mints with a transfer fee or a
/// transfer hook accept no other transfer.
#[must_use]
pub fn transfer_checked(
    program: &Pubkey,
    from: &Pubkey,
    mint: &Pubkey,
    to: &Pubkey,
    owner: &Pubkey,
    amount: u64,
    decimals: u8,
) -> Instruction {
    let accounts = vec![
        AccountMeta::new(*from, false),
        AccountMeta::new_readonly(*mint, false),
        AccountMeta::new(*to, false),
        AccountMeta::new_readonly(*owner, true),
    ];
    instruction(program, accounts, &[&[12], &amount.to_le_bytes(), &[decimals]])
}

/// Returns the address of an owner's associated token account.
#[must_use]
pub fn associated_address(program: &Pubkey, owner: &Pubkey, mint: &Pubkey) -> Pubkey {
    let seeds = [owner.as_ref(), program.as_ref(), mint.as_ref()];
    Pubkey::find_program_address(&seeds, &ASSOCIATED_TOKEN.id).0
}

/// Creates an owner's associated token account. The payer signs.
#[must_use]
pub fn create_associated(
    program: &Pubkey,
    payer: &Pubkey,
    owner: &Pubkey,
    mint: &Pubkey,
) -> Instruction {
    let accounts = vec![
        AccountMeta::new(*payer, true),
        AccountMeta::new(associated_address(program, owner, mint), false),
        AccountMeta::new_readonly(*owner, false),
        AccountMeta::new_readonly(*mint, false),
        AccountMeta::new_readonly(system_program::ID, false),
        AccountMeta::new_readonly(*program, false),
    ];
    instruction(&ASSOCIATED_TOKEN.id, accounts, &[&[0]])
}

/// Returns the data of a mint without extensions.
#[must_use]
pub fn mint_data(authority: &Pubkey, supply: u64, decimals: u8) -> Vec<u8> {
    let mut data = vec![1, 0, 0, 0];
    data.extend(authority.as_ref());
    data.extend(supply.to_le_bytes());
    data.extend([decimals, 1]);
    data.resize(MINT_BYTES, 0);
    data
}

/// Returns the data of a token account without extensions.
#[must_use]
pub fn account_data(mint: &Pubkey, owner: &Pubkey, amount: u64) -> Vec<u8> {
    let mut data = [mint.as_ref(), owner.as_ref(), &amount.to_le_bytes()].concat();
    // No delegate, state initialized, not native, no close authority.
    data.resize(108, 0);
    data.push(1);
    data.resize(ACCOUNT_BYTES, 0);
    data
}

/// Returns the amount that the data of a token account hold; `None` if they are too short.
#[must_use]
pub fn amount(data: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(*data.get(64..)?.first_chunk()?))
}

/// Mints and token accounts set up without transactions.
///
/// ```
/// use selkie::{Signer, Svm, address, keypair, programs};
///
/// let (alice, mint, wallet) = (keypair("alice"), address("mint"), address("wallet"));
/// let token = programs::TOKEN.id;
/// let mut svm = Svm::new();
/// svm.set_mint(mint, &token, &alice.pubkey(), 6)?;
/// svm.set_token_account(wallet, &token, &mint, &alice.pubkey(), 1_500_000)?;
/// assert_eq!(svm.token_balance(&wallet), Some(1_500_000));
/// assert_eq!(svm.token_balance(&mint), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Svm {
    /// Sets a rent-exempt mint without extensions at `address`, with a supply of 0. `program` is
    /// the token program or Token-2022; `authority` is the mint authority.
    ///
    /// # Errors
    /// As [`Svm::set_account`].
    pub fn set_mint(
        &mut self,
        address: Pubkey,
        program: &Pubkey,
        authority: &Pubkey,
        decimals: u8,
    ) -> Result<(), SysvarError> {
        self.set_rent_exempt(address, *program, mint_data(authority, 0, decimals))
    }

    /// Sets a rent-exempt token account without extensions at `address`, which holds `amount` (in
    /// the mint's smallest unit) for `owner`. The mint's supply does not change.
    ///
    /// # Errors
    /// As [`Svm::set_account`].
    pub fn set_token_account(
        &mut self,
        address: Pubkey,
        program: &Pubkey,
        mint: &Pubkey,
        owner: &Pubkey,
        amount: u64,
    ) -> Result<(), SysvarError> {
        self.set_rent_exempt(address, *program, account_data(mint, owner, amount))
    }

    /// Returns the balance of a token account, in the mint's smallest unit; `None` if there is no
    /// such account.
    #[must_use]
    pub fn token_balance(&self, address: &Pubkey) -> Option<u64> {
        let account = self.shared_account(address)?;
        amount(account.data().get(..ACCOUNT_BYTES)?)
    }

    fn set_rent_exempt(
        &mut self,
        address: Pubkey,
        owner: Pubkey,
        data: Vec<u8>,
    ) -> Result<(), SysvarError> {
        let lamports = self.minimum_balance_for_rent_exemption(data.len());
        self.set_account(address, Account { lamports, data, owner, ..Account::default() })
    }
}
