//! What is changed about accounts other than their tokens.

use selkie_convert::Address;
use selkie_litesvm::{LiteSVM, types::FailedTransactionMetadata};
use solana_keypair::Keypair;

use crate::{
    request::{Request, owner, program},
    spl_token::instruction::{
        AuthorityType, close_account, freeze_account, set_authority, sync_native, thaw_account,
    },
};

/// Freezes the associated token account of the owner or authority.
#[derive(Debug)]
pub struct FreezeAccount<'a> {
    request: Request<'a>,
    mint: &'a Address,
}

impl<'a> FreezeAccount<'a> {
    /// Prepares the change of the payer's account.
    pub fn new(svm: &'a mut LiteSVM, payer: &'a Keypair, mint: &'a Address) -> Self {
        Self { request: Request::new(svm, payer), mint }
    }

    program!();

    owner!();

    /// Sends the transaction.
    ///
    /// # Errors
    /// If the transaction fails.
    pub fn send(self) -> Result<(), FailedTransactionMetadata> {
        let account = self.request.associated_account(self.mint);
        self.request.send(|it| freeze_account(it.program, &account, self.mint, it.key, it.signers))
    }
}

/// Thaws the associated token account of the owner or authority.
#[derive(Debug)]
pub struct ThawAccount<'a> {
    request: Request<'a>,
    mint: &'a Address,
}

impl<'a> ThawAccount<'a> {
    /// Prepares the change of the payer's account.
    pub fn new(svm: &'a mut LiteSVM, payer: &'a Keypair, mint: &'a Address) -> Self {
        Self { request: Request::new(svm, payer), mint }
    }

    program!();

    owner!();

    /// Sends the transaction.
    ///
    /// # Errors
    /// If the transaction fails.
    pub fn send(self) -> Result<(), FailedTransactionMetadata> {
        let account = self.request.associated_account(self.mint);
        self.request.send(|it| thaw_account(it.program, &account, self.mint, it.key, it.signers))
    }
}

/// Closes an account.
#[derive(Debug)]
pub struct CloseAccount<'a> {
    request: Request<'a>,
    account: &'a Address,
    destination: &'a Address,
}

impl<'a> CloseAccount<'a> {
    /// Prepares the end of an account, whose lamports go to another.
    pub fn new(
        svm: &'a mut LiteSVM,
        payer: &'a Keypair,
        account: &'a Address,
        destination: &'a Address,
    ) -> Self {
        Self { request: Request::new(svm, payer), account, destination }
    }

    program!();

    owner!();

    /// Sends the transaction.
    ///
    /// # Errors
    /// If the transaction fails.
    pub fn send(self) -> Result<(), FailedTransactionMetadata> {
        self.request.send(|it| {
            close_account(it.program, self.account, self.destination, it.key, it.signers)
        })
    }
}

/// Changes an authority of a mint or an account.
#[derive(Debug)]
pub struct SetAuthority<'a> {
    request: Request<'a>,
    account: &'a Address,
    authority_type: AuthorityType,
    new_authority: Option<&'a Address>,
}

impl<'a> SetAuthority<'a> {
    /// Prepares to revoke the authority.
    pub fn new(
        svm: &'a mut LiteSVM,
        payer: &'a Keypair,
        account: &'a Address,
        authority_type: AuthorityType,
    ) -> Self {
        Self { request: Request::new(svm, payer), account, authority_type, new_authority: None }
    }

    /// Sets the new authority. Without one, the authority is revoked.
    #[must_use]
    pub fn new_authority(mut self, new_authority: &'a Address) -> Self {
        self.new_authority = Some(new_authority);
        self
    }

    program!();

    owner!();

    /// Sends the transaction.
    ///
    /// # Errors
    /// If the transaction fails.
    pub fn send(self) -> Result<(), FailedTransactionMetadata> {
        self.request.send(|it| {
            set_authority(
                it.program,
                self.account,
                self.new_authority,
                self.authority_type,
                it.key,
                it.signers,
            )
        })
    }
}

/// Makes the amount of wrapped SOL that of the account's lamports.
#[derive(Debug)]
pub struct SyncNative<'a> {
    request: Request<'a>,
    account: &'a Address,
}

impl<'a> SyncNative<'a> {
    /// Prepares the change of an account.
    pub fn new(svm: &'a mut LiteSVM, payer: &'a Keypair, account: &'a Address) -> Self {
        Self { request: Request::new(svm, payer), account }
    }

    program!();

    /// Sends the transaction.
    ///
    /// # Errors
    /// If the transaction fails.
    pub fn send(self) -> Result<(), FailedTransactionMetadata> {
        let sync = sync_native(self.request.program, self.account)?;
        self.request.send_unsigned(sync)
    }
}
