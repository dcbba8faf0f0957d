//! Transfers.

use selkie_convert::Address;
use selkie_litesvm::{LiteSVM, types::FailedTransactionMetadata};
use solana_keypair::Keypair;

use crate::{
    request::{Request, decimals, owner, program, source},
    spl_token::instruction,
};

/// Transfers tokens.
#[derive(Debug)]
pub struct Transfer<'a> {
    request: Request<'a>,
    mint: &'a Address,
    destination: &'a Address,
    amount: u64,
    source: Option<&'a Address>,
}

impl<'a> Transfer<'a> {
    /// Prepares a transfer from the payer's associated token account.
    pub fn new(
        svm: &'a mut LiteSVM,
        payer: &'a Keypair,
        mint: &'a Address,
        destination: &'a Address,
        amount: u64,
    ) -> Self {
        Self { request: Request::new(svm, payer), mint, destination, amount, source: None }
    }

    source!();

    program!();

    owner!();

    /// Sends the transaction.
    ///
    /// # Errors
    /// If the transaction fails.
    #[cfg_attr(feature = "token-2022", allow(deprecated, reason = "the peer sends it as well"))]
    pub fn send(self) -> Result<(), FailedTransactionMetadata> {
        let source = self.request.account_or_associated(self.source, self.mint);
        self.request.send(|it| {
            instruction::transfer(
                it.program,
                &source,
                self.destination,
                it.key,
                it.signers,
                self.amount,
            )
        })
    }
}

/// Transfers tokens, with the mint and its decimals checked.
#[derive(Debug)]
pub struct TransferChecked<'a> {
    request: Request<'a>,
    mint: &'a Address,
    destination: &'a Address,
    amount: u64,
    source: Option<&'a Address>,
    decimals: Option<u8>,
}

impl<'a> TransferChecked<'a> {
    /// Prepares a transfer from the payer's associated token account.
    pub fn new(
        svm: &'a mut LiteSVM,
        payer: &'a Keypair,
        mint: &'a Address,
        destination: &'a Address,
        amount: u64,
    ) -> Self {
        Self {
            request: Request::new(svm, payer),
            mint,
            destination,
            amount,
            source: None,
            decimals: None,
        }
    }

    source!();

    decimals!();

    program!();

    owner!();

    /// Sends the transaction.
    ///
    /// # Errors
    /// If the transaction fails.
    pub fn send(self) -> Result<(), FailedTransactionMetadata> {
        let source = self.request.account_or_associated(self.source, self.mint);
        let decimals = self.request.decimals(self.mint, self.decimals)?;
        self.request.send(|it| {
            instruction::transfer_checked(
                it.program,
                &source,
                self.mint,
                self.destination,
                it.key,
                it.signers,
                self.amount,
                decimals,
            )
        })
    }
}
