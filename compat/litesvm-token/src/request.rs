//! What all helpers have in common: the chain, who pays, who signs, and the program.

use selkie::system;
use selkie_convert::{Address, from_address, from_instruction, to_address};
use selkie_litesvm::{LiteSVM, types::FailedTransactionMetadata};
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_program_error::ProgramError;
use solana_signer::Signer;
use solana_transaction::Transaction;

use crate::{TOKEN_ID, get_spl_account, spl_token::state::Mint};

/// A transaction to be sent.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) svm: &'a mut LiteSVM,
    pub(crate) payer: &'a Keypair,
    pub(crate) program: &'a Address,
    /// The owner or authority, if it is not the payer.
    owner: Option<Address>,
    /// Those who sign for it.
    signers: Vec<&'a Keypair>,
}

/// What instructions say of who is allowed to do something.
#[derive(Clone, Copy)]
pub(crate) struct Authority<'a> {
    pub(crate) program: &'a Address,
    pub(crate) key: &'a Address,
    /// The signers of a multisignature account.
    pub(crate) signers: &'a [&'a Address],
}

impl<'a> Request<'a> {
    pub(crate) fn new(svm: &'a mut LiteSVM, payer: &'a Keypair) -> Self {
        Self { svm, payer, program: &TOKEN_ID, owner: None, signers: vec![payer] }
    }

    pub(crate) fn sign_as(&mut self, owner: Address, signers: &[&'a Keypair]) {
        self.owner = Some(owner);
        self.signers = signers.to_vec();
    }

    /// Returns the address of the owner or authority.
    pub(crate) fn owner(&self) -> Address {
        self.owner.unwrap_or_else(|| self.payer.pubkey())
    }

    /// Returns the address of the owner's associated token account.
    pub(crate) fn associated_account(&self, mint: &Address) -> Address {
        associated_address(self.program, &self.owner(), mint)
    }

    /// Returns the given account, or the owner's associated token account.
    pub(crate) fn account_or_associated(&self, given: Option<&Address>, mint: &Address) -> Address {
        given.copied().unwrap_or_else(|| self.associated_account(mint))
    }

    /// Returns the given number of decimals, or that of the mint, which must exist in any case.
    pub(crate) fn decimals(
        &self,
        mint: &Address,
        given: Option<u8>,
    ) -> Result<u8, FailedTransactionMetadata> {
        let mint: Mint = get_spl_account(self.svm, mint)?;
        Ok(given.unwrap_or(mint.decimals))
    }

    /// Sends the instruction that the owner or authority signs.
    pub(crate) fn send(
        self,
        instruction: impl FnOnce(Authority<'_>) -> Result<Instruction, ProgramError>,
    ) -> Result<(), FailedTransactionMetadata> {
        let key = self.owner();
        let signers: Vec<Address> = self.signers.iter().map(|it| it.pubkey()).collect();
        // An owner that signs for itself is no multisignature account.
        let others: Vec<&Address> = match signers.as_slice() {
            [signer] if *signer == key => Vec::new(),
            signers => signers.iter().collect(),
        };
        let authority = Authority { program: self.program, key: &key, signers: &others };
        let instructions = [instruction(authority)?];
        let signers = [&[self.payer], self.signers.as_slice()].concat();
        sign_and_send(self.svm, self.payer, &signers, &instructions)
    }

    /// Sends an instruction that the payer alone signs.
    pub(crate) fn send_unsigned(
        self,
        instruction: Instruction,
    ) -> Result<(), FailedTransactionMetadata> {
        sign_and_send(self.svm, self.payer, &[self.payer], &[instruction])
    }

    /// Creates an account of the program, and sends the instruction that initializes it.
    pub(crate) fn create(
        self,
        account: &Keypair,
        bytes: usize,
        initialize: impl FnOnce(Authority<'_>) -> Result<Instruction, ProgramError>,
    ) -> Result<Address, FailedTransactionMetadata> {
        let key = account.pubkey();
        let payer = self.payer.pubkey();
        let lamports = self.svm.minimum_balance_for_rent_exemption(bytes);
        let [from, to, program] = [&payer, &key, self.program].map(to_address);
        let create = system::create_account(&from, &to, lamports, bytes as u64, &program);
        let create = from_instruction(create);
        let authority = Authority { program: self.program, key: &payer, signers: &[] };
        let instructions = [create, initialize(authority)?];
        sign_and_send(self.svm, self.payer, &[self.payer, account], &instructions)?;
        Ok(key)
    }
}

/// Returns the address of an owner's associated token account.
pub(crate) fn associated_address(program: &Address, owner: &Address, mint: &Address) -> Address {
    let [program, owner, mint] = [program, owner, mint].map(to_address);
    from_address(&selkie::token::associated_address(&program, &owner, &mint))
}

fn sign_and_send(
    svm: &mut LiteSVM,
    payer: &Keypair,
    signers: &[&Keypair],
    instructions: &[Instruction],
) -> Result<(), FailedTransactionMetadata> {
    let blockhash = svm.latest_blockhash();
    let mut transaction = Transaction::new_with_payer(instructions, Some(&payer.pubkey()));
    // Signatures that are missing are the runtime's to find.
    transaction.partial_sign(signers, blockhash);
    svm.send_transaction(transaction).map(drop)
}

/// The function that chooses the program.
macro_rules! program {
    () => {
        /// Sets the token program; [`TOKEN_ID`](crate::TOKEN_ID) by default.
        #[must_use]
        pub fn token_program_id(mut self, program_id: &'a Address) -> Self {
            self.request.program = program_id;
            self
        }
    };
}

/// The functions that choose the owner or authority.
macro_rules! owner {
    () => {
        /// Sets the owner or authority; the payer by default.
        #[must_use]
        pub fn owner(mut self, owner: &'a Keypair) -> Self {
            self.request.sign_as(solana_signer::Signer::pubkey(owner), &[owner]);
            self
        }

        /// Sets a multisignature account as the owner or authority, and those who sign for it.
        #[must_use]
        pub fn multisig(mut self, multisig: &'a Address, signers: &'a [&'a Keypair]) -> Self {
            self.request.sign_as(*multisig, signers);
            self
        }
    };
}

/// The function that chooses the owner of a new token account.
macro_rules! token_owner {
    () => {
        /// Sets the owner of the tokens; the payer by default.
        #[must_use]
        pub fn owner(mut self, owner: &'a Address) -> Self {
            self.owner = Some(owner);
            self
        }
    };
}

/// The function that chooses the account from which tokens are taken.
macro_rules! source {
    () => {
        /// Sets the account that gives the tokens; the owner's associated token account by default.
        #[must_use]
        pub fn source(mut self, source: &'a Address) -> Self {
            self.source = Some(source);
            self
        }
    };
}

/// The function that chooses the number of decimals.
macro_rules! decimals {
    () => {
        /// Sets the number of decimals to be checked; that of the mint by default.
        #[must_use]
        pub fn decimals(mut self, value: u8) -> Self {
            self.decimals = Some(value);
            self
        }
    };
}

pub(crate) use {decimals, owner, program, source, token_owner};
