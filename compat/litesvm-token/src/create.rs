//! Accounts of the token program, created and initialized.

use selkie_convert::{Address, from_instruction, to_address};
use selkie_litesvm::{LiteSVM, types::FailedTransactionMetadata};
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_program_pack::Pack;

use crate::{
    request::{Request, associated_address, program, token_owner},
    spl_token::{
        instruction::{initialize_account3, initialize_mint2, initialize_multisig2},
        state::{Account, Mint, Multisig},
    },
};

/// Creates a mint at a new address.
#[derive(Debug)]
pub struct CreateMint<'a> {
    request: Request<'a>,
    authority: Option<&'a Address>,
    freeze_authority: Option<&'a Address>,
    decimals: u8,
}

impl<'a> CreateMint<'a> {
    /// Prepares a mint with eight decimals, whose authority is the payer.
    pub fn new(svm: &'a mut LiteSVM, payer: &'a Keypair) -> Self {
        let request = Request::new(svm, payer);
        Self { request, authority: None, freeze_authority: None, decimals: 8 }
    }

    /// Sets who may mint; the payer by default.
    #[must_use]
    pub fn authority(mut self, authority: &'a Address) -> Self {
        self.authority = Some(authority);
        self
    }

    /// Sets the freeze authority. By default the mint has none.
    #[must_use]
    pub fn freeze_authority(mut self, freeze_authority: &'a Address) -> Self {
        self.freeze_authority = Some(freeze_authority);
        self
    }

    /// Sets the number of decimals.
    #[must_use]
    pub fn decimals(mut self, value: u8) -> Self {
        self.decimals = value;
        self
    }

    program!();

    /// Sends the transaction; returns the mint's address.
    ///
    /// # Errors
    /// If the transaction fails.
    pub fn send(self) -> Result<Address, FailedTransactionMetadata> {
        let mint = Keypair::new();
        let key = solana_signer::Signer::pubkey(&mint);
        self.request.create(&mint, Mint::LEN, |payer| {
            let authority = self.authority.unwrap_or(payer.key);
            initialize_mint2(payer.program, &key, authority, self.freeze_authority, self.decimals)
        })
    }
}

/// Creates a token account at an address of its own.
#[derive(Debug)]
pub struct CreateAccount<'a> {
    request: Request<'a>,
    mint: &'a Address,
    owner: Option<&'a Address>,
    account_kp: Option<Keypair>,
}

impl<'a> CreateAccount<'a> {
    /// Prepares a token account of the payer at a new address.
    pub fn new(svm: &'a mut LiteSVM, payer: &'a Keypair, mint: &'a Address) -> Self {
        Self { request: Request::new(svm, payer), mint, owner: None, account_kp: None }
    }

    token_owner!();

    /// Sets the keypair of the account.
    #[must_use]
    pub fn account_kp(mut self, account_kp: Keypair) -> Self {
        self.account_kp = Some(account_kp);
        self
    }

    program!();

    /// Sends the transaction; returns the account's address.
    ///
    /// # Errors
    /// If the transaction fails.
    pub fn send(self) -> Result<Address, FailedTransactionMetadata> {
        let account = self.account_kp.unwrap_or_else(Keypair::new);
        let key = solana_signer::Signer::pubkey(&account);
        self.request.create(&account, Account::LEN, |payer| {
            let owner = self.owner.unwrap_or(payer.key);
            initialize_account3(payer.program, &key, self.mint, owner)
        })
    }
}

/// Creates a multisignature account at a new address.
#[derive(Debug)]
pub struct CreateMultisig<'a> {
    request: Request<'a>,
    signers: &'a [&'a Address],
    required_signatures: u8,
}

impl<'a> CreateMultisig<'a> {
    /// Prepares a multisignature account.
    pub fn new(
        svm: &'a mut LiteSVM,
        payer: &'a Keypair,
        signers: &'a [&'a Address],
        required_signatures: u8,
    ) -> Self {
        Self { request: Request::new(svm, payer), signers, required_signatures }
    }

    program!();

    /// Sends the transaction; returns the account's address.
    ///
    /// # Errors
    /// If the transaction fails.
    pub fn send(self) -> Result<Address, FailedTransactionMetadata> {
        let multisig = Keypair::new();
        let key = solana_signer::Signer::pubkey(&multisig);
        self.request.create(&multisig, Multisig::LEN, |payer| {
            initialize_multisig2(payer.program, &key, self.signers, self.required_signatures)
        })
    }
}

/// Creates the associated token account of an owner and a mint.
#[derive(Debug)]
pub struct CreateAssociatedTokenAccount<'a> {
    request: Request<'a>,
    mint: &'a Address,
    owner: Option<&'a Address>,
}

impl<'a> CreateAssociatedTokenAccount<'a> {
    /// Prepares the payer's account.
    pub fn new(svm: &'a mut LiteSVM, payer: &'a Keypair, mint: &'a Address) -> Self {
        Self { request: Request::new(svm, payer), mint, owner: None }
    }

    token_owner!();

    program!();

    /// Sends the transaction; returns the account's address.
    ///
    /// # Errors
    /// If the transaction fails, as when the account exists already.
    pub fn send(self) -> Result<Address, FailedTransactionMetadata> {
        create_associated(self.request, self.mint, self.owner, |_| ())
    }
}

/// Creates the associated token account of an owner and a mint, unless it exists.
#[derive(Debug)]
pub struct CreateAssociatedTokenAccountIdempotent<'a> {
    request: Request<'a>,
    mint: &'a Address,
    owner: Option<&'a Address>,
}

impl<'a> CreateAssociatedTokenAccountIdempotent<'a> {
    /// Prepares the payer's account.
    pub fn new(svm: &'a mut LiteSVM, payer: &'a Keypair, mint: &'a Address) -> Self {
        Self { request: Request::new(svm, payer), mint, owner: None }
    }

    token_owner!();

    program!();

    /// Sends the transaction; returns the account's address.
    ///
    /// # Errors
    /// If the transaction fails.
    pub fn send(self) -> Result<Address, FailedTransactionMetadata> {
        create_associated(self.request, self.mint, self.owner, |it| it.data = vec![IDEMPOTENT])
    }
}

/// The number of the associated token program's instruction `CreateIdempotent`.
const IDEMPOTENT: u8 = 1;

fn create_associated(
    request: Request<'_>,
    mint: &Address,
    owner: Option<&Address>,
    change: impl FnOnce(&mut Instruction),
) -> Result<Address, FailedTransactionMetadata> {
    let payer = solana_signer::Signer::pubkey(request.payer);
    let owner = owner.unwrap_or(&payer);
    let account = associated_address(request.program, owner, mint);
    let [program, from, to, of] = [request.program, &payer, owner, mint].map(to_address);
    let create = selkie::token::create_associated(&program, &from, &to, &of);
    let mut create = from_instruction(create);
    change(&mut create);
    request.send_unsigned(create)?;
    Ok(account)
}
