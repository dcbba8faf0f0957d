//! Transactions: sent, simulated, looked up; airdrops.

#![allow(clippy::result_large_err, reason = "the error is that of LiteSVM")]

use selkie::{FailedTransaction, Receipt, Stage, system};
use selkie_convert::{
    Address, from_address, from_inner_instructions, from_instruction, from_shared_account,
    from_signature, from_transaction_error, to_address, to_transaction,
};
use solana_keypair::{Keypair, keypair_from_seed};
use solana_message::{Message, VersionedMessage, inner_instruction::InnerInstructionsList};
use solana_signature::Signature;
use solana_signer::Signer;
use solana_transaction::versioned::VersionedTransaction;

use crate::{
    AIRDROP_SEED, LiteSVM,
    types::{
        FailedTransactionMetadata, SimulatedTransactionInfo, TransactionMetadata,
        TransactionResult, TransactionReturnData,
    },
};

impl LiteSVM {
    /// Processes a transaction.
    ///
    /// # Errors
    /// If it fails or is dropped.
    pub fn send_transaction(&mut self, tx: impl Into<VersionedTransaction>) -> TransactionResult {
        let sent = self.svm_mut().send(to_transaction(tx.into()));
        let (receipt, result) = match sent {
            Ok(receipt) => {
                self.accounts.empty.add(&receipt);
                let metadata = metadata(&receipt);
                (receipt, Ok(metadata))
            }
            Err(failed) => (failed.receipt.clone(), Err(failure(failed))),
        };
        if receipt.stage != Stage::Dropped {
            self.history.add(from_signature(&receipt.signature()), &result);
        }
        result
    }

    /// Processes a transaction without changing anything.
    ///
    /// # Errors
    /// If it would fail or be dropped.
    pub fn simulate_transaction(
        &self,
        tx: impl Into<VersionedTransaction>,
    ) -> Result<SimulatedTransactionInfo, FailedTransactionMetadata> {
        let receipt = self.svm().simulate(to_transaction(tx.into())).map_err(failure)?;
        let writable = receipt.accounts.iter().filter(|change| change.is_writable);
        let post_accounts = writable.map(|change| {
            let after = change.after().cloned().unwrap_or_default();
            (from_address(&change.key), from_shared_account(after))
        });
        Ok(SimulatedTransactionInfo {
            meta: metadata(&receipt),
            post_accounts: post_accounts.collect(),
        })
    }

    /// Returns the result of a recent transaction that paid its fee.
    #[must_use]
    pub fn get_transaction(&self, signature: &Signature) -> Option<&TransactionResult> {
        self.history.get(signature)
    }

    /// Transfers lamports from the account of [`LiteSVM::airdrop_pubkey`], by a transaction.
    ///
    /// # Errors
    /// If the transaction fails; for example, if it repeats an earlier one.
    pub fn airdrop(&mut self, address: &Address, lamports: u64) -> TransactionResult {
        let payer = airdrop_keypair();
        let key = payer.pubkey();
        let transfer = system::transfer(&to_address(&key), &to_address(address), lamports);
        let instruction = from_instruction(transfer);
        let message =
            Message::new_with_blockhash(&[instruction], Some(&key), &self.latest_blockhash());
        let signature = payer.sign_message(&message.serialize());
        let message = VersionedMessage::Legacy(message);
        self.send_transaction(VersionedTransaction { signatures: vec![signature], message })
    }

    /// Returns the address of the account that pays for airdrops.
    #[must_use]
    pub fn airdrop_pubkey(&self) -> Address {
        airdrop_keypair().pubkey()
    }
}

fn airdrop_keypair() -> Keypair {
    keypair_from_seed(&AIRDROP_SEED).expect("the seed is long enough")
}

fn failure(failed: FailedTransaction) -> FailedTransactionMetadata {
    let meta = metadata(&failed.receipt);
    FailedTransactionMetadata { err: from_transaction_error(failed.error), meta }
}

fn metadata(receipt: &Receipt) -> TransactionMetadata {
    // Agave's context, which LiteSVM shows, names a program also for data that are empty.
    let (program_id, data) = (from_address(&receipt.return_program), receipt.returned().to_vec());
    let return_data = TransactionReturnData { program_id, data };
    TransactionMetadata {
        signature: from_signature(&receipt.signature()),
        logs: receipt.logs.clone(),
        inner_instructions: inner_instructions(receipt),
        compute_units_consumed: receipt.compute_units,
        return_data,
        fee: receipt.fee.total(),
        loaded_accounts_data_size: receipt.loaded_bytes,
    }
}

/// Returns one list for each top-level instruction, including those that were not reached.
fn inner_instructions(receipt: &Receipt) -> InnerInstructionsList {
    let mut lists = from_inner_instructions(&receipt.inner_instructions);
    if receipt.stage == Stage::Executed {
        lists.resize_with(receipt.message().instructions().len(), Vec::new);
    }
    lists
}
