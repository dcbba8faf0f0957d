//! The mint of wrapped SOL, of Token-2022.

use selkie_convert::Address;
use selkie_litesvm::{LiteSVM, types::FailedTransactionMetadata};
use solana_keypair::Keypair;
use solana_signer::Signer;

use crate::{
    request::{Request, program},
    spl_token::instruction::create_native_mint,
};

/// Creates the mint of wrapped SOL.
#[derive(Debug)]
pub struct CreateNativeMint<'a> {
    request: Request<'a>,
}

impl<'a> CreateNativeMint<'a> {
    /// Prepares the mint.
    pub fn new(svm: &'a mut LiteSVM, payer: &'a Keypair) -> Self {
        Self { request: Request::new(svm, payer) }
    }

    program!();

    /// Sends the transaction.
    ///
    /// # Errors
    /// If the transaction fails.
    pub fn send(self) -> Result<(), FailedTransactionMetadata> {
        let create = create_native_mint(self.request.program, &self.request.payer.pubkey())?;
        self.request.send_unsigned(create)
    }
}
