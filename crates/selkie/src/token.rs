//! Instructions of the token programs, and the layout of their accounts.
//!
//! `program` selects the token program or Token-2022, which share these instructions.

use selkie_layout::{
    associated_token::AssociatedTokenInstruction,
    token::{ACCOUNT, Mint, instruction::TokenInstruction},
    wire::COption,
};
use selkie_programs::token::{self, TokenAccount, TokenEdit, is_native};
use solana_account::{Account, ReadableAccount as _};
use solana_instruction::Instruction;
use solana_pubkey::Pubkey;

pub use selkie_programs::token::{ACCOUNT_BYTES, MINT_BYTES, NATIVE_MINT, associated_address};

use crate::{account_error::AccountError, programs::ASSOCIATED_TOKEN, svm::Svm};

/// Initializes a mint in an account of [`MINT_BYTES`] that the token program owns.
#[must_use]
pub fn initialize_mint(
    program: &Pubkey,
    mint: &Pubkey,
    authority: &Pubkey,
    decimals: u8,
) -> Instruction {
    let (mint_authority, freeze_authority) = (*authority, None);
    let initialize =
        TokenInstruction::InitializeMint2 { decimals, mint_authority, freeze_authority };
    initialize.instruction(program, &[*mint])
}

/// Initializes a token account in an account of [`ACCOUNT_BYTES`] that the token program owns.
#[must_use]
pub fn initialize_account(
    program: &Pubkey,
    account: &Pubkey,
    mint: &Pubkey,
    owner: &Pubkey,
) -> Instruction {
    TokenInstruction::InitializeAccount3 { owner: *owner }.instruction(program, &[*account, *mint])
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
    TokenInstruction::MintTo { amount }.instruction(program, &[*mint, *account, *authority])
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
    TokenInstruction::Transfer { amount }.instruction(program, &[*from, *to, *owner])
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
    let transfer = TokenInstruction::TransferChecked { token_amount: amount, decimals };
    transfer.instruction(program, &[*from, *mint, *to, *owner])
}

/// Creates an owner's associated token account. The payer signs.
#[must_use]
pub fn create_associated(
    program: &Pubkey,
    payer: &Pubkey,
    owner: &Pubkey,
    mint: &Pubkey,
) -> Instruction {
    let account = associated_address(program, owner, mint);
    AssociatedTokenInstruction::Create {}
        .instruction(&ASSOCIATED_TOKEN.id, &[*payer, account, *owner, *mint, *program])
}

/// Returns the data of a mint without extensions.
#[must_use]
pub fn mint_data(authority: &Pubkey, supply: u64, decimals: u8) -> Vec<u8> {
    let mint = Mint {
        mint_authority: COption(Some(*authority)),
        supply,
        decimals,
        is_initialized: true,
        freeze_authority: COption(None),
    };
    mint.bytes()
}

/// Returns the data of a token account without extensions.
#[must_use]
pub fn account_data(mint: &Pubkey, owner: &Pubkey, amount: u64) -> Vec<u8> {
    selkie_layout::token::TokenAccount::new(*mint, *owner, amount).bytes()
}

/// Returns the amount that the data of a token account hold; `None` if they are too short.
#[must_use]
pub fn amount(data: &[u8]) -> Option<u64> {
    ACCOUNT.amount.get(data)
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
    /// Sets a rent-exempt mint without extensions at `address`, whose supply is what its token accounts
    /// hold. `program` is the token program or Token-2022; `authority` is the mint authority.
    ///
    /// # Errors
    /// As [`Svm::set_account`], and if it is the native mint, whose account is part of the genesis.
    pub fn set_mint(
        &mut self,
        address: Pubkey,
        program: &Pubkey,
        authority: &Pubkey,
        decimals: u8,
    ) -> Result<(), AccountError> {
        if is_native(&address) {
            return Err(AccountError::NativeMint);
        }
        let holds = [crate::AccountFilter::Memcmp(ACCOUNT.mint.offset, address.as_ref())];
        let accounts = self.program_accounts(program, &holds).into_iter();
        let accounts = accounts.filter_map(|(_, account)| TokenAccount::read(&account.into()));
        let amounts = accounts.filter(|it| it.mint == address).map(|it| it.amount);
        let supply = amounts.fold(0, u64::saturating_add);
        let data = mint_data(authority, supply, decimals);
        let lamports = self.minimum_balance_for_rent_exemption(data.len());
        let account =
            Account { lamports, data, owner: *program, rent_epoch: u64::MAX, executable: false };
        self.set_account(address, account)
    }

    /// Sets a rent-exempt token account at `address`, which holds `amount` (in the mint's smallest
    /// unit) for `owner`: exactly the account that `program` would have made, with the extensions that
    /// the mint prescribes, and with the lamports that a native account wraps. The mint's supply grows
    /// by the amount, and shrinks by that of a token account which was at the address.
    ///
    /// # Errors
    /// If `program` has no such mint, or the supply would be too large.
    pub fn set_token_account(
        &mut self,
        address: Pubkey,
        program: &Pubkey,
        mint: &Pubkey,
        owner: &Pubkey,
        amount: u64,
    ) -> Result<(), AccountError> {
        let edit = TokenEdit { amount: Some(amount), ..TokenEdit::new(*owner, *mint) };
        let accounts = &self.journal.state().accounts;
        let written = token::new_account(address, program, &edit, accounts, &self.rent())?;
        written.accounts.into_iter().try_for_each(|(key, account)| self.set_account(key, account))
    }

    /// Returns the balance of a token account, in the mint's smallest unit; `None` if there is no
    /// such account.
    #[must_use]
    pub fn token_balance(&self, address: &Pubkey) -> Option<u64> {
        let account = self.shared_account(address)?;
        amount(account.data().get(..ACCOUNT_BYTES)?)
    }
}
