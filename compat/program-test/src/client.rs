//! The client, whose methods are ready at once.

use core::future::{Future, ready};
use std::io;

use borsh::BorshDeserialize;
use selkie::{Receipt, Stage};
use selkie_convert::{from_account, from_inner_instructions};
use serde::de::DeserializeOwned;
use solana_account::Account;
use solana_address::Address;
use solana_commitment_config::CommitmentLevel;
use solana_hash::Hash;
use solana_message::{Message, VersionedMessage};
use solana_program_pack::Pack;
use solana_signature::Signature;
use solana_sysvar::rent::Rent;
use solana_sysvar_id::SysvarId;
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::{TransactionError, TransactionResult};

use crate::{
    chain::{SharedChain, result},
    error::BanksClientError,
    results::{
        BanksTransactionResultWithMetadata, BanksTransactionResultWithSimulation,
        TransactionConfirmationStatus, TransactionMetadata, TransactionReturnData,
        TransactionSimulationDetails, TransactionStatus,
    },
};

/// For how many blocks a blockhash is valid.
const BLOCKHASH_AGE_MAX: u64 = 150;

/// Reads accounts of the chain, and sends transactions to it. The current slot counts as a root, so that
/// every commitment shows the same.
#[derive(Clone, Debug)]
pub struct BanksClient {
    pub(crate) chain: SharedChain,
}

/// Transactions.
impl BanksClient {
    /// Processes a transaction, and does not say how it went.
    ///
    /// # Errors
    /// Never.
    pub async fn send_transaction(
        &self,
        transaction: impl Into<VersionedTransaction>,
    ) -> Result<(), BanksClientError> {
        let _ = self.process(transaction.into());
        Ok(())
    }

    /// Processes a transaction. One that was processed before ends as it did then.
    ///
    /// # Errors
    /// If it fails or is dropped.
    pub async fn process_transaction(
        &self,
        transaction: impl Into<VersionedTransaction>,
    ) -> Result<(), BanksClientError> {
        Ok(self.process(transaction.into())?)
    }

    /// As [`BanksClient::process_transaction`].
    ///
    /// # Errors
    /// If it fails or is dropped.
    pub async fn process_transaction_with_commitment(
        &self,
        transaction: impl Into<VersionedTransaction>,
        _: CommitmentLevel,
    ) -> Result<(), BanksClientError> {
        Ok(self.process(transaction.into())?)
    }

    /// Processes a transaction, and returns what it did.
    ///
    /// # Errors
    /// Never: the result says whether it failed.
    pub async fn process_transaction_with_metadata(
        &self,
        transaction: impl Into<VersionedTransaction>,
    ) -> Result<BanksTransactionResultWithMetadata, BanksClientError> {
        let (transaction, mut chain) = (transaction.into(), self.chain.lock());
        if let Err(error) = chain.check_locks(&transaction) {
            return Ok(BanksTransactionResultWithMetadata { result: Err(error), metadata: None });
        }
        let receipt = chain.process(transaction);
        let metadata = (receipt.stage != Stage::Dropped).then(|| TransactionMetadata {
            log_messages: receipt.logs.clone(),
            compute_units_consumed: receipt.compute_units,
            return_data: return_data(&receipt),
        });
        Ok(BanksTransactionResultWithMetadata { result: result(&receipt), metadata })
    }

    /// Simulates a transaction, and processes it if it would succeed.
    ///
    /// # Errors
    /// If it fails or is dropped, in the simulation or later.
    pub async fn process_transaction_with_preflight(
        &self,
        transaction: impl Into<VersionedTransaction>,
    ) -> Result<(), BanksClientError> {
        let transaction = transaction.into();
        let simulation = self.simulate(transaction.clone());
        if let Some(Err(err)) = simulation.result {
            let Some(details) = simulation.simulation_details else { return Err(err.into()) };
            let TransactionSimulationDetails { logs, units_consumed, return_data, .. } = details;
            return Err(BanksClientError::SimulationError {
                err,
                logs,
                units_consumed,
                return_data,
            });
        }
        Ok(self.process(transaction)?)
    }

    /// As [`BanksClient::process_transaction_with_preflight`].
    ///
    /// # Errors
    /// If it fails or is dropped.
    pub async fn process_transaction_with_preflight_and_commitment(
        &self,
        transaction: impl Into<VersionedTransaction>,
        _: CommitmentLevel,
    ) -> Result<(), BanksClientError> {
        self.process_transaction_with_preflight(transaction).await
    }

    /// Processes transactions, one after the other.
    ///
    /// # Errors
    /// The first one; the transactions after it are processed all the same.
    pub async fn process_transactions<T: Into<VersionedTransaction>>(
        &self,
        transactions: Vec<T>,
    ) -> Result<(), BanksClientError> {
        let results = transactions.into_iter().map(|it| self.process(it.into()));
        let results: Vec<_> = results.collect();
        Ok(results.into_iter().collect::<TransactionResult<()>>()?)
    }

    /// As [`BanksClient::process_transactions`].
    ///
    /// # Errors
    /// The first one.
    pub async fn process_transactions_with_commitment<T: Into<VersionedTransaction>>(
        &self,
        transactions: Vec<T>,
        _: CommitmentLevel,
    ) -> Result<(), BanksClientError> {
        self.process_transactions(transactions).await
    }

    /// Processes a transaction without changing anything. Its signatures are not verified.
    ///
    /// # Errors
    /// Never: the result says whether it would fail.
    pub async fn simulate_transaction(
        &self,
        transaction: impl Into<VersionedTransaction>,
    ) -> Result<BanksTransactionResultWithSimulation, BanksClientError> {
        Ok(self.simulate(transaction.into()))
    }

    /// As [`BanksClient::simulate_transaction`].
    ///
    /// # Errors
    /// Never.
    pub async fn simulate_transaction_with_commitment(
        &self,
        transaction: impl Into<VersionedTransaction>,
        _: CommitmentLevel,
    ) -> Result<BanksTransactionResultWithSimulation, BanksClientError> {
        Ok(self.simulate(transaction.into()))
    }

    /// Returns the status of a transaction; `None` if none with this signature paid its fee.
    ///
    /// # Errors
    /// Never.
    pub async fn get_transaction_status(
        &self,
        signature: Signature,
    ) -> Result<Option<TransactionStatus>, BanksClientError> {
        let chain = self.chain.lock();
        let status = |(slot, result): &(u64, TransactionResult<()>)| TransactionStatus {
            slot: *slot,
            confirmations: None,
            err: result.clone().err(),
            confirmation_status: Some(TransactionConfirmationStatus::Finalized),
        };
        Ok(chain.status(&signature).map(status))
    }

    /// Returns the statuses of transactions.
    ///
    /// # Errors
    /// Never.
    pub async fn get_transaction_statuses(
        &self,
        signatures: Vec<Signature>,
    ) -> Result<Vec<Option<TransactionStatus>>, BanksClientError> {
        let mut statuses = Vec::with_capacity(signatures.len());
        for signature in signatures {
            statuses.push(self.get_transaction_status(signature).await?);
        }
        Ok(statuses)
    }

    /// Returns the fee of a message in lamports; `None` if its blockhash is not recent, or the message is
    /// refused.
    ///
    /// # Errors
    /// Never.
    pub async fn get_fee_for_message(
        &self,
        message: Message,
    ) -> Result<Option<u64>, BanksClientError> {
        let signatures = vec![Signature::default(); message.header.num_required_signatures.into()];
        let message = VersionedMessage::Legacy(message);
        let mut chain = self.chain.lock();
        let receipt = chain.simulate(VersionedTransaction { signatures, message });
        Ok((receipt.stage != Stage::Dropped).then(|| receipt.fee.total()))
    }

    /// As [`BanksClient::get_fee_for_message`].
    ///
    /// # Errors
    /// Never.
    pub async fn get_fee_for_message_with_commitment(
        &self,
        message: Message,
        _: CommitmentLevel,
    ) -> Result<Option<u64>, BanksClientError> {
        self.get_fee_for_message(message).await
    }

    fn process(&self, transaction: VersionedTransaction) -> TransactionResult<()> {
        let mut chain = self.chain.lock();
        chain.check_locks(&transaction)?;
        let receipt = chain.process(transaction);
        match result(&receipt) {
            Err(TransactionError::AlreadyProcessed) => match chain.status(&receipt.signature()) {
                Some((_, before)) => before.clone(),
                None => Err(TransactionError::AlreadyProcessed),
            },
            result => result,
        }
    }

    fn simulate(&self, transaction: VersionedTransaction) -> BanksTransactionResultWithSimulation {
        let mut chain = self.chain.lock();
        if let Err(error) = chain.check_locks(&transaction) {
            let result = Some(Err(error));
            return BanksTransactionResultWithSimulation { result, simulation_details: None };
        }
        let receipt = chain.simulate(transaction);
        let details = TransactionSimulationDetails {
            logs: receipt.logs.clone(),
            units_consumed: receipt.compute_units,
            loaded_accounts_data_size: receipt.loaded_bytes,
            return_data: return_data(&receipt),
            inner_instructions: Some(from_inner_instructions(&receipt.inner_instructions)),
        };
        BanksTransactionResultWithSimulation {
            result: Some(result(&receipt)),
            simulation_details: Some(details),
        }
    }
}

/// Accounts and time.
impl BanksClient {
    /// Returns the account at `address`.
    ///
    /// # Errors
    /// Never.
    pub async fn get_account(&self, address: Address) -> Result<Option<Account>, BanksClientError> {
        Ok(self.account(&address))
    }

    /// As [`BanksClient::get_account`].
    ///
    /// # Errors
    /// Never.
    pub async fn get_account_with_commitment(
        &self,
        address: Address,
        _: CommitmentLevel,
    ) -> Result<Option<Account>, BanksClientError> {
        Ok(self.account(&address))
    }

    /// Decodes an account by its type's `unpack_from_slice`.
    ///
    /// # Errors
    /// If there is no account, or its data are of another type.
    pub async fn get_packed_account_data<T: Pack>(
        &self,
        address: Address,
    ) -> Result<T, BanksClientError> {
        T::unpack_from_slice(&self.existing(&address)?.data)
            .map_err(|_| BanksClientError::ClientError("Failed to deserialize account"))
    }

    /// Decodes an account by borsh.
    ///
    /// # Errors
    /// If there is no account, or its data are of another type.
    pub async fn get_account_data_with_borsh<T: BorshDeserialize>(
        &self,
        address: Address,
    ) -> Result<T, BanksClientError> {
        Ok(T::try_from_slice(&self.existing(&address)?.data)?)
    }

    /// Returns the lamports of an account, 0 if there is none.
    ///
    /// # Errors
    /// Never.
    pub async fn get_balance(&self, address: Address) -> Result<u64, BanksClientError> {
        Ok(self.chain.lock().svm().balance(&address))
    }

    /// As [`BanksClient::get_balance`].
    ///
    /// # Errors
    /// Never.
    pub async fn get_balance_with_commitment(
        &self,
        address: Address,
        _: CommitmentLevel,
    ) -> Result<u64, BanksClientError> {
        self.get_balance(address).await
    }

    /// Returns a sysvar, from its account.
    ///
    /// # Errors
    /// If the account does not exist, or its data are invalid.
    pub async fn get_sysvar<T: SysvarId + DeserializeOwned>(&self) -> Result<T, BanksClientError> {
        let account = self.account(&T::id());
        let account = account.ok_or(BanksClientError::ClientError("Sysvar not present"))?;
        bincode::deserialize(&account.data)
            .map_err(|_| BanksClientError::ClientError("Failed to deserialize sysvar"))
    }

    /// Returns the rent.
    ///
    /// # Errors
    /// If a test has set it to invalid data.
    pub async fn get_rent(&self) -> Result<Rent, BanksClientError> {
        self.get_sysvar().await
    }

    /// Returns the slot.
    ///
    /// # Errors
    /// Never.
    pub async fn get_root_slot(&self) -> Result<u64, BanksClientError> {
        Ok(self.chain.lock().slot())
    }

    /// Returns the number of blocks before that of the slot.
    ///
    /// # Errors
    /// Never.
    pub async fn get_root_block_height(&self) -> Result<u64, BanksClientError> {
        Ok(self.chain.lock().block_height())
    }

    /// Returns a blockhash with which no transaction was processed.
    ///
    /// # Errors
    /// Never.
    pub async fn get_latest_blockhash(&self) -> Result<Hash, BanksClientError> {
        Ok(self.chain.lock().unused_blockhash())
    }

    /// As [`BanksClient::get_latest_blockhash`], with the last block height at which it is valid.
    ///
    /// # Errors
    /// Never.
    pub async fn get_latest_blockhash_with_commitment(
        &self,
        _: CommitmentLevel,
    ) -> Result<Option<(Hash, u64)>, BanksClientError> {
        let mut chain = self.chain.lock();
        let until = chain.block_height().saturating_add(BLOCKHASH_AGE_MAX);
        Ok(Some((chain.unused_blockhash(), until)))
    }

    fn account(&self, address: &Address) -> Option<Account> {
        self.chain.lock().svm().account(address).map(from_account)
    }

    fn existing(&self, address: &Address) -> Result<Account, BanksClientError> {
        self.account(address).ok_or(BanksClientError::ClientError("Account not found"))
    }
}

/// What tests do with a client that others do not.
pub trait ProgramTestBanksClientExt {
    /// Returns a blockhash other than `blockhash`, with which no transaction was processed.
    fn get_new_latest_blockhash(
        &mut self,
        blockhash: &Hash,
    ) -> impl Future<Output = io::Result<Hash>> + Send;
}

impl ProgramTestBanksClientExt for BanksClient {
    fn get_new_latest_blockhash(
        &mut self,
        blockhash: &Hash,
    ) -> impl Future<Output = io::Result<Hash>> + Send {
        ready(Ok(self.chain.lock().blockhash_after(blockhash)))
    }
}

/// Returns what a program returned; `None` if it is empty.
fn return_data(receipt: &Receipt) -> Option<TransactionReturnData> {
    let returned = receipt.return_data.as_ref().filter(|it| !it.data.is_empty())?;
    Some(TransactionReturnData { program_id: returned.program_id, data: returned.data.clone() })
}
