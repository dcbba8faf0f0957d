//! Tokens made and destroyed.

use selkie_convert::Address;
use selkie_litesvm::{LiteSVM, types::FailedTransactionMetadata};
use solana_keypair::Keypair;

use crate::{
    request::{Request, decimals, owner, program},
    spl_token::instruction::{burn, burn_checked, mint_to, mint_to_checked},
};

/// Makes tokens.
#[derive(Debug)]
pub struct MintTo<'a> {
    request: Request<'a>,
    mint: &'a Address,
    destination: &'a Address,
    amount: u64,
}

impl<'a> MintTo<'a> {
    /// Prepares tokens for an account.
    pub fn new(
        svm: &'a mut LiteSVM,
        payer: &'a Keypair,
        mint: &'a Address,
        destination: &'a Address,
        amount: u64,
    ) -> Self {
        Self { request: Request::new(svm, payer), mint, destination, amount }
    }

    program!();

    owner!();

    /// Sends the transaction.
    ///
    /// # Errors
    /// If the transaction fails.
    pub fn send(self) -> Result<(), FailedTransactionMetadata> {
        self.request.send(|it| {
            mint_to(it.program, self.mint, self.destination, it.key, it.signers, self.amount)
        })
    }
}

/// Makes tokens, with the decimals of the mint checked.
#[derive(Debug)]
pub struct MintToChecked<'a> {
    request: Request<'a>,
    mint: &'a Address,
    destination: &'a Address,
    amount: u64,
    decimals: Option<u8>,
}

impl<'a> MintToChecked<'a> {
    /// Prepares tokens for an account.
    pub fn new(
        svm: &'a mut LiteSVM,
        payer: &'a Keypair,
        mint: &'a Address,
        destination: &'a Address,
        amount: u64,
    ) -> Self {
        Self { request: Request::new(svm, payer), mint, destination, amount, decimals: None }
    }

    decimals!();

    program!();

    owner!();

    /// Sends the transaction.
    ///
    /// # Errors
    /// If the transaction fails.
    pub fn send(self) -> Result<(), FailedTransactionMetadata> {
        let decimals = self.request.decimals(self.mint, self.decimals)?;
        self.request.send(|it| {
            mint_to_checked(
                it.program,
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

/// Destroys tokens.
#[derive(Debug)]
pub struct Burn<'a> {
    request: Request<'a>,
    mint: &'a Address,
    account: &'a Address,
    amount: u64,
}

impl<'a> Burn<'a> {
    /// Prepares the end of an account's tokens.
    pub fn new(
        svm: &'a mut LiteSVM,
        payer: &'a Keypair,
        mint: &'a Address,
        account: &'a Address,
        amount: u64,
    ) -> Self {
        Self { request: Request::new(svm, payer), mint, account, amount }
    }

    program!();

    owner!();

    /// Sends the transaction.
    ///
    /// # Errors
    /// If the transaction fails.
    pub fn send(self) -> Result<(), FailedTransactionMetadata> {
        self.request
            .send(|it| burn(it.program, self.account, self.mint, it.key, it.signers, self.amount))
    }
}

/// Destroys tokens, with the decimals of the mint checked.
#[derive(Debug)]
pub struct BurnChecked<'a> {
    request: Request<'a>,
    mint: &'a Address,
    account: &'a Address,
    amount: u64,
    decimals: Option<u8>,
}

impl<'a> BurnChecked<'a> {
    /// Prepares the end of an account's tokens.
    pub fn new(
        svm: &'a mut LiteSVM,
        payer: &'a Keypair,
        mint: &'a Address,
        account: &'a Address,
        amount: u64,
    ) -> Self {
        Self { request: Request::new(svm, payer), mint, account, amount, decimals: None }
    }

    decimals!();

    program!();

    owner!();

    /// Sends the transaction.
    ///
    /// # Errors
    /// If the transaction fails.
    pub fn send(self) -> Result<(), FailedTransactionMetadata> {
        let decimals = self.request.decimals(self.mint, self.decimals)?;
        self.request.send(|it| {
            burn_checked(
                it.program,
                self.account,
                self.mint,
                it.key,
                it.signers,
                self.amount,
                decimals,
            )
        })
    }
}
