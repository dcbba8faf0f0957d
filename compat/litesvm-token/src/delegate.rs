//! Delegates, who may spend tokens of another.

use selkie_convert::Address;
use selkie_litesvm::{LiteSVM, types::FailedTransactionMetadata};
use solana_keypair::Keypair;

use crate::{
    request::{Request, owner, program, source},
    spl_token::instruction::{approve, approve_checked, revoke},
};

/// Lets a delegate spend tokens.
#[derive(Debug)]
pub struct Approve<'a> {
    request: Request<'a>,
    delegate: &'a Address,
    source: &'a Address,
    amount: u64,
}

impl<'a> Approve<'a> {
    /// Prepares the approval of a delegate.
    pub fn new(
        svm: &'a mut LiteSVM,
        payer: &'a Keypair,
        delegate: &'a Address,
        source: &'a Address,
        amount: u64,
    ) -> Self {
        Self { request: Request::new(svm, payer), delegate, source, amount }
    }

    program!();

    owner!();

    /// Sends the transaction.
    ///
    /// # Errors
    /// If the transaction fails.
    pub fn send(self) -> Result<(), FailedTransactionMetadata> {
        self.request.send(|it| {
            approve(it.program, self.source, self.delegate, it.key, it.signers, self.amount)
        })
    }
}

/// Lets a delegate spend tokens, with the mint and its decimals checked.
#[derive(Debug)]
pub struct ApproveChecked<'a> {
    request: Request<'a>,
    delegate: &'a Address,
    mint: &'a Address,
    amount: u64,
    source: Option<&'a Address>,
}

impl<'a> ApproveChecked<'a> {
    /// Prepares the approval of a delegate for the payer's associated token account.
    pub fn new(
        svm: &'a mut LiteSVM,
        payer: &'a Keypair,
        delegate: &'a Address,
        mint: &'a Address,
        amount: u64,
    ) -> Self {
        Self { request: Request::new(svm, payer), delegate, mint, amount, source: None }
    }

    source!();

    program!();

    owner!();

    /// Sends the transaction.
    ///
    /// # Errors
    /// If the transaction fails.
    pub fn send(self) -> Result<(), FailedTransactionMetadata> {
        let source = self.request.account_or_associated(self.source, self.mint);
        let decimals = self.request.decimals(self.mint, None)?;
        self.request.send(|it| {
            approve_checked(
                it.program,
                &source,
                self.mint,
                self.delegate,
                it.key,
                it.signers,
                self.amount,
                decimals,
            )
        })
    }
}

/// Takes back the approval of a delegate.
#[derive(Debug)]
pub struct Revoke<'a> {
    request: Request<'a>,
    source: &'a Address,
}

impl<'a> Revoke<'a> {
    /// Prepares the revocation.
    pub fn new(svm: &'a mut LiteSVM, payer: &'a Keypair, source: &'a Address) -> Self {
        Self { request: Request::new(svm, payer), source }
    }

    program!();

    owner!();

    /// Sends the transaction.
    ///
    /// # Errors
    /// If the transaction fails.
    pub fn send(self) -> Result<(), FailedTransactionMetadata> {
        self.request.send(|it| revoke(it.program, self.source, it.key, it.signers))
    }
}
